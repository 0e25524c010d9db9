/*
 * test_history_diff.c - history/diff: what is said of the first difference, and what is ignored.
 */
#include "history/diff.h"

#include <criterion/criterion.h>

#include "base/clock.h"
#include "history/builder.h"
#include "history/failure.h"

static void build(struct builder *b, struct arena *arena)
{
    builder_init(b, arena, "demo");
    build_task(b);
    int64_t activity = build_activity(b, "1", "greet", "\"ada\"");
    build_activity_failed(b, activity, failure_application(arena, "T", "m", false, NULL),
                          RETRY_STATE_TIMEOUT);
    build_timer(b, "1", NS_PER_S);
}

struct pair {
    struct arena *arena;
    struct builder a;
    struct builder b;
    struct str out;
};

static void setup(struct pair *p)
{
    *p = (struct pair){.arena = arena_new()};
    build(&p->a, p->arena);
    build(&p->b, p->arena);
}

static void teardown(struct pair *p)
{
    arena_free(p->arena);
    str_free(&p->out);
}

#define autopair cleanup_with(teardown)

static void differs(struct pair *p, unsigned ignore, const char *expected)
{
    str_reset(&p->out);
    cr_assert_not(history_equal(&p->a.history, &p->b.history, ignore, &p->out));
    cr_assert_str_eq(str_c(&p->out), expected);
}

static void same(struct pair *p, unsigned ignore)
{
    str_reset(&p->out);
    cr_assert(history_equal(&p->a.history, &p->b.history, ignore, &p->out), "%s", str_c(&p->out));
}

Test(diff, equal_histories_are_equal)
{
    autopair struct pair p;

    setup(&p);
    same(&p, DIFF_EXACT);
    same(&p, DIFF_NORMAL);
}

Test(diff, the_first_difference_is_named)
{
    autopair struct pair p;

    setup(&p);
    ev_activity_task_scheduled(&p.b.history.items[4])->activity_type = "wave";
    differs(&p, DIFF_NORMAL,
            "event 5 ActivityTaskScheduled: activityType is \"wave\", expected \"greet\"");
    ev_activity_task_scheduled(&p.b.history.items[4])->activity_type = NULL;
    differs(&p, DIFF_NORMAL,
            "event 5 ActivityTaskScheduled: activityType is absent, expected \"greet\"");
}

Test(diff, nested_fields_have_a_path)
{
    autopair struct pair p;

    setup(&p);
    ev_activity_task_failed(&p.b.history.items[6])->failure->application_failure_info->type = "U";
    differs(&p, DIFF_NORMAL,
            "event 7 ActivityTaskFailed: failure.applicationFailureInfo.type is \"U\", expected "
            "\"T\"");
}

Test(diff, lengths_and_types_count)
{
    autopair struct pair p;

    setup(&p);
    p.b.history.count--;
    differs(&p, DIFF_NORMAL,
            "the history ends after 7 events, expected 8, the next being TimerStarted");
    p.b.history.count++;
    p.a.history.count--;
    differs(&p, DIFF_NORMAL,
            "the history has 8 events, expected 7; the first one more is TimerStarted");
    p.a.history.count++;
    p.b.history.items[7].type = EVENT_WORKFLOW_TASK_SCHEDULED;
    differs(&p, DIFF_NORMAL,
            "event 8 WorkflowTaskScheduled: the type is WorkflowTaskScheduled, expected "
            "TimerStarted");
}

Test(diff, each_flag_leaves_out_its_own)
{
    autopair struct pair p;

    setup(&p);
    p.b.history.items[4].time_ns++;
    cr_assert_not(history_equal(&p.a.history, &p.b.history, DIFF_EXACT, NULL));
    same(&p, DIFF_TIMES);
    ev_workflow_task_started(&p.b.history.items[2])->identity = "other";
    p.b.history.items[2].task_id = 9;
    cr_assert_not(history_equal(&p.a.history, &p.b.history, DIFF_TIMES, NULL));
    same(&p, DIFF_TIMES | DIFF_IDENTITIES);
    ev_workflow_execution_started(&p.b.history.items[0])->first_execution_run_id = "other";
    cr_assert_not(history_equal(&p.a.history, &p.b.history, DIFF_TIMES | DIFF_IDENTITIES, NULL));
    same(&p, DIFF_NORMAL);
    ev_timer_started(&p.b.history.items[7])->start_to_fire_timeout = 2 * NS_PER_S;
    differs(&p, DIFF_NORMAL, "event 8 TimerStarted: startToFireTimeout is \"2s\", expected \"1s\"");
    same(&p, DIFF_NORMAL | DIFF_TIMEOUTS);
    ev_timer_started(&p.b.history.items[7])->workflow_task_completed_event_id = 3;
    differs(&p, DIFF_NORMAL | DIFF_TIMEOUTS,
            "event 8 TimerStarted: workflowTaskCompletedEventId is 3, expected 4");
    same(&p, DIFF_NORMAL | DIFF_TIMEOUTS | DIFF_BACKREFS);
    ev_activity_task_failed(&p.b.history.items[6])->failure->stack_trace = "at x";
    same(&p, DIFF_NORMAL | DIFF_TIMEOUTS | DIFF_BACKREFS);
    cr_assert_not(history_equal(
        &p.a.history, &p.b.history,
        DIFF_TIMES | DIFF_IDENTITIES | DIFF_RUN_IDS | DIFF_TIMEOUTS | DIFF_BACKREFS, NULL));
}

Test(diff, payloads_count_unless_ignored)
{
    autopair struct pair p;

    setup(&p);
    ev_activity_task_scheduled(&p.b.history.items[4])->input = payloads_json(p.arena, "\"bob\"");
    differs(&p, DIFF_NORMAL,
            "event 5 ActivityTaskScheduled: input is [\"bob\"], expected [\"ada\"]");
    same(&p, DIFF_NORMAL | DIFF_PAYLOADS);
    ev_activity_task_scheduled(&p.b.history.items[4])->input = NULL;
    differs(&p, DIFF_NORMAL | DIFF_PAYLOADS,
            "event 5 ActivityTaskScheduled: input is absent, expected [\"ada\"]");
}

Test(diff, long_values_are_shortened)
{
    autopair struct pair p;
    char text[403];

    setup(&p);
    memset(text, 'x', sizeof(text));
    text[0] = text[401] = '"';
    text[402] = '\0';
    ev_activity_task_scheduled(&p.b.history.items[4])->input = payloads_json(p.arena, text);
    cr_assert_not(history_equal(&p.a.history, &p.b.history, DIFF_NORMAL, &p.out));
    cr_assert_leq(p.out.len, 250);
    cr_assert(strstr(str_c(&p.out), "... (404 bytes), expected [\"ada\"]"), "%s", str_c(&p.out));
}

Test(diff, maps_have_no_order)
{
    autopair struct pair p;
    struct payload_map *one = NULL;
    struct payload_map *two = NULL;

    setup(&p);
    one = arena_new_of(p.arena, struct payload_map);
    two = arena_new_of(p.arena, struct payload_map);
    struct payload *x = &payloads_json(p.arena, "1")->items[0];
    struct payload *y = &payloads_json(p.arena, "2")->items[0];
    payload_map_add(one, p.arena, "x", x);
    payload_map_add(one, p.arena, "y", y);
    payload_map_add(two, p.arena, "y", y);
    payload_map_add(two, p.arena, "x", x);
    ev_workflow_execution_started(&p.a.history.items[0])->memo = one;
    ev_workflow_execution_started(&p.b.history.items[0])->memo = two;
    same(&p, DIFF_EXACT);
    two->items[0].key = "z";
    cr_assert_not(history_equal(&p.a.history, &p.b.history, DIFF_EXACT, &p.out));
}
