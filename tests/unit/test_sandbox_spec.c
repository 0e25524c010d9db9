/*
 * test_sandbox_spec.c - the checks that all providers share, names, plain data.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "sandbox/provider.h"

static void expect_bad(const struct sandbox_spec *spec, const char *word)
{
    struct err err = {0};

    cr_expect_eq(sandbox_spec_check(spec, &err), -1, "accepted: %s", word);
    cr_expect_eq(err.kind, ERR_PERMANENT);
    cr_expect_str_eq(err.name, "InvalidSpec");
    cr_expect_not_null(strstr(err.text, word), "\"%s\" does not say \"%s\"", err.text, word);
}

Test(sandbox_spec, an_empty_one_is_good)
{
    struct sandbox_spec spec = {0};

    cr_expect_eq(sandbox_spec_check(&spec, NULL), 0);
}

Test(sandbox_spec, labels_are_short_plain_and_unique)
{
    char long_value[SANDBOX_LABEL_VALUE_BYTES + 2];
    memset(long_value, 'x', sizeof(long_value) - 1);
    long_value[sizeof(long_value) - 1] = '\0';
    const struct sandbox_label bad[][2] = {
        {{"Run", "x"}, {"b", "x"}},      {{"", "x"}, {"b", "x"}},
        {{NULL, "x"}, {"b", "x"}},       {{"a", NULL}, {"b", "x"}},
        {{"a", "\x1b[0m"}, {"b", "x"}},  {{"a", "\xff"}, {"b", "x"}},
        {{"a", long_value}, {"b", "x"}}, {{"b", "x"}, {"b", "y"}},
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        expect_bad(&(struct sandbox_spec){.labels = bad[i], .label_count = 2}, "label");
    }
    const struct sandbox_label good[] = {{"run_id", "grüße"}, {"a.b-c", ""}};
    cr_expect_eq(sandbox_spec_check(&(struct sandbox_spec){.labels = good, .label_count = 2}, NULL),
                 0);
}

Test(sandbox_spec, environment_errors_do_not_show_values)
{
    const char *const bad[][2] = {
        {"1A=hidden-value", NULL},
        {"=hidden-value", NULL},
        {"A-B=hidden-value", NULL},
        {"hidden-value", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        struct sandbox_spec spec = {.env = bad[i]};
        expect_bad(&spec, "environment entry 1");
        sandbox_spec_check(&spec, &err);
        cr_expect_null(strstr(err.text, "hidden-value"));
    }
}

Test(sandbox_spec, binds_stay_out_of_the_sandboxs_own_places)
{
    const struct sandbox_bind bad[] = {
        {"/usr/bin/x", "/workspace"},
        {"/usr/bin/x", "/workspace/a"},
        {"/usr/bin/x", "/proc/1"},
        {"/usr/bin/x", "/dev"},
        {"/usr/bin/x", "/"},
        {"/usr/bin/x", "relative"},
        {"/usr/bin/x", "/opt/../proc/x"},
        {"relative", "/opt/x"},
        {"/a/../b", "/opt/x"},
        {NULL, "/opt/x"},
        {"/usr/bin/x", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        expect_bad(&(struct sandbox_spec){.binds = &bad[i], .bind_count = 1}, "bind");
    }
    const struct sandbox_bind good = {"/opt/agent", "/workspaces/agent"};
    cr_expect_eq(sandbox_spec_check(&(struct sandbox_spec){.binds = &good, .bind_count = 1}, NULL),
                 0);
}

Test(sandbox_spec, limits_have_a_least_value)
{
    expect_bad(&(struct sandbox_spec){.limits = {.cpu_milli = -5}}, "cpu_milli");
    expect_bad(&(struct sandbox_spec){.limits = {.memory_bytes = 1}}, "memory_bytes");
    expect_bad(&(struct sandbox_spec){.limits = {.processes = 2}}, "processes");
    expect_bad(&(struct sandbox_spec){.limits = {.disk_bytes = 5}}, "disk_bytes");
    expect_bad(&(struct sandbox_spec){.idle_timeout_ms = -1}, "idle_timeout_ms");
}

Test(sandbox_spec, words)
{
    cr_expect_str_eq(sandbox_state_name(SANDBOX_PAUSED), "paused");
    cr_expect_str_eq(sandbox_state_name((enum sandbox_state)77), "unknown");
    cr_expect_str_eq(provider_capability_name(PROVIDER_CAN_SUSPEND), "suspend");
    cr_expect_str_eq(provider_capability_name(PROVIDER_CAN_USAGE), "usage");
    cr_expect_null(provider_capability_name(0x80u));
    cr_expect_null(provider_free(NULL));
    cr_expect_null(sandbox_free(NULL));
}
