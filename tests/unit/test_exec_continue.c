/*
 * test_exec_continue.c - continue-as-new, what a run knows of itself, against the made-up
 * host.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_continue, name, .timeout = 30)

struct plan {
    const char *input;
    dur_continue_options options;
    int ignore; /* return 0 all the same */
};

static int go_on(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const struct plan *plan = user;
    (void)input;
    (void)result;
    int rc = dur_receive(ctx, "go", -1, NULL);
    if (rc == DUR_OK) {
        rc = dur_continue_as_new(ctx, plan->input, &plan->options);
    }
    return plan->ignore ? DUR_OK : rc;
}

static const struct ev_workflow_execution_continued_as_new *continued(struct host *h)
{
    const struct event *last = h->out.events[h->out.count - 1];
    cr_assert_eq(last->type, EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW);
    return ev_workflow_execution_continued_as_new(last);
}

TEST(the_run_ends_and_says_what_follows)
{
    struct host h;
    struct plan plan = {.input = "{\"n\":2}",
                        .options = {.type = "other",
                                    .task_queue = "q2",
                                    .run_timeout_ms = 5000,
                                    .task_timeout_ms = 3000,
                                    .backoff_ms = 250,
                                    .memo = "{\"a\":1}",
                                    .retry = &(dur_retry_policy){.maximum_attempts = 3}}};
    host_init(&h, go_on, &plan, "null");
    host_signal(&h, "go", "1");
    cr_assert_eq(host_task(&h), 0);
    cr_assert_eq(h.out.status, RUN_CONTINUED_AS_NEW);
    const struct ev_workflow_execution_continued_as_new *a = continued(&h);
    cr_expect_str_eq(a->workflow_type, "other");
    cr_expect_str_eq(a->task_queue->name, "q2");
    cr_expect_str_eq(payloads_first_json(a->input, NULL), "{\"n\":2}");
    cr_expect_eq(a->workflow_run_timeout, 5000000000);
    cr_expect_eq(a->workflow_task_timeout, 3000000000);
    cr_expect_eq(a->backoff_start_interval, 250000000);
    cr_expect_eq(a->initiator, CONTINUE_AS_NEW_INITIATOR_WORKFLOW);
    cr_expect_eq(a->memo->count, 1);
    cr_expect_eq(h.out.next_retry->maximum_attempts, 3);
    cr_expect_eq(h.out.signals_left_count, 0);
    cr_expect_eq(a->workflow_task_completed_event_id, h.out.events[0]->id);
    cr_assert_eq(host_evict(&h), 0, "it replays");
    cr_expect_eq(run_status(h.run), RUN_CONTINUED_AS_NEW);
    host_free(&h);
}

TEST(without_options_it_is_as_this_run)
{
    struct host h;
    struct plan plan = {0};
    host_init(&h, go_on, &plan, "null");
    host_signal(&h, "go", "1");
    cr_assert_eq(host_task(&h), 0);
    const struct ev_workflow_execution_continued_as_new *a = continued(&h);
    cr_expect_str_eq(a->workflow_type, h.spec.type);
    cr_expect_null(a->input);
    cr_expect_null(a->memo);
    cr_expect_eq(a->backoff_start_interval, 0);
    cr_expect_null(h.out.next_retry);
    host_free(&h);
}

TEST(signals_that_nobody_received_are_named_in_order)
{
    struct host h;
    struct plan plan = {0};
    host_init(&h, go_on, &plan, "null");
    host_signal(&h, "later", "1");
    int64_t later = (int64_t)h.count;
    host_signal(&h, "go", "2");
    host_signal(&h, "other", "3");
    int64_t other = (int64_t)h.count;
    host_signal(&h, "later", "4");
    int64_t last = (int64_t)h.count;
    cr_assert_eq(host_task(&h), 0);
    cr_assert_eq(h.out.signals_left_count, 3);
    cr_expect_eq(h.events[h.out.signals_left[0] - 1]->type, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    cr_expect_leq(h.out.signals_left[0], later);
    cr_expect_lt(h.out.signals_left[0], h.out.signals_left[1]);
    cr_expect_leq(h.out.signals_left[1], other);
    cr_expect_eq(h.out.signals_left[2], last);
    host_free(&h);
}

static int count_word(dur_ctx *ctx, const char *input, void *arg)
{
    (void)ctx;
    (void)input;
    ++*(int *)arg;
    return DUR_OK;
}

/* Continues before its handler has had a chance. */
static int hasty(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int words = 0;
    (void)input;
    (void)result;
    (void)user;
    dur_on_signal(ctx, "word", count_word, &words);
    return dur_continue_as_new(ctx, NULL, NULL);
}

TEST(so_are_those_whose_handler_has_not_run)
{
    struct host h;
    host_init(&h, hasty, NULL, "null");
    host_signal(&h, "word", "1");
    host_signal(&h, "word", "2");
    cr_assert_eq(host_task(&h), 0);
    cr_assert_eq(h.out.signals_left_count, 2);
    cr_expect_lt(h.out.signals_left[0], h.out.signals_left[1]);
    host_free(&h);
}

TEST(a_function_that_returns_something_else_does_that)
{
    struct host h;
    struct plan plan = {.ignore = 1};
    host_init(&h, go_on, &plan, "null");
    host_signal(&h, "go", "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:null");
    cr_expect_eq(h.out.signals_left_count, 0);
    host_free(&h);
}

static int only_the_code(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)input;
    (void)result;
    (void)user;
    return DUR_CONTINUE;
}

TEST(the_code_alone_fails_the_run)
{
    struct host h;
    host_init(&h, only_the_code, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_eq(h.out.status, RUN_FAILED);
    host_free(&h);
}

static void parks(const struct plan *plan, const char *word)
{
    struct host h;
    struct plan copy = *plan;
    host_init(&h, go_on, &copy, "null");
    host_signal(&h, "go", "1");
    cr_assert_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_eq(h.out.cause, WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES);
    cr_expect(strstr(h.out.message, word), "%s", h.out.message);
    host_free(&h);
}

TEST(what_cannot_be_parks_the_run)
{
    parks(&(struct plan){.input = "{"}, "input");
    parks(&(struct plan){.options = {.type = ""}}, "type");
    parks(&(struct plan){.options = {.run_timeout_ms = -1}}, "times");
    parks(&(struct plan){.options = {.memo = "[1]"}}, "memo");
    parks(&(struct plan){.options = {.search_attributes = "{\"a\":{}}"}}, "search attribute");
    parks(&(struct plan){.options = {.retry = &(dur_retry_policy){.backoff_coefficient = 0.5}}},
          "retry");
}

static int completes(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    return dur_receive(ctx, "go", -1, NULL);
}

TEST(code_that_does_not_continue_any_more_mismatches)
{
    struct host h;
    struct plan plan = {0};
    host_init(&h, go_on, &plan, "null");
    host_signal(&h, "go", "1");
    cr_assert_eq(host_task(&h), 0);
    h.spec.fn = completes;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect(strstr(h.out.message, "CONTINUED_AS_NEW"), "%s", h.out.message);
    cr_expect(strstr(h.out.message, "complete the run"), "%s", h.out.message);
    host_free(&h);
}

/* --- what a run knows ------------------------------------------------------------------------- */

static int tell(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const dur_failure_info *failure = dur_last_failure(ctx);
    (void)input;
    (void)user;
    dur_upsert_memo(ctx, "{\"k\":2,\"gone\":null}");
    *result =
        dur_ctx_jsonf(ctx, "[%d,%q,%j,%j,%q,%d,%i64,%i64]", dur_attempt(ctx), dur_parent_id(ctx),
                      dur_memo(ctx), dur_last_result(ctx), failure ? failure->type : NULL,
                      dur_continue_suggested(ctx), dur_history_events(ctx), dur_history_bytes(ctx));
    return DUR_OK;
}

TEST(a_plain_run_knows_little)
{
    struct host h;
    host_init(&h, tell, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "memo =done:[1,null,{\"k\":2},null,null,0,3,0]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static void add(struct arena *arena, struct payload_map *map, const char *key, const char *json)
{
    struct payload payload = {0};
    payload_set(&payload, arena, "json/plain", json, strlen(json));
    payload_map_add(map, arena, key, &payload);
}

TEST(a_successor_knows_what_its_start_says)
{
    struct host h;
    host_init(&h, tell, NULL, "null");
    struct ev_workflow_execution_started *s = ev_workflow_execution_started(h.events[0]);
    struct workflow_execution parent = {.workflow_id = "p"};
    s->attempt = 3;
    s->parent_workflow_execution = &parent;
    s->memo = arena_new_of(h.arena, struct payload_map);
    add(h.arena, s->memo, "gone", "1");
    add(h.arena, s->memo, "stays", "[]");
    s->last_completion_result = payloads_json(h.arena, "\"before\"");
    s->continued_failure = failure_application(h.arena, "Bad", "luck", false, NULL);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h),
                     "memo =done:[3,\"p\",{\"stays\":[],\"k\":2},\"before\",\"Bad\",0,3,0]");
    host_free(&h);
}

static int fails(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail_run(ctx, "Nope", "no");
}

TEST(a_failure_may_be_retried_where_the_run_has_a_policy)
{
    for (int with_policy = 0; with_policy < 2; with_policy++) {
        struct host h;
        struct retry_policy policy = {.initial_interval = 1000000000};
        host_init(&h, fails, NULL, "null");
        ev_workflow_execution_started(h.events[0])->retry_policy = with_policy ? &policy : NULL;
        cr_assert_eq(host_task(&h), 0);
        const struct failure *failure =
            ev_workflow_execution_failed(h.out.events[h.out.count - 1])->failure;
        cr_expect_eq(failure->application_failure_info->non_retryable, !with_policy);
        host_free(&h);
    }
}
