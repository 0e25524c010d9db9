/*
 * test_exec_search.c - search attributes inside a workflow: what is recorded, what code sees.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec/state.h"
#include "exec_host.h"

#define TEST(name) Test(exec_search, name, .timeout = 30)

static int sorts(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = dur_upsert_search_attributes(
        ctx, "{\"CustomerId\":\"c1\",\"Amount\":3,\"Due\":"
             "{\"type\":\"Datetime\",\"value\":\"2026-01-02T04:04:05+01:00\"}}");
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "Between", "null", NULL, NULL);
    }
    if (rc == DUR_OK && dur_patched(ctx, "p1") != 1) {
        return DUR_UNWIND;
    }
    if (rc == DUR_OK) {
        rc = dur_upsert_search_attributes(ctx, "{\"Amount\":null,\"Tags\":[\"a\",\"b\"]}");
    }
    *result = dur_search_attributes(ctx);
    return rc;
}

TEST(upserts_are_recorded_and_seen)
{
    struct host h;

    host_init(&h, sorts, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "attr +A1:Between");
    const struct payload_map *map =
        ev_upsert_workflow_search_attributes(h.events[h.last + 1])->search_attributes;
    cr_assert_eq(map->count, 3);
    cr_expect_str_eq(payload_map_get(map, "CustomerId")->meta->value, "Keyword");
    cr_expect_str_eq(payload_map_get(map, "Amount")->meta->value, "Int");
    cr_expect_str_eq(payload_map_get(map, "Due")->meta->value, "Datetime");
    cr_expect_str_eq(payload_map_get(map, "Due")->data, "\"2026-01-02T03:04:05.000000000Z\"");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_done(&h, "1", "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h),
                     "!core_patch attr attr =done:{\"CustomerId\":\"c1\",\"Due\":{\"type\":"
                     "\"Datetime\",\"value\":\"2026-01-02T03:04:05.000000000Z\"},"
                     "\"TemporalChangeVersion\":[\"p1\"],\"Tags\":[\"a\",\"b\"]}");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message ? h.out.message : h.err.text);
    host_free(&h);
}

static char long_text[41 * 1024];

static int misused(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    memset(long_text, 'x', sizeof(long_text) - 1);
    *result = dur_ctx_jsonf(
        ctx, "[%d,%d,%d,%d,%d]", dur_upsert_search_attributes(ctx, "[]"),
        dur_upsert_search_attributes(ctx, NULL), dur_upsert_search_attributes(ctx, "{}"),
        dur_upsert_search_attributes(ctx, "{\"TemporalChangeVersion\":[\"x\"]}"),
        dur_upsert_search_attributes(ctx, dur_ctx_jsonf(ctx, "{\"A\":\"%j\"}", long_text)));
    return DUR_OK;
}

/* Many small ones reach the limit too. */
static int hoards(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = DUR_OK;
    int count = 0;

    (void)input;
    (void)user;
    memset(long_text, 'x', 1000);
    long_text[1000] = '\0';
    while (rc == DUR_OK) {
        rc = dur_upsert_search_attributes(
            ctx, dur_ctx_jsonf(ctx, "{\"A%d\":\"%j\"}", count++, long_text));
    }
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", rc, count);
    return DUR_OK;
}

TEST(all_of_a_run_have_a_limit)
{
    struct host h;

    host_init(&h, hoards, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect(strstr(host_commands(&h), "attr =done:[-12,41]"), "%s", host_commands(&h));
    cr_expect_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(misuse_is_refused)
{
    struct host h;

    host_init(&h, misused, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[-5,-5,-5,-5,-12]");
    host_free(&h);
}

static int none(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    return dur_run(ctx, "Between", "null", NULL, NULL);
}

TEST(a_removed_upsert_does_not_fit)
{
    struct host h;

    host_init(&h, sorts, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    h.spec.fn = none;
    cr_expect_eq(host_evict(&h), RUN_MISMATCH);
    host_free(&h);
    host_init(&h, none, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    h.spec.fn = sorts;
    cr_expect_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_str_eq(h.out.mismatch.actual, "change search attributes");
    host_free(&h);
}
