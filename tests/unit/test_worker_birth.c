/*
 * test_worker_birth.c - what a run is born with: Temporal's defaults and caps, signals that come
 * along, a delayed first task, and a history that validates.
 */
#include "worker/birth.h"

#include "base/clock.h"
#include "history/store.h"
#include "history/validate.h"
#include "journal/signal_request.h"
#include "tests/lib/journal_fixture.h"

#define NOW_NS (1767322245 * NS_PER_S)

TestSuite(worker_birth, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

/* Its history, decoded and valid. */
static struct history read_back(struct store *store, struct arena *arena,
                                const struct execution_row *row)
{
    struct err err = {0};
    struct event_list rows;
    struct history history = {0};
    struct store_context codec;
    autostr struct str warnings = {0};
    cr_assert_eq(event_read(store_db(store), arena, row->id, 1, 0, &rows, &err), 0, "%s", err.text);
    store_context_init(&codec, NULL, row->task_queue, NULL, row->workflow_id, row->run_id);
    for (size_t i = 0; i < rows.count; i++) {
        const struct event_row *r = &rows.rows[i];
        history_append(&history, arena, (enum event_type)r->type);
        cr_assert_eq(store_decode(&codec, arena, r->event_id, r->type, r->time_ns, r->attributes,
                                  r->attributes_len, &history.items[i], &err),
                     0, "%s", err.text);
    }
    cr_assert_eq(history_validate(&history, &warnings, &err), 0, "%s", err.text);
    cr_assert_eq(warnings.len, 0, "%s", str_c(&warnings));
    return history;
}

static struct history bear(struct store *store, struct arena *arena, const struct birth *birth,
                           struct execution_row *row)
{
    struct txn *txn = txn_begin(store);
    cr_assert_eq(birth_write(txn, arena, birth, NOW_NS, row), 0);
    commit(txn);
    return read_back(store, arena, row);
}

Test(worker_birth, a_plain_run_has_the_server_s_defaults)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row, again;
    struct task_list marks;
    struct history h = bear(store, arena, &(struct birth){.workflow_id = "w", .type = "t"}, &row);
    const struct ev_workflow_execution_started *s = ev_workflow_execution_started(&h.items[0]);
    cr_assert_eq(h.count, 2);
    cr_assert_eq(h.items[1].type, EVENT_WORKFLOW_TASK_SCHEDULED);
    cr_assert_eq(ev_workflow_task_scheduled(&h.items[1])->start_to_close_timeout, 10 * NS_PER_S);
    cr_assert_str_eq(s->workflow_type, "t");
    cr_assert_str_eq(s->task_queue->name, "default");
    cr_assert_str_eq(s->original_execution_run_id, row.run_id);
    cr_assert_str_eq(s->first_execution_run_id, row.run_id);
    cr_assert_eq(s->attempt, 1);
    cr_assert_null(s->retry_policy);
    cr_assert_eq(execution_get(store_db(store), arena, row.id, &again, NULL), 0);
    cr_assert_eq(again.next_event_id, 3);
    cr_assert_eq(again.history_bytes, row.history_bytes);
    cr_assert_eq(again.task_timeout_ns, 10 * NS_PER_S);
    cr_assert_eq(task_list(store_db(store), arena, 0, &marks, NULL), 0);
    cr_assert_eq(marks.count, 1);
    cr_assert_eq(marks.rows[0].kind, TASK_START);
}

Test(worker_birth, a_second_open_run_of_an_id_fails_the_transaction)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct birth birth = {.workflow_id = "w", .type = "t"};
    bear(store, arena, &birth, &row);
    struct txn *txn = txn_begin(store);
    cr_assert_lt(birth_write(txn, arena, &birth, NOW_NS, &row), 0);
    cr_assert_str_eq(txn_error(txn)->name, "RunExists");
    txn_rollback(txn);
}

Test(worker_birth, times_out_as_asked_and_capped)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct birth birth = {.workflow_id = "w",
                          .type = "t",
                          .execution_timeout_ns = 60 * NS_PER_S,
                          .run_timeout_ns = 90 * NS_PER_S,
                          .task_timeout_ns = 300 * NS_PER_S,
                          .first_task_backoff_ns = 5 * NS_PER_S};
    struct history h = bear(store, arena, &birth, &row);
    const struct ev_workflow_execution_started *s = ev_workflow_execution_started(&h.items[0]);
    cr_assert_eq(h.count, 1, "the first task is delayed");
    cr_assert_eq(s->workflow_run_timeout, 60 * NS_PER_S);
    cr_assert_eq(s->workflow_task_timeout, 60 * NS_PER_S);
    cr_assert_eq(s->first_workflow_task_backoff, 5 * NS_PER_S);
    cr_assert_eq(s->workflow_execution_expiration_time, NOW_NS + 65 * NS_PER_S);
    cr_assert_eq(row.first_task_ns, NOW_NS + 5 * NS_PER_S);
    cr_assert_eq(row.run_deadline_ns, NOW_NS + 65 * NS_PER_S);
    cr_assert_eq(birth_task_timeout_ns(0, 0), 10 * NS_PER_S);
    cr_assert_eq(birth_task_timeout_ns(300 * NS_PER_S, 0), 120 * NS_PER_S);
    cr_assert_eq(birth_task_timeout_ns(0, 3 * NS_PER_S), 3 * NS_PER_S);
}

Test(worker_birth, a_successor_keeps_the_chain_s_expiry)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct retry_policy policy = {.maximum_attempts = 4};
    struct birth birth = {.workflow_id = "w",
                          .run_id = "0b5d",
                          .type = "t",
                          .execution_timeout_ns = 60 * NS_PER_S,
                          .expires_ns = NOW_NS + 10 * NS_PER_S,
                          .retry = &policy,
                          .attempt = 3,
                          .initiator = CONTINUE_AS_NEW_INITIATOR_RETRY,
                          .continued_run_id = "before",
                          .first_run_id = "first"};
    struct history h = bear(store, arena, &birth, &row);
    const struct ev_workflow_execution_started *s = ev_workflow_execution_started(&h.items[0]);
    cr_assert_str_eq(row.run_id, "0b5d");
    cr_assert_eq(row.run_deadline_ns, NOW_NS + 10 * NS_PER_S);
    cr_assert_eq(row.attempt, 3);
    cr_assert_str_eq(row.first_run_id, "first");
    cr_assert_str_eq(s->first_execution_run_id, "first");
    cr_assert_str_eq(s->original_execution_run_id, "0b5d");
    cr_assert_str_eq(s->continued_execution_run_id, "before");
    cr_assert_eq(s->initiator, CONTINUE_AS_NEW_INITIATOR_RETRY);
    cr_assert_eq(s->retry_policy->initial_interval, NS_PER_S);
    cr_assert_eq(s->retry_policy->maximum_interval, 100 * NS_PER_S);
    cr_assert_float_eq(s->retry_policy->backoff_coefficient, 2.0, 1e-9);
    cr_assert_eq(s->retry_policy->maximum_attempts, 4);
}

Test(worker_birth, signals_come_along_and_count_as_seen)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct event *one = event_new(arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    struct event *two = event_new(arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    ev_workflow_execution_signaled(one)->signal_name = "go";
    ev_workflow_execution_signaled(one)->request_id = "r1";
    ev_workflow_execution_signaled(two)->signal_name = "stop";
    two->time_ns = NOW_NS - 5;
    const struct event *const signals[] = {one, two};
    struct birth birth = {.workflow_id = "w", .type = "t", .signals = signals, .signal_count = 2};
    struct history h = bear(store, arena, &birth, &row);
    cr_assert_eq(h.count, 4);
    cr_assert_str_eq(ev_workflow_execution_signaled(&h.items[1])->signal_name, "go");
    cr_assert_eq(h.items[1].time_ns, NOW_NS);
    cr_assert_str_eq(ev_workflow_execution_signaled(&h.items[2])->signal_name, "stop");
    cr_assert_eq(h.items[2].time_ns, NOW_NS - 5);
    cr_assert_eq(h.items[3].type, EVENT_WORKFLOW_TASK_SCHEDULED);
    struct txn *txn = txn_begin(store);
    cr_assert_not(signal_request_put(txn, row.id, "r1"));
    cr_assert(signal_request_put(txn, row.id, "r2"));
    commit(txn);
}

Test(worker_birth, a_child_names_its_parent)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct birth birth = {.workflow_id = "w",
                          .type = "t",
                          .parent = 7,
                          .parent_namespace = "default",
                          .parent_workflow_id = "p",
                          .parent_run_id = "pr",
                          .parent_event_id = 5,
                          .root_workflow_id = "p",
                          .root_run_id = "pr",
                          .priority = 2};
    struct history h = bear(store, arena, &birth, &row);
    const struct ev_workflow_execution_started *s = ev_workflow_execution_started(&h.items[0]);
    cr_assert_str_eq(s->parent_workflow_execution->workflow_id, "p");
    cr_assert_str_eq(s->parent_workflow_execution->run_id, "pr");
    cr_assert_eq(s->parent_initiated_event_id, 5);
    cr_assert_str_eq(s->root_workflow_execution->run_id, "pr");
    cr_assert_eq(s->priority->priority_key, 2);
    cr_assert_eq(row.parent, 7);
    cr_assert_eq(row.parent_event_id, 5);
}
