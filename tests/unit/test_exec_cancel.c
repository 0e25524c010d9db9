/*
 * test_exec_cancel.c - cancellation: of the run, of scopes, of one future; clean-up; unwinding.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_cancel, name, .timeout = 30)

static int one_activity(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    return dur_run(ctx, "Work", input, result,
                   &(dur_activity_options){.cancellation = *(dur_cancellation *)user});
}

TEST(try_cancel_asks_and_returns_at_once)
{
    struct host h;
    dur_cancellation how = DUR_TRY_CANCEL;

    host_init(&h, one_activity, &how, "null");
    host_task(&h);
    host_cancel(&h, "no time");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "?A1 =canceled");
    cr_expect_eq(h.out.status, RUN_CANCELED);
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_eq(run_status(h.run), RUN_CANCELED);
    host_free(&h);
}

TEST(wait_cancel_returns_the_real_end)
{
    struct host h;
    dur_cancellation how = DUR_WAIT_CANCEL;

    host_init(&h, one_activity, &how, "null");
    host_task(&h);
    host_cancel(&h, "no time");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "?A1");
    host_canceled(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=canceled");
    host_free(&h);
}

TEST(wait_cancel_may_still_complete)
{
    struct host h;
    dur_cancellation how = DUR_WAIT_CANCEL;

    host_init(&h, one_activity, &how, "null");
    host_task(&h);
    host_cancel(&h, "no time");
    host_task(&h);
    host_done(&h, "1", "9");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:9");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(abandon_tells_nobody)
{
    struct host h;
    dur_cancellation how = DUR_ABANDON;

    host_init(&h, one_activity, &how, "null");
    host_task(&h);
    host_cancel(&h, "no time");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=canceled");
    host_free(&h);
}

TEST(a_completion_in_the_same_task_wins)
{
    struct host h;
    dur_cancellation how = DUR_TRY_CANCEL;

    host_init(&h, one_activity, &how, "null");
    host_task(&h);
    host_cancel(&h, "no time");
    host_done(&h, "1", "9");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:9");
    host_free(&h);
}

static int cleanup(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run(ctx, "Work", input, result, NULL);

    (void)user;
    if (rc) {
        int again = dur_run(ctx, "Never", input, NULL, NULL);
        int undo = dur_run(
            dur_disconnected(ctx), "Undo",
            dur_ctx_jsonf(ctx, "[%q,%d,%b]", dur_cancel_reason(ctx), again, dur_is_cancelled(ctx)),
            NULL, NULL);
        return undo ? undo : rc;
    }
    return rc;
}

TEST(disconnected_cleanup_runs_in_a_cancelled_run)
{
    struct host h;

    host_init(&h, cleanup, NULL, "null");
    host_task(&h);
    host_cancel(&h, "no time");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "?A1 +A2:Undo");
    cr_expect_str_eq(
        payloads_first_json(ev_activity_task_scheduled(h.events[h.count - 1])->input, NULL),
        "[\"no time\",-2,true]");
    host_canceled(&h, "1"); /* the late end of what nobody waits for any more */
    host_cancel(&h, "again");
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "");
    cr_assert_eq(host_evict(&h), 0);
    host_done(&h, "2", "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=canceled");
    host_free(&h);
}

static int take_back(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_ctx *scope = dur_scope(ctx);
    dur_future *a = dur_start_activity(scope, "Never", input, NULL);
    dur_future *t = dur_timer(scope, 1000);

    (void)user;
    dur_cancel_scope(scope);
    dur_cancel_scope(scope);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d,%b,%b]", dur_await(ctx, a, NULL),
                            dur_await(ctx, t, NULL), dur_run(scope, "Never", input, NULL, NULL),
                            dur_sleep(scope, 5), dur_is_cancelled(ctx), dur_is_cancelled(scope));
    return dur_run(ctx, "After", input, NULL, NULL);
}

TEST(commands_not_sent_yet_are_taken_back)
{
    struct host h;

    host_init(&h, take_back, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A2:After", "the taken-back id is not used again");
    host_done(&h, "2", "null");
    cr_assert_eq(host_evict(&h), 0);
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-2,-2,-2,-2,false,true]");
    host_free(&h);
}

static int tree(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_ctx *outer = dur_scope(ctx);
    dur_ctx *inner = dur_scope(dur_scope(outer));
    dur_future *f[] = {
        dur_start_activity(inner, "Inner", input, NULL),
        dur_start_activity(outer, "Outer", input, NULL),
        dur_timer(outer, 1000),
        dur_start_activity(ctx, "Root", input, NULL),
    };

    (void)user;
    int rc = dur_sleep(ctx, 10);
    dur_cancel_scope(outer);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d]", rc, dur_await(ctx, f[0], NULL),
                            dur_await(ctx, f[1], NULL), dur_done(f[3]));
    return DUR_OK;
}

TEST(cancelling_goes_down_the_tree_oldest_first)
{
    struct host h;

    host_init(&h, tree, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Inner +A2:Outer +T1 +A3:Root +T2");
    host_fired(&h, "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "?A2 -T1 ?A1 =done:[0,-2,-2,0]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int blocked_child(dur_ctx *ctx, void *arg, const char **result)
{
    int rc = dur_receive(ctx, "never", -1, NULL);

    (void)arg;
    *result = dur_ctx_jsonf(ctx, "%d", rc);
    return rc;
}

static int joins(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *child = dur_go(ctx, blocked_child, NULL);
    dur_ctx *aside = dur_disconnected(ctx);
    dur_future *lasting = dur_start_activity(aside, "Lasting", input, NULL);
    const char *text = "null";

    (void)user;
    int joined = dur_await(ctx, child, &text); /* ends because its scope is cancelled as well */
    int left = dur_await(ctx, lasting, NULL);  /* would not end by itself */
    int selected = dur_select(ctx, &lasting, 1);
    int slept = dur_sleep(aside, 10);
    *result = dur_ctx_jsonf(ctx, "[%d,%j,%d,%d,%d]", joined, text, left, selected, slept);
    return dur_await(aside, lasting, NULL);
}

TEST(waiting_in_a_cancelled_scope_joins_only_what_ends)
{
    struct host h;

    host_init(&h, joins, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Lasting");
    host_cancel(&h, "");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+T1");
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "");
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-2,-2,-2,-2,0]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int single(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *f[] = {dur_start_activity(ctx, "A", input, NULL), dur_timer(ctx, 50)};

    (void)user;
    dur_sleep(ctx, 10);
    dur_cancel_future(ctx, f[0]);
    dur_cancel_future(ctx, f[0]);
    dur_cancel_future(ctx, f[1]);
    dur_cancel_future(ctx, NULL);
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", dur_await(ctx, f[0], NULL), dur_await(ctx, f[1], NULL));
    return DUR_OK;
}

TEST(one_future_can_be_cancelled)
{
    struct host h;

    host_init(&h, single, NULL, "null");
    host_task(&h);
    host_fired(&h, "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "?A1 -T1 =done:[-2,-2]");
    host_free(&h);
}

/* --- unwinding ----------------------------------------------------------------------------------
 */

struct diary {
    int main_cleaned;
    int child_cleaned;
    int codes[4];
};

static int unwound_child(dur_ctx *ctx, void *arg, const char **result)
{
    struct diary *d = arg;

    (void)result;
    d->codes[0] = dur_receive(ctx, "never", DUR_HOURS, NULL);
    d->child_cleaned = d->main_cleaned ? -1 : 1; /* must come before its maker's end */
    return d->codes[0];
}

static int unwound(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct diary *d = user;

    (void)result;
    dur_go(ctx, unwound_child, d);
    d->codes[1] = dur_run(ctx, "Work", input, NULL, NULL);
    d->codes[2] = dur_run(dur_disconnected(ctx), "Undo", input, NULL, NULL);
    d->codes[3] = dur_await(ctx, dur_start_activity(ctx, "X", input, NULL), NULL);
    d->main_cleaned = 1;
    return d->codes[1];
}

TEST(eviction_unwinds_children_first_and_runs_cleanup)
{
    struct host h;
    struct diary d = {0};

    host_init(&h, unwound, &d, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Work +T1");
    run_free(h.run);
    cr_expect_eq(d.child_cleaned, 1);
    cr_expect_eq(d.main_cleaned, 1);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(d.codes[i], DUR_UNWIND);
    }
    h.run = NULL;
    host_free(&h);
}
