/*
 * recover.c - taking over a store from a dead engine (host.h).
 *
 * Owns: the new epoch, the check of keys, and the deadlines rebuilt from the journal. Reads pending
 * rows only, never whole histories: runs are loaded when something falls due. Attempts of dead
 * epochs become deadlines that are due now, so they are failed over by the ordinary turns, a
 * bounded number each.
 * Invariant: recovering twice changes nothing more than the epoch.
 * Tests: tests/unit/test_engine_run.c, tests/unit/test_engine_keyring.c,
 * tests/crash/test_crash_engine.c
 */
#include <unistd.h>

#include "base/clock.h"
#include "journal/clock.h"
#include "journal/epoch.h"
#include "journal/sealed.h"
#include "journal/timer.h"
#include "worker/host.h"

#define PAGE_ROWS 1000

static void plan_activity(struct host *host, const struct activity_row *row)
{
    struct due due = {.kind = DUE_RETRY,
                      .execution = row->execution,
                      .event = row->scheduled_event_id,
                      .stamp = row->attempt};
    due.at_ns = row->state == ACTIVITY_BACKOFF ? row->next_attempt_ns : 0;
    if (!row->is_async) { /* those are nobody's loss */
        heap_push(&host->wall, &due);
    }
    if (row->deadline_ns > 0) {
        due.kind = DUE_CLOSE_TIMEOUT;
        due.at_ns = row->deadline_ns;
        heap_push(&host->wall, &due);
    }
}

static int plan_activities(struct host *host, struct err *err)
{
    struct activity_list rows;
    int64_t execution = 0, event = 0;
    do {
        arena_reset(host->arena);
        if (activity_list_all(store_db(host->store), host->arena, execution, event, PAGE_ROWS,
                              &rows, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < rows.count; i++) {
            plan_activity(host, &rows.rows[i]);
            execution = rows.rows[i].execution;
            event = rows.rows[i].scheduled_event_id;
        }
    } while (rows.count > 0);
    return 0;
}

static int plan_timers(struct host *host, struct err *err)
{
    struct timer_list timers;
    struct execution_list runs, delayed;
    arena_reset(host->arena);
    if (timer_list_due(store_db(host->store), host->arena, INT64_MAX, 0, &timers, err) < 0 ||
        execution_list_due(store_db(host->store), host->arena, INT64_MAX, 0, &runs, err) < 0 ||
        execution_list_delayed(store_db(host->store), host->arena, &delayed, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < delayed.count; i++) {
        heap_push(&host->wall, &(struct due){.at_ns = delayed.rows[i].first_task_ns,
                                             .kind = DUE_FIRST_TASK,
                                             .execution = delayed.rows[i].id});
    }
    for (size_t i = 0; i < timers.count; i++) {
        heap_push(&host->wall, &(struct due){.at_ns = timers.rows[i].due_ns,
                                             .kind = DUE_TIMER,
                                             .execution = timers.rows[i].execution,
                                             .event = timers.rows[i].started_event_id});
    }
    for (size_t i = 0; i < runs.count; i++) {
        heap_push(&host->wall, &(struct due){.at_ns = runs.rows[i].run_deadline_ns,
                                             .kind = DUE_RUN_TIMEOUT,
                                             .execution = runs.rows[i].id});
    }
    return 0;
}

/* Whatever was sealed in this store can be opened here, or no run of it would be safe. Within a
 * write transaction and behind the ownership lock: who enters a key looks for that lock in one. */
static void check_keys(struct host *host, struct txn *txn)
{
    struct sealing_key_list list;
    struct err err = {0};
    const char *opened;
    autoarena struct arena *arena = arena_new();
    int rc = sealing_key_list(txn_db(txn), arena, &list, &err);
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        rc = sealed_open(host_sealer(host), arena, list.rows[i].proof, &opened, &err);
    }
    if (rc < 0) {
        err_wrap(&err, "payloads of %s", host->path);
        txn_fail(txn, &err);
    }
}

int recover_store(struct host *host, struct err *err)
{
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    heap_free(&host->wall); /* of a try that failed */
    struct txn *txn = txn_begin(host->store);
    struct clock_reading now = clock_read_of(host->clock);
    check_keys(host, txn);
    clock_settle(txn, &now);
    admit_begin(host, txn);
    host->epoch = epoch_bump(txn, (int64_t)getpid(), name, now.wall_ns);
    if (txn_commit(txn, err) < 0) {
        return -1;
    }
    jump_begin(host, &now);
    host->look = host->first_look = true;
    return plan_activities(host, err) < 0 ? -1 : plan_timers(host, err);
}
