/*
 * test_journal_views.c - the SQL views, asked with the plain sqlite3 shell while a writer is at
 * work. docs/schema.md promises these names and columns.
 */
#include "../lib/journal_fixture.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"

TestSuite(journal_views, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

#define SHELL_OR_SKIP()                                                                            \
    do {                                                                                           \
        if (!proc_in_path("sqlite3", NULL)) {                                                      \
            cr_skip_test("skip: install sqlite3");                                                 \
        }                                                                                          \
    } while (0)

/* Output of `sqlite3 FILE SQL`; the caller frees. */
static char *shell(const char *sql)
{
    const char *argv[] = {"sqlite3", "-readonly", scratch_db, sql, NULL};
    autoproc struct proc_result result = {0};
    struct err err = {0};
    int rc = proc_run(&(struct proc_spec){.argv = argv}, NULL, 0, 1 << 20, 60000, &result, &err);
    cr_assert_eq(rc, 0, "%s", err.text);
    cr_assert_eq(result.exit_code, 0, "%s: %s", sql, str_c(&result.err));
    return str_take(&result.out);
}

static void expect(const char *sql, const char *output)
{
    autofree char *got = shell(sql);
    cr_assert_str_eq(got, output, "%s printed %s", sql, got);
}

static int64_t put_sample(struct store *store)
{
    struct txn *txn = txn_begin(store);
    int64_t id = execution_insert(txn, &(struct execution_row){.workflow_id = "order-42",
                                                               .run_id = "r-1",
                                                               .type = "Order",
                                                               .task_queue = "default",
                                                               .status = EXECUTION_RUNNING,
                                                               .next_event_id = 1,
                                                               .started_ns = 1796000000123000000,
                                                               .memo = "{\"customer\":\"c\"}"});
    struct event_row row = {.event_id = 1,
                            .type = 1,
                            .time_ns = 1796000000123000000,
                            .attributes = "{\"x\":1}",
                            .attributes_len = 7};
    event_append(txn, id, &row, 1, 7);
    struct activity_row activity = some_activity(id, 5);
    activity.last_failure = "{\"message\":\"bank is down\",\"cause\":null}";
    activity_insert(txn, &activity);
    activity_start(txn, id, 5, 3, 1796000001000000000, 0, 1);
    timer_insert(txn, &(struct timer_row){id, 6, "t-1", 1796000060000000000});
    commit(txn);
    return id;
}

Test(journal_views, the_shell_shows_runs_events_activities_and_timers)
{
    SHELL_OR_SKIP();
    autostore struct store *store = open_store();
    put_sample(store);
    expect("SELECT workflow_id, run_id, type, task_queue, status, started, closed, events, "
           "history_bytes, pending_activities, memo FROM runs",
           "order-42|r-1|Order|default|Running|2026-11-30T00:53:20.123Z||1|7|1|"
           "{\"customer\":\"c\"}\n");
    expect("SELECT workflow_id, event_id, type, time, attributes, blob FROM events",
           "order-42|1|WorkflowExecutionStarted|2026-11-30T00:53:20.123Z|{\"x\":1}|\n");
    expect("SELECT workflow_id, activity_id, type, task_queue, state, attempt, started, "
           "last_error, cancel_requested FROM activities",
           "order-42|1|Charge|default|Started|3|2026-11-30T00:53:21.000Z|bank is down|0\n");
    expect("SELECT workflow_id, timer_id, due FROM timers",
           "order-42|t-1|2026-11-30T00:54:20.000Z\n");
}

Test(journal_views, their_columns_are_a_promise)
{
    SHELL_OR_SKIP();
    autostore struct store *store = open_store();
    expect("SELECT group_concat(name) FROM pragma_table_info('runs')",
           "id,workflow_id,run_id,type,task_queue,status,started,closed,events,history_bytes,"
           "pending_activities,memo,result,failure,parked,paused,attempt,first_run_id,"
           "next_run_id,parent_workflow_id,search_attributes,begins\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('events')",
           "workflow_id,run_id,event_id,type,time,attributes,blob,blob_size\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('activities')",
           "workflow_id,run_id,scheduled_event_id,activity_id,type,task_queue,state,attempt,"
           "scheduled,started,next_attempt,last_heartbeat,heartbeat_details,last_failure,"
           "last_error,cancel_requested,priority,concurrency_key\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('queues')",
           "name,slots,rate_per_s,burst,per_key,waiting,running,backoff,async\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('children')",
           "workflow_id,run_id,initiated_event_id,child_workflow_id,child_run_id,type,status,"
           "started,closed,close_policy\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('timers')",
           "workflow_id,run_id,started_event_id,timer_id,due\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('updates')",
           "workflow_id,run_id,update_id,name,state,accepted_event_id,created,input,result,"
           "failure\n");
    expect("SELECT group_concat(name) FROM pragma_table_info('search_attributes')",
           "workflow_id,run_id,name,value\n");
    expect("SELECT count(*) FROM event_type", "60\n");
    expect("SELECT name FROM event_type WHERE id = 12", "ActivityTaskCompleted\n");
}

Test(journal_views, odd_content_does_not_break_a_view)
{
    SHELL_OR_SKIP();
    autostore struct store *store = open_store();
    int64_t id = put_sample(store);
    struct event_row odd = {
        .event_id = 2, .type = 777, .time_ns = -1, .attributes = NULL, .attributes_len = 0};
    struct txn *txn = txn_begin(store);
    event_append(txn, id, &odd, 1, 23);
    activity_backoff(txn, id, 5, 4, 1796000002000000000, 0, "not JSON at all");
    commit(txn);
    expect("SELECT type FROM events WHERE event_id = 2", "Type777\n");
    expect("SELECT state, last_error FROM activities", "Backoff|not JSON at all\n");
}

Test(journal_views, the_shell_reads_while_a_writer_writes)
{
    SHELL_OR_SKIP();
    store_close(open_store());
    pid_t writer = fork();
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct store *store = open_store();
        for (int i = 0;; i++) {
            int64_t id = new_run(store, i);
            struct txn *txn = txn_begin(store);
            put_events(txn, id, 1, 5);
            commit(txn);
        }
    }
    for (int i = 0; i < 10; i++) {
        autofree char *half = shell("SELECT count(*) FROM runs AS r WHERE events <> 0 AND events "
                                    "<> (SELECT count(*) FROM events AS e WHERE e.run_id = "
                                    "r.run_id)");
        cr_assert_str_eq(half, "0\n");
    }
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    autostore struct store *store = open_store();
    check_store(store);
}
