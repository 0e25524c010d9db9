/*
 * test_exec_update.c - updates: acceptance, completion, rejection without a trace, replay, resets.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "durable.h"
#include "exec_host.h"
#include "history/failure.h"

#define TEST(name) Test(exec_update, name, .timeout = 30)

struct state {
    int sum;
    int done;
    dur_ctx *ctx;
};

static int positive(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    if (dur_json_int(input, "", -1) == 77) {
        return DUR_INVALID;
    }
    return dur_json_int(input, "", -1) > 0
               ? DUR_OK
               : dur_fail_run(ctx, "Negative", "%s is too small", input);
}

static int add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct state *s = arg;

    s->sum += (int)dur_json_int(input, "", 0);
    *result = dur_ctx_jsonf(ctx, "%d", s->sum);
    return DUR_OK;
}

static int work(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    return dur_run(ctx, "Work", input, result, NULL);
}

static int fail(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    *result = "not json";
    return dur_json_int(input, "", 0) == 0 ? DUR_OK
           : dur_json_int(input, "", 0) < 0
               ? (int)dur_json_int(input, "", 0)
               : dur_fail_run(ctx, "TooLate", "it is %s o'clock", input);
}

static int ended(void *arg)
{
    struct state *s = arg;

    return s->done && dur_all_handlers_finished(s->ctx);
}

static int finish(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)input;
    (void)result;
    ((struct state *)arg)->done = 1;
    return DUR_OK;
}

static int account(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ctx = ctx};

    (void)input;
    (void)user;
    dur_on_update(ctx, "add", positive, add, &s);
    dur_on_update(ctx, "work", NULL, work, &s);
    dur_on_update(ctx, "fail", NULL, fail, &s);
    dur_on_update(ctx, "finish", NULL, finish, &s);
    int code = dur_wait(ctx, ended, &s, -1);
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", code, s.sum);
    return DUR_OK;
}

TEST(an_update_is_accepted_and_completed_in_one_task)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "");
    host_update(&h, "u1", "add", "3");
    host_update(&h, "u2", "add", "4");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu1 =Uu1:3 +Uu2 =Uu2:7");
    const struct ev_workflow_execution_update_accepted *a =
        ev_workflow_execution_update_accepted(h.events[7]);
    cr_expect_str_eq(a->protocol_instance_id, "u1");
    cr_expect_str_eq(a->accepted_request_message_id, "u1/request");
    cr_expect_eq(a->accepted_request_sequencing_event_id, 5, "the event before STARTED");
    cr_expect_str_eq(a->accepted_request->meta->update_id, "u1");
    cr_expect_str_eq(a->accepted_request->meta->identity, "me");
    cr_expect_str_eq(a->accepted_request->input->name, "add");
    cr_expect_str_eq(payloads_first_json(a->accepted_request->input->args, NULL), "3");
    const struct ev_workflow_execution_update_completed *c =
        ev_workflow_execution_update_completed(h.events[8]);
    cr_expect_eq(c->accepted_event_id, 8);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_update(&h, "u3", "finish", NULL);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu3 =Uu3:null =done:[0,7]");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(with_the_first_task)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_update(&h, "u1", "finish", "1");
    host_update(&h, "u2", "add", "5");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu2 =Uu2:5 +Uu1 =Uu1:null =done:[0,5]",
                     "in the order of registration");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(a_rejection_leaves_no_trace)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    size_t events = h.count;
    int64_t now = h.now_ns;
    host_update(&h, "u1", "add", "-1");
    host_update(&h, "u2", "nothing", "1");
    host_update(&h, "u3", "add", "77");
    cr_assert_eq(host_task(&h), 0);
    cr_expect(h.out.no_trace);
    cr_expect_eq(h.count, events);
    cr_expect_str_eq(
        host_rejections(&h),
        "u1:Negative: -1 is too small, u3:Rejected: update add was rejected (code -5), "
        "u2:UnknownUpdate: no handler for update nothing; there are: add, work, fail, "
        "finish");
    (void)now;
    host_update(&h, "u1", "add", "2"); /* an id that was rejected is free */
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu1 =Uu1:2");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(a_rejection_beside_other_news_leaves_an_empty_task)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_signal(&h, "nobody", "1");
    host_update(&h, "u1", "add", "-1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_not(h.out.no_trace, "a signal lies in it");
    cr_expect_eq(h.out.rejection_count, 1);
    cr_expect_str_eq(host_commands(&h), "");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(a_handler_may_wait)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "work", "1");
    host_update(&h, "u2", "work", "2");
    host_update(&h, "u3", "finish", "2");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu1 +A1:Work +Uu2 +A2:Work +Uu3 =Uu3:null");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_done(&h, "2", "\"b\"");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=Uu2:\"b\"");
    host_failed(&h, "1", DUR_PERMANENT, "Broken", "no");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=Uu1! =done:[0,0]", "an activity failure, wrapped");
    const struct ev_workflow_execution_update_completed *c =
        ev_workflow_execution_update_completed(h.events[h.count - 2]);
    cr_expect_eq(failure_kind(c->outcome->failure), FAILURE_ACTIVITY);
    cr_expect_eq(c->accepted_event_id, 8);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(a_handler_may_fail)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "fail", "7");
    host_update(&h, "u2", "fail", "0");
    host_update(&h, "u3", "fail", "-2");
    host_update(&h, "u4", "fail", "-1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu1 =Uu1!TooLate +Uu2 =Uu2!BadUpdateResult +Uu3 "
                                        "=Uu3!Canceled +Uu4 =Uu4!UpdateFailed");
    cr_expect_eq(run_status(h.run), RUN_RUNNING, "an update's failure is its own");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(a_cancel_reaches_handlers)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "work", "1");
    host_task(&h);
    host_cancel(&h, "stop");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "?A1 =Uu1!Canceled =done:[-2,0]");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

/* The function returns before the update's coroutine began. */
static int hasty(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {0};

    (void)input;
    (void)result;
    (void)user;
    dur_on_update(ctx, "add", NULL, add, &s);
    return DUR_OK;
}

TEST(a_run_that_ends_first_rejects_it)
{
    struct host h;

    host_init(&h, hasty, NULL, "null");
    host_update(&h, "u1", "add", "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:null");
    cr_expect_str_eq(host_rejections(&h),
                     "u1:RunIsOver: the run closed before its update could begin");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

/* --- validators only read ----------------------------------------------------------------------
 */

static int asks(dur_ctx *ctx, const char *input, void *arg)
{
    struct state *s = arg;

    s->sum = dur_run(ctx, "Forbidden", input, NULL, NULL);
    dur_random(ctx);
    dur_uuid(ctx);
    return DUR_OK;
}

static int draws(dur_ctx *ctx, const char *input, void *arg)
{
    (void)input;
    (void)arg;
    return dur_random(ctx) && *dur_uuid(ctx) ? DUR_OK : DUR_INVALID;
}

static int draw(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)input;
    (void)arg;
    *result = dur_ctx_jsonf(ctx, "%q", dur_uuid(ctx));
    return DUR_OK;
}

static int dice(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {0};

    (void)input;
    (void)user;
    dur_on_update(ctx, "asks", asks, draw, &s);
    dur_on_update(ctx, "draws", draws, draw, &s);
    dur_on_update(ctx, "plain", NULL, draw, &s);
    dur_receive(ctx, "end", -1, NULL);
    *result = dur_ctx_jsonf(ctx, "%q", dur_uuid(ctx));
    return DUR_OK;
}

TEST(a_validator_that_asks_is_a_rejection)
{
    struct host h;

    host_init(&h, dice, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "asks", "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect(h.out.no_trace);
    cr_assert_eq(h.out.rejection_count, 1);
    cr_expect_str_eq(failure_type(h.out.rejections[0].failure), "ValidatorMayOnlyRead");
    cr_expect(strstr(h.out.rejections[0].failure->message, "test_exec_update.c:"));
    host_free(&h);
}

TEST(a_validator_draws_from_its_own_stream)
{
    struct host a, b;

    host_init(&a, dice, NULL, "null");
    host_init(&b, dice, NULL, "null");
    host_task(&a);
    host_task(&b);
    host_update(&a, "u1", "draws", "1");
    host_update(&b, "u1", "plain", "1");
    cr_assert_eq(host_task(&a), 0);
    cr_assert_eq(host_task(&b), 0);
    const char *one = payloads_first_json(
        ev_workflow_execution_update_completed(a.events[a.count - 1])->outcome->success, NULL);
    const char *other = payloads_first_json(
        ev_workflow_execution_update_completed(b.events[b.count - 1])->outcome->success, NULL);
    cr_expect_str_eq(one, other);
    host_free(&a);
    host_free(&b);
}

/* --- resets ------------------------------------------------------------------------------------
 */

static void admit(struct host *h, const char *id, const char *name, const char *input)
{
    struct ev_workflow_execution_update_admitted *a = ev_workflow_execution_update_admitted(
        host_append(h, EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED));

    a->request = arena_new_of(h->arena, struct update_request);
    a->request->meta = arena_new_of(h->arena, struct update_meta);
    a->request->meta->update_id = id;
    a->request->input = arena_new_of(h->arena, struct update_input);
    a->request->input->name = name;
    a->request->input->args = payloads_json(h->arena, input);
    a->origin = UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY;
    host_wake(h);
}

TEST(updates_that_history_admits)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    admit(&h, "u1", "add", "2");
    admit(&h, "u2", "add", "-2");
    int64_t admitted = (int64_t)h.count - 1;
    while (h.events[admitted - 1]->type != EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED) {
        admitted--;
    }
    host_update(&h, "u1", "add", "2"); /* the host's row of the same update */
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "+Uu1 =Uu1:2", "once");
    cr_expect_str_eq(host_rejections(&h), "u2:Negative: -2 is too small");
    const struct ev_workflow_execution_update_accepted *a =
        ev_workflow_execution_update_accepted(h.events[h.count - 2]);
    cr_expect_null(a->accepted_request, "the admission holds it");
    cr_expect_eq(h.events[a->accepted_request_sequencing_event_id - 1]->type,
                 EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_update(&h, "u3", "finish", "2");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Uu3 =Uu3:null =done:[0,2]");
    host_free(&h);
}

/* --- code that changed -------------------------------------------------------------------------
 */

static int forgets(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ctx = ctx};

    (void)input;
    (void)user;
    dur_on_update(ctx, "finish", NULL, finish, &s);
    int code = dur_wait(ctx, ended, &s, -1);
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", code, s.sum);
    return DUR_OK;
}

TEST(a_handler_that_went_is_a_mismatch)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "add", "3");
    host_task(&h);
    h.spec.fn = forgets;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_eq(h.out.mismatch.kind, MISMATCH_MISSING);
    cr_expect_eq(h.out.mismatch.event_id, 8);
    cr_expect_str_eq(h.out.mismatch.expected,
                     "WORKFLOW_EXECUTION_UPDATE_ACCEPTED id \"u1\" name \"add\"");
    host_free(&h);
}

static int slower_add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    dur_sleep(ctx, 10);
    return add(ctx, input, result, arg);
}

static int slower(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ctx = ctx};

    (void)input;
    (void)result;
    (void)user;
    dur_on_update(ctx, "add", NULL, slower_add, &s);
    return dur_wait(ctx, ended, &s, -1);
}

TEST(a_handler_that_asks_for_more_is_a_mismatch)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "add", "3");
    host_task(&h);
    h.spec.fn = slower;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_eq(h.out.mismatch.kind, MISMATCH_DIFFERENT);
    cr_expect_str_eq(h.out.mismatch.expected, "WORKFLOW_EXECUTION_UPDATE_COMPLETED id \"u1\"");
    cr_expect_str_eq(h.out.mismatch.actual, "start timer id \"1\" after 10 ms");
    host_free(&h);
}

TEST(a_history_that_accepts_twice_is_refused)
{
    struct host h;

    host_init(&h, account, NULL, "null");
    host_task(&h);
    host_update(&h, "u1", "work", "3");
    host_task(&h);
    host_update(&h, "u2", "work", "3");
    host_task(&h);
    ev_workflow_execution_update_accepted(h.events[h.count - 2])->protocol_instance_id = "u1";
    cr_assert_lt(host_evict(&h), 0);
    cr_expect(strstr(h.err.text, "was accepted before"), "%s", h.err.text);
    host_free(&h);
}
