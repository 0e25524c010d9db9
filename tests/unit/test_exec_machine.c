/*
 * test_exec_machine.c - the tables of all state machines: sane, and every edge is taken.
 *
 * The edge test runs workflows that visit every state and counts moves: each edge of each table
 * must be taken, so an edge that nothing can take has no place in a table. `make coverage` shows
 * the count.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "durable.h"
#include "exec/machine.h"
#include "exec/state.h"
#include "exec_host.h"

#define TEST(name) Test(exec_machine, name, .timeout = 30)

TEST(tables_are_sane)
{
    for (size_t i = 0; machine_all[i]; i++) {
        const struct machine_def *def = machine_all[i];
        uint32_t reached = 1;
        cr_expect(def->name && def->states >= 2 && def->states <= MACHINE_MAX_STATES);
        for (int s = 0; s < def->states; s++) {
            cr_expect(def->state_names[s] && *def->state_names[s], "%s %d", def->name, s);
            cr_expect_eq(def->edges[s] >> def->states, 0, "%s: edge to nowhere", def->name);
            reached |= def->edges[s];
        }
        cr_expect_eq(reached, (1U << def->states) - 1, "%s: a state nobody reaches", def->name);
    }
}

TEST(a_forbidden_move_changes_nothing)
{
    struct timer t = {.started_id = 3, .ms = 5};

    t.state = TIMER_FIRED;
    cr_expect_not(machine_move(&timer_machine, &t.state, TIMER_CANCELED, &t));
    cr_expect_eq(t.state, TIMER_FIRED);
    cr_expect_not(machine_move(&timer_machine, &t.state, TIMER_FIRED, &t));
}

static int taken[16][MACHINE_MAX_STATES][MACHINE_MAX_STATES];

static void count_edge(const struct machine_def *def, int from, int to)
{
    for (size_t i = 0; machine_all[i]; i++) {
        taken[i][from][to] += machine_all[i] == def;
    }
}

static int effect(void *arg, const char **result)
{
    *result = arg;
    return DUR_OK;
}

static int refuse(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return dur_json_bool(input, "", 1) ? DUR_OK : dur_fail_run(ctx, "No", "no");
}

static int answer(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)arg;
    *result = input;
    return DUR_OK;
}

static int visits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options wait = {.cancellation = DUR_WAIT_CANCEL};
    dur_future *never = dur_start_activity(ctx, "Never", input, NULL);
    dur_future *timer = dur_timer(ctx, 10);
    dur_future *f[4];

    (void)user;
    dur_on_update(ctx, "update", refuse, answer, NULL);
    dur_cancel_future(ctx, never);
    dur_cancel_future(ctx, timer);
    dur_side_effect(ctx, effect, (char[]){"1"}, NULL);
    for (int i = 0; i < 4; i++) {
        f[i] = dur_start_activity(ctx, "Work", input, &wait);
    }
    timer = dur_timer(ctx, 99);
    dur_receive(ctx, "go", -1, NULL);
    dur_cancel_future(ctx, timer);
    dur_sleep(ctx, 5);
    for (int i = 0; i < 4; i++) {
        dur_cancel_future(ctx, f[i]);
    }
    for (int i = 0; i < 4; i++) {
        dur_await(ctx, f[i], NULL);
    }
    dur_await(ctx, dur_start_activity(ctx, "Early", input, &wait), NULL);
    int rc = dur_receive(ctx, "end", -1, NULL);
    if (rc == DUR_OK && dur_json_int(input, "", 0)) {
        return dur_fail_run(ctx, "X", "y");
    }
    *result = "1";
    return rc;
}

static void visit(const char *input, bool cancel)
{
    struct host h;

    host_init(&h, visits, NULL, input);
    cr_assert_eq(host_task(&h), 0);
    host_signal(&h, "go", "1");
    host_update(&h, "u1", "update", "true");
    host_update(&h, "u2", "update", "false");
    cr_assert_eq(host_task(&h), 0);
    host_fired(&h, "3");
    cr_assert_eq(host_task(&h), 0);
    host_done(&h, "2", "1");
    host_failed(&h, "3", DUR_TRANSIENT, "X", "y");
    host_timed_out(&h, "4", TIMEOUT_TYPE_START_TO_CLOSE);
    host_canceled(&h, "5");
    cr_assert_eq(host_task(&h), 0);
    host_timed_out(&h, "6", TIMEOUT_TYPE_SCHEDULE_TO_START);
    host_append(&h, EVENT_WORKFLOW_TASK_STARTED);
    host_append(&h, EVENT_WORKFLOW_TASK_FAILED);
    h.task_pending = false;
    host_wake(&h);
    host_append(&h, EVENT_WORKFLOW_TASK_TIMED_OUT);
    h.task_pending = false;
    if (cancel) {
        host_cancel(&h, "a");
        host_cancel(&h, "b");
    } else {
        host_signal(&h, "end", "1");
    }
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_free(&h);
}

static void close_outside(enum event_type type)
{
    struct host h;

    host_init(&h, visits, NULL, "0");
    host_task(&h);
    host_append(&h, type);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    cr_expect_eq(run_processed(h.run), (int64_t)h.count);
    cr_expect_eq(run_status(h.run),
                 type == EVENT_WORKFLOW_EXECUTION_TERMINATED ? RUN_TERMINATED : RUN_TIMED_OUT);
    host_free(&h);
}

static int relates(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *names[] = {"a", "b", "c", "d", "e", "f"};
    dur_future *dropped = dur_start_child(ctx, "Kid", input, NULL);
    dur_future *taken_back = dur_signal_external(ctx, "x", "s", NULL);

    (void)user;
    (void)result;
    dur_cancel_future(ctx, dropped);
    dur_cancel_future(ctx, taken_back);
    for (int i = 0; i < 6; i++) {
        dur_start_child(ctx, "Kid", input, &(dur_child_options){.workflow_id = names[i]});
    }
    dur_signal_external(ctx, "x", "s", NULL);
    dur_cancel_external(ctx, "x", NULL);
    return dur_receive(ctx, "end", -1, NULL);
}

static void relate(void)
{
    static const enum event_type ends[] = {
        EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED,  EVENT_CHILD_WORKFLOW_EXECUTION_FAILED,
        EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED,   EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
        EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED, EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED};
    struct host h;

    host_init(&h, relates, NULL, "1");
    cr_assert_eq(host_task(&h), 0);
    for (int i = 0; i < 6; i++) {
        char name[] = {(char)('a' + i), '\0'};
        if (i < 5) {
            host_child_started(&h, name);
        }
        host_child_ended(&h, name, ends[i]);
    }
    host_answered(&h, "x", EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED);
    host_answered(&h, "x", EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    host_free(&h);
}

static int cancels_waiting(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options wait = {.cancellation = DUR_WAIT_CANCEL};
    dur_future *activity = dur_start_activity(ctx, "Work", input, &wait);

    (void)result;
    (void)user;
    dur_receive(ctx, "go", -1, NULL);
    dur_cancel_future(ctx, activity);
    dur_await(ctx, activity, NULL);
    return dur_continue_as_new(ctx, "1", NULL);
}

static void cancel_waiting(void)
{
    struct host h;

    host_init(&h, cancels_waiting, NULL, "1");
    cr_assert_eq(host_task(&h), 0);
    host_signal(&h, "go", "1");
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    host_canceled_waiting(&h, "1");
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_eq(run_status(h.run), RUN_CONTINUED_AS_NEW);
    host_free(&h);
}

/* All edges of one machine are taken; returns how many it has. */
static int check_edges(const struct machine_def *def, int (*counts)[MACHINE_MAX_STATES])
{
    int edges = 0;
    for (int from = 0; from < def->states; from++) {
        for (int to = 0; to < def->states; to++) {
            if (def->edges[from] & MACHINE_TO(to)) {
                edges++;
                cr_expect(counts[from][to] > 0, "never taken: %s, %s to %s", def->name,
                          def->state_names[from], def->state_names[to]);
            }
        }
    }
    return edges;
}

TEST(every_edge_is_taken)
{
    int edges = 0;

    machine_on_move = count_edge;
    visit("0", false);
    visit("1", false);
    visit("0", true);
    relate();
    cancel_waiting();
    close_outside(EVENT_WORKFLOW_EXECUTION_TERMINATED);
    close_outside(EVENT_WORKFLOW_EXECUTION_TIMED_OUT);
    machine_on_move = NULL;
    for (size_t i = 0; machine_all[i]; i++) {
        int of_this = check_edges(machine_all[i], taken[i]);
        printf("# %s: %d edges, all taken\n", machine_all[i]->name, of_this);
        edges += of_this;
    }
    printf("# %d edges of the state machines, 100 %% taken\n", edges);
    cr_assert_gt(edges, 40);
}
