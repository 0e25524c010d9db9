/*
 * sandbox_providers.h - the providers that the contract is run for, and how a test gets a sandbox.
 *
 * Owns: the table, one place of data per test process, "skip: ..." where a provider cannot work
 * here. A provider is added by one row.
 */
#ifndef TESTS_UNIT_SANDBOX_PROVIDERS_H
#define TESTS_UNIT_SANDBOX_PROVIDERS_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/local.h"
#include "tmpdir.h"

/* Programs of the build tree, found from this test's own place in it. */
is_unused static char *built_program(const char *name)
{
    autofree char *self = NULL;
    autofree char *given = NULL;

    if (getenv("abs_top_builddir")) {
        given = fs_join(getenv("abs_top_builddir"), name);
        if (fs_exists(given)) {
            return steal(&given);
        }
    }
    cr_assert_eq(fs_realpath("/proc/self/exe", &self, NULL), 0);
    autofree char *unit = fs_dirname(self);
    autofree char *tests = fs_dirname(unit);
    autofree char *top = fs_dirname(tests);
    return fs_join(top, name);
}

struct local_change { /* what a test wants different from the usual configuration */
    const char *bwrap;
    bool allow_share_net;
    const char *const *bind_sources;
};

is_unused static struct provider *make_local(const char *data_dir,
                                             const struct local_change *change)
{
    static const char *guest[2];
    static const char *supervisor[2];

    guest[0] = built_program("guest-daemon");
    supervisor[0] = built_program("tests/lib/sandbox-supervisor");
    struct local_config config = {
        .data_dir = data_dir,
        .guest_argv = guest,
        .supervisor_argv = supervisor,
        .bwrap = change ? change->bwrap : NULL,
        .allow_share_net = change && change->allow_share_net,
        .bind_sources = change ? change->bind_sources : NULL,
    };
    return local_provider_new(&config);
}

/* A provider that works, or the test is skipped with the reason. */
is_unused static struct provider *usable(struct provider *provider)
{
    struct err err = {0};

    if (provider->ops->ping(provider, NULL, &err)) {
        if (err.kind == ERR_PERMANENT) {
            cr_skip_test("skip: %s", err.text);
        }
        cr_assert_fail("%s: %s", provider->ops->name, err.text);
    }
    return provider;
}

struct provider_row {
    const char *name;
    struct provider *(*make)(const char *data_dir);
};

is_unused static struct provider *make_usual_local(const char *data_dir)
{
    return make_local(data_dir, NULL);
}

static const struct provider_row provider_rows[] = {
    {"local", make_usual_local},
};

/* One test per provider. */
#define EACH(name_)                                                                                \
    static void name_##_for(size_t row);                                                           \
    Test(contract, local_##name_, .timeout = 120)                                                  \
    {                                                                                              \
        name_##_for(0);                                                                            \
    }                                                                                              \
    static void name_##_for(size_t row)

is_unused static struct provider *the_provider(size_t row)
{
    return usable(provider_rows[row].make(tmpdir()));
}

static const struct sandbox_label usual_labels[] = {
    {LABEL_ORIGIN, LABEL_ORIGIN_FACTORY},
    {LABEL_RUN, "run-1"},
    {LABEL_EXECUTION, "execution-1"},
    {LABEL_ROLE, "agent"},
};

is_unused static struct sandbox *make_sandbox(struct provider *provider,
                                              const struct sandbox_spec *extra)
{
    struct sandbox_spec spec = extra ? *extra : (struct sandbox_spec){0};
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    if (!spec.labels) {
        spec.labels = usual_labels;
        spec.label_count = ARRAY_LEN(usual_labels);
    }
    int rc = provider->ops->create(provider, &spec, NULL, &sandbox, &err);
    cr_assert_eq(rc, 0, "create: %s", err.text);
    return sandbox;
}

/* Destroy everything of this test and say that nothing is left. */
is_unused static void end_all(struct provider *provider)
{
    autosandboxlist struct sandbox_list list = {0};
    autosandboxlist struct sandbox_list after = {0};
    struct err err = {0};

    cr_assert_eq(provider->ops->list(provider, &list, &err), 0, "list: %s", err.text);
    for (size_t i = 0; i < list.count; i++) {
        int rc = provider->ops->destroy(provider, list.items[i].id, &err);
        cr_assert_eq(rc, 0, "destroy: %s", err.text);
    }
    cr_assert_eq(provider->ops->list(provider, &after, &err), 0, "list: %s", err.text);
    cr_assert_eq(after.count, 0, "sandboxes are left");
    provider_free(provider);
}

/* Run a script to its end, good or not. */
is_unused static struct envd_result run_script(struct envd *envd, const char *script)
{
    struct envd_command command = {.script = script, .dir = "/tmp", .timeout_ms = 60000};
    struct envd_result result = {0};
    struct err err = {0};

    int rc = envd_exec(envd, &command, NULL, &result, &err);
    cr_assert_eq(rc, 0, "exec %s: %s", script, err.text);
    return result;
}

is_unused static void expect_output(struct envd *envd, const char *script, const char *output)
{
    autoresult struct envd_result result = run_script(envd, script);

    cr_expect_eq(result.exit_code, 0, "%s: exit %d, %s", script, result.exit_code,
                 str_c(&result.err));
    cr_expect_str_eq(str_c(&result.out), output, "%s: \"%s\" instead of \"%s\"; %s", script,
                     str_c(&result.out), output, str_c(&result.err));
}

#endif
