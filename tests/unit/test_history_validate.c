/*
 * test_history_validate.c - history/validate: every rule broken once, and the verdicts over
 * recorded histories. Builds its histories with history/builder.
 */
#include "history/validate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "history/builder.h"
#include "history/failure.h"
#include "history/json.h"
#include "history_files.h"

static void good(const struct builder *b)
{
    autostr struct str warnings = {0};
    struct err err = {0};

    cr_assert_eq(history_validate(&b->history, &warnings, &err), 0, "%s%s", err.text,
                 str_c(&warnings));
}

static void breaks(const struct builder *b, const char *rule, const char *needle)
{
    struct err err = {0};
    char words[16];

    snprintf(words, sizeof(words), "breaks %s:", rule);
    cr_assert_eq(history_validate(&b->history, NULL, &err), -1, "%s was not noticed", rule);
    cr_assert(strstr(err.text, words) && strstr(err.text, needle), "%s", err.text);
    cr_assert_str_eq(err.name, "HistoryInvalid");
}

static void warns(const struct builder *b, const char *needle)
{
    autostr struct str warnings = {0};
    struct err err = {0};

    cr_assert_eq(history_validate(&b->history, &warnings, &err), 1, "%s", err.text);
    cr_assert(strstr(str_c(&warnings), needle), "%s", str_c(&warnings));
}

static void begin(struct builder *b, struct arena *arena)
{
    builder_init(b, arena, "demo");
    build_task(b);
}

Test(validate, everything_the_builder_makes_is_valid)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_marker(&b, "core_patch", "patch-data", "{\"id\":\"p\",\"deprecated\":false}");
    build_search_attribute(&b, "TemporalChangeVersion", "[\"p\"]");
    build_memo(&b, "note", "1");
    int64_t done = build_activity(&b, "1", "a", "1");
    int64_t failed = build_activity(&b, "2", "a", NULL);
    int64_t late = build_activity(&b, "3", "a", NULL);
    int64_t dropped = build_activity(&b, "4", "a", NULL);
    int64_t timer = build_timer(&b, "1", NS_PER_S);
    int64_t other = build_timer(&b, "2", NS_PER_S);
    int64_t child = build_child(&b, "kid", "k", "1");
    build_signal(&b, "go", "1");
    build_task_scheduled(&b);
    build_activity_started(&b, failed, 2);
    build_child_started(&b, child);
    build_activity_done(&b, done, "2");
    build_activity_failed(&b, failed, failure_application(arena, "T", "m", false, NULL),
                          RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    build_task_started(&b);
    build_task_failed(&b, WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR, NULL);
    build_timer_fired(&b, timer);
    build_cancel_requested(&b, "enough");
    build_activity_timed_out(&b, late, TIMEOUT_TYPE_SCHEDULE_TO_START);
    build_child_done(&b, child, "3");
    build_task_scheduled(&b);
    build_task_timed_out(&b, TIMEOUT_TYPE_SCHEDULE_TO_START);
    build_task(&b);
    build_activity_cancel(&b, dropped);
    build_timer_canceled(&b, other);
    build_activity_canceled(&b, dropped);
    build_task(&b);
    good(&b);
    build_canceled(&b);
    good(&b);
}

Test(validate, every_way_to_end_is_valid)
{
    for (int i = 0; i < 6; i++) {
        autoarena struct arena *arena = arena_new();
        struct builder b;
        begin(&b, arena);
        switch (i) {
        case 0:
            build_completed(&b, NULL);
            break;
        case 1:
            build_failed(&b, failure_canceled(arena, NULL));
            break;
        case 2:
            build_continued(&b, "2");
            break;
        case 3:
            build_task_scheduled(&b);
            build_terminated(&b, "operator");
            break;
        case 4:
            build_task_scheduled(&b);
            build_task_started(&b);
            build_timed_out(&b);
            break;
        default:
            build_canceled(&b);
        }
        good(&b);
        struct validator *v = validator_new();
        for (size_t e = 0; e < b.history.count; e++) {
            cr_assert_eq(validator_add(v, &b.history.items[e], NULL), 0);
        }
        cr_assert(validator_is_closed(v));
        validator_free(v);
    }
}

Test(validate, a_refused_event_leaves_no_trace)
{
    autoarena struct arena *arena = arena_new();
    autovalidator struct validator *v = validator_new();
    struct err err = {0};
    struct builder b;

    begin(&b, arena);
    build_activity(&b, "1", "a", NULL);
    for (size_t i = 0; i < b.history.count; i++) {
        cr_assert_eq(validator_add(v, &b.history.items[i], &err), 0);
    }
    cr_assert_eq(validator_open_activities(v), 1);
    struct event *bad = event_new(arena, EVENT_ACTIVITY_TASK_COMPLETED);
    bad->id = 6;
    ev_activity_task_completed(bad)->scheduled_event_id = 5;
    cr_assert_eq(validator_add(v, bad, &err), -1);
    cr_assert_str_eq(err.text,
                     "event 6 ActivityTaskCompleted breaks H7: the activity of event 5 has "
                     "no STARTED event");
    cr_assert_eq(validator_open_activities(v), 1);
    build_activity_done(&b, 5, NULL);
    cr_assert_eq(validator_add(v, &b.history.items[5], &err), 0, "%s", err.text);
    cr_assert_eq(validator_add(v, &b.history.items[6], &err), 0, "%s", err.text);
    cr_assert_eq(validator_open_activities(v), 0);
    cr_assert_not(validator_task_scheduled(v));
}

Test(validate, h1_the_first_event_starts_the_run)
{
    autoarena struct arena *arena = arena_new();
    struct history none = {0};
    struct err err = {0};
    struct builder b;

    cr_assert_eq(history_validate(&none, NULL, &err), -1);
    begin(&b, arena);
    build_event(&b, EVENT_WORKFLOW_EXECUTION_STARTED);
    breaks(&b, "H1", "event 5 WorkflowExecutionStarted");
    builder_init(&b, arena, "demo");
    b.history.items[0].type = EVENT_WORKFLOW_EXECUTION_SIGNALED;
    breaks(&b, "H1", "begins with");
}

Test(validate, h2_ids_have_no_gap)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_signal(&b, "go", NULL);
    b.history.items[4].id = 6;
    breaks(&b, "H2", "expected event id 5");
    b.history.items[4].id = 4;
    breaks(&b, "H2", "expected event id 5");
}

Test(validate, h3_one_workflow_task_at_a_time)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_task_scheduled(&b);
    build_task_scheduled(&b);
    breaks(&b, "H3", "the task scheduled at event 5 is still open");
    begin(&b, arena);
    build_task_started(&b);
    breaks(&b, "H3", "expected a task that is scheduled");
    begin(&b, arena);
    build_task_scheduled(&b);
    build_task_completed(&b);
    breaks(&b, "H3", "expected a started workflow task");
}

Test(validate, h4_nothing_between_started_and_the_outcome)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_task_scheduled(&b);
    build_task_started(&b);
    build_signal(&b, "go", NULL);
    breaks(&b, "H4", "the workflow task started at event 6 must end first");
}

Test(validate, h5_commands_follow_completed)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_signal(&b, "go", NULL);
    build_timer(&b, "1", NS_PER_S);
    breaks(&b, "H5", "event 6 TimerStarted");
    begin(&b, arena);
    build_signal(&b, "go", NULL);
    build_completed(&b, NULL);
    breaks(&b, "H5", "event 6 WorkflowExecutionCompleted");
}

Test(validate, h6_back_references_name_what_is_open)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    int64_t activity = build_activity(&b, "1", "a", NULL);
    build_activity_started(&b, activity + 7, 1);
    breaks(&b, "H6", "expected an open activity, event 12 began none");
    begin(&b, arena);
    activity = build_activity(&b, "1", "a", NULL);
    build_activity_done(&b, activity, NULL);
    build_activity_started(&b, activity, 2);
    breaks(&b, "H6", "expected an open activity, event 5 began none");
    begin(&b, arena);
    activity = build_activity(&b, "1", "a", NULL);
    build_activity_done(&b, activity, NULL);
    ev_activity_task_completed(&b.history.items[6])->started_event_id = 5;
    breaks(&b, "H6", "started event id is 5, expected 6");
    begin(&b, arena);
    build_task_scheduled(&b);
    build_task_started(&b);
    ev_workflow_task_started(&b.history.items[5])->scheduled_event_id = 2;
    breaks(&b, "H6", "the task was scheduled at 5");
    begin(&b, arena);
    int64_t timer = build_timer(&b, "1", NS_PER_S);
    build_timer_fired(&b, timer);
    ev_timer_fired(&b.history.items[5])->started_event_id = 4;
    breaks(&b, "H6", "expected an open timer, event 4 began none");
}

Test(validate, h7_activities)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_activity(&b, "1", "a", NULL);
    build_activity(&b, "1", "a", NULL);
    breaks(&b, "H7", "activity id \"1\" is in use since event 5");
    begin(&b, arena);
    int64_t activity = build_activity(&b, "1", "a", NULL);
    build_activity_started(&b, activity, 1);
    build_activity_started(&b, activity, 2);
    breaks(&b, "H7", "started before, at event 6");
    begin(&b, arena);
    activity = build_activity(&b, "1", "a", NULL);
    build_activity_canceled(&b, activity);
    breaks(&b, "H7", "nobody asked to cancel the activity of event 5");
    begin(&b, arena);
    activity = build_activity(&b, "1", "a", NULL);
    build_activity_done(&b, activity, NULL);
    build_task(&b);
    build_activity(&b, "1", "a", NULL); /* the id is free again */
    good(&b);
    build_activity_cancel(&b, activity); /* of one that has ended: legal, without effect */
    good(&b);
}

Test(validate, h8_timers)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_timer(&b, "1", NS_PER_S);
    build_timer(&b, "1", NS_PER_S);
    breaks(&b, "H8", "timer id \"1\" is in use since event 5");
    begin(&b, arena);
    int64_t timer = build_timer(&b, "1", NS_PER_S);
    build_timer_fired(&b, timer);
    build_timer_fired(&b, timer);
    breaks(&b, "H6", "expected an open timer");
    begin(&b, arena);
    timer = build_timer(&b, "1", NS_PER_S);
    build_timer_fired(&b, timer);
    ev_timer_fired(&b.history.items[5])->timer_id = "7";
    warns(&b, "H8: timer id is \"7\", but event 5 started \"1\"");
}

Test(validate, h9_children)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    int64_t child = build_child(&b, "kid", "k", NULL);
    build_child_done(&b, child, NULL);
    breaks(&b, "H9", "the child workflow of event 5 has no STARTED event");
    begin(&b, arena);
    child = build_child(&b, "kid", "k", NULL);
    build_child_started(&b, child);
    struct event *event = build_event(&b, EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED);
    ev_start_child_workflow_execution_failed(event)->initiated_event_id = child;
    breaks(&b, "H9", "it was started at event 6");
}

Test(validate, h10_external_requests)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    struct event *event = build_event(&b, EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED);
    ev_signal_external_workflow_execution_initiated(event)->workflow_task_completed_event_id = 4;
    event = build_event(&b, EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    ev_external_workflow_execution_cancel_requested(event)->initiated_event_id = 5;
    breaks(&b, "H10", "event 5 is a SignalExternalWorkflowExecutionInitiated");
    b.history.count--;
    event = build_event(&b, EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED);
    ev_external_workflow_execution_signaled(event)->initiated_event_id = 5;
    good(&b);
}

Test(validate, h11_updates)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    struct event *event = build_event(&b, EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    ev_workflow_execution_update_accepted(event)->protocol_instance_id = "u";
    event = build_event(&b, EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
    ev_workflow_execution_update_completed(event)->accepted_event_id = 5;
    good(&b);
    event = build_event(&b, EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
    ev_workflow_execution_update_completed(event)->accepted_event_id = 5;
    breaks(&b, "H11", "the update was completed at event 6");
    b.history.count--;
    event = build_event(&b, EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    ev_workflow_execution_update_accepted(event)->protocol_instance_id = "u";
    breaks(&b, "H11", "update id \"u\" is in use since event 5");
}

Test(validate, h12_the_closing_event_is_the_last)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    build_completed(&b, NULL);
    build_signal(&b, "late", NULL);
    breaks(&b, "H12", "the run was closed at event 5");
}

Test(validate, h13_unknown_events_must_be_ignorable)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    struct event *event = build_event(&b, EVENT_UNKNOWN);
    breaks(&b, "H13", "the type is not known");
    event->worker_may_ignore = true;
    good(&b);
    build_task_scheduled(&b);
    build_task_started(&b);
    b.history.items[6].no_time = true;
    breaks(&b, "H13", "the time is missing");
    b.history.items[6].no_time = false;
    b.history.items[6].no_attributes = true;
    breaks(&b, "H13", "workflowTaskStartedEventAttributes is missing");
}

Test(validate, h14_back_references_to_completed_only_warn)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str warnings = {0};
    struct builder b;

    begin(&b, arena);
    for (int i = 0; i < 30; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%d", i);
        int64_t timer = build_timer(&b, id, NS_PER_S);
        ev_timer_started(&b.history.items[timer - 1])->workflow_task_completed_event_id = 3;
    }
    cr_assert_eq(history_validate(&b.history, &warnings, NULL), 1);
    cr_assert(strstr(str_c(&warnings),
                     "event 5 TimerStarted: H14: workflow task completed event id "
                     "is 3, expected 4\n"));
    cr_assert(str_ends(str_c(&warnings), "and 10 more\n"), "%s", str_c(&warnings));
}

Test(validate, a_thousand_things_may_be_open)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    begin(&b, arena);
    for (int i = 0; i < 1000; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%d", i);
        build_activity(&b, id, "a", NULL);
    }
    for (int64_t id = 1004; id >= 5; id--) {
        int64_t started = build_activity_started(&b, id, 1);
        struct event *event = build_event(&b, EVENT_ACTIVITY_TASK_COMPLETED);
        ev_activity_task_completed(event)->scheduled_event_id = id;
        ev_activity_task_completed(event)->started_event_id = started;
    }
    good(&b);
}

/* --- the collection --- */

struct verdict {
    const char *file; /* how the path ends */
    const char *rule; /* "" for a warning */
    const char *why;
};

static const struct verdict expected[] = {
    {"v_gap.json", "H2", "made with a gap; fatal for the real replayer too"},
    {"w_after_close.json", "H12",
     "an event after the close; the real replayer stops reading there"},
    {"w_noactstarted.json", "H7", "made without the STARTED event; fatal there too"},
    {"w_notime_all.json", "H13", "made without times; fatal there too"},
    {"w_unknown_not.json", "H13", "made with an unknown event; fatal there too"},
    {"workflow_with_bad_unknown_event.json", "H13", "made with an unknown event"},
    {"testUnknownHistoryEventMayNotIgnore.json", "H13", "made with an unknown event"},
    {"v_timerid.json", "", "timer ids differ; the real replayer accepts it"},
    {"w_minimal.json", "", "no workflowTaskCompletedEventId"},
    {"child-workflow-cancel-with-update.json", "", "edited; completed update without accepted id"},
    {"non_deterministic_update.json", "", "completed update without accepted id"},
    {"update_accept_and_complete_and_exit.json", "", "completed update without accepted id"},
    {"update_before_protocol_message_command.json", "", "completed update without accepted id"},
    {"update_complete_and_exit.json", "", "completed update without accepted id"},
    {"replay-tests-cancel-order-timer-resolved.json", "", "edited"},
    {"awaitTimerConditionOldBehavior.json", "", "Java test server"},
    {"get_version_after_scope_cancellation.json", "", "Java test server"},
    {"laRetriesAndFails_1_17.json", "", "Java test server"},
    {"laSuccessfulCompletion_1_17.json", "", "Java test server"},
    {"testGetHistorySize.json", "", "Java test server"},
    {"testGetVersionInterleavedUpdateReplayWaitForMarkerHistory.json", "", "Java test server"},
    {"testUnknownHistoryEventClean.json", "", "Java test server"},
    {"testUnknownHistoryEventMayIgnore.json", "", "Java test server"},
};

struct tally {
    size_t good;
    size_t warned;
    size_t refused;
};

static const struct verdict *find_verdict(const char *line)
{
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        if (str_eq(fs_basename(line), expected[i].file)) {
            return &expected[i];
        }
    }
    return NULL;
}

static void judge(const char *dir, char *line, void *user)
{
    struct tally *tally = user;
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    autostr struct str warnings = {0};
    struct history history = {0};
    struct err err = {0};
    char *tab = strchr(line, '\t');

    if (tab) {
        *tab = '\0';
    }
    if (!str_ends(line, ".json") || str_ends(line, "migration_back_forth.json")) {
        return;
    }
    read_text(dir, line, &text);
    cr_assert_eq(history_from_json(arena, text.ptr, text.len, &history, &err), 0, "%s", err.text);
    int rc = history_validate(&history, &warnings, &err);
    const struct verdict *verdict = find_verdict(line);
    if (!verdict) {
        cr_assert_eq(rc, 0, "%s: %s%s", line, err.text, str_c(&warnings));
        tally->good++;
    } else if (verdict->rule[0]) {
        cr_assert_eq(rc, -1, "%s (%s)", line, verdict->why);
        cr_assert(strstr(err.text, verdict->rule), "%s: %s", line, err.text);
        tally->refused++;
    } else {
        cr_assert_eq(rc, 1, "%s (%s): %s", line, verdict->why, err.text);
        tally->warned++;
    }
}

Test(validate, verdicts_over_recorded_histories, .timeout = 120)
{
    autofree char *dir = collection_dir();
    autofree char *fixtures = fs_join(dir, "composed/fixtures");
    struct tally tally = {0};

    if (!fs_is_dir(dir)) {
        cr_skip_test("skip: set FACTORY_HISTORIES to a collection of recorded histories");
    }
    each_listed(dir, "INDEX.tsv", judge, &tally);
    each_listed(fixtures, "../verdicts.tsv", judge, &tally);
    cr_assert_eq(tally.refused, 7);
    cr_assert_eq(tally.warned, 16);
    cr_assert_eq(tally.good, 136 + 55 - 7 - 16);
}
