/*
 * test_worker_due.c - the engine's deadlines in memory: what nobody waits for any more goes.
 * The host is made by hand: one store, one run in memory, one evicted, one closed.
 */
#include "base/clock.h"
#include "tests/lib/journal_fixture.h"
#include "worker/host.h"

#define MANY 5000 /* more than are ever left alone */

TestSuite(due, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static int64_t make_run(struct store *store, const char *id, enum execution_status status)
{
    int64_t closed_ns = status == EXECUTION_RUNNING ? 0 : 2;
    struct txn *txn = txn_begin(store);
    int64_t execution = execution_insert(txn, &(struct execution_row){.workflow_id = id,
                                                                      .run_id = id,
                                                                      .type = "t",
                                                                      .task_queue = "default",
                                                                      .status = status,
                                                                      .next_event_id = 1,
                                                                      .started_ns = 1,
                                                                      .closed_ns = closed_ns});
    commit(txn);
    return execution;
}

static void push(struct host *host, enum due_kind kind, int64_t execution, int64_t event,
                 int64_t stamp)
{
    heap_push(&host->wall, &(struct due){.at_ns = 1000 - event,
                                         .kind = kind,
                                         .execution = execution,
                                         .event = event,
                                         .stamp = stamp});
}

Test(due, stale_entries_go_and_the_others_stay)
{
    struct store *store = open_store();
    struct host *host = mem_alloc(sizeof(*host));
    struct open_timer timer = {.started_id = 7};
    struct pending waiting = {.scheduled_id = 9, .attempt = 2, .state = ACTIVITY_SCHEDULED};
    struct live live = {.timers = &timer, .pending = &waiting};
    host->store = store;
    host->arena = arena_new();
    live.id = make_run(store, "here", EXECUTION_RUNNING);
    int64_t evicted = make_run(store, "evicted", EXECUTION_RUNNING);
    int64_t closed = make_run(store, "closed", EXECUTION_COMPLETED);
    for (size_t i = 0; i < HOST_LIVE_BUCKETS; i++) {
        host->buckets[i] = &live; /* wherever its id hashes to */
    }
    for (int i = 0; i < MANY; i++) {
        push(host, DUE_TIMER, live.id, 100 + i, 0); /* cancelled ones */
    }
    push(host, DUE_TIMER, live.id, 7, 0);
    push(host, DUE_RUN_TIMEOUT, live.id, 0, 0);
    push(host, DUE_CLOSE_TIMEOUT, live.id, 9, 1);
    push(host, DUE_CLOSE_TIMEOUT, live.id, 8, 1); /* over */
    push(host, DUE_START_TIMEOUT, live.id, 9, 2);
    push(host, DUE_START_TIMEOUT, live.id, 9, 1); /* of the attempt before */
    push(host, DUE_RETRY, live.id, 9, 1);         /* likewise */
    push(host, DUE_TIMER, evicted, 3, 0);         /* who knows */
    push(host, DUE_RUN_TIMEOUT, closed, 0, 0);
    due_compact(host);
    cr_assert_eq(host->wall.count, 5);
    struct due due;
    int64_t last = 0;
    while (heap_pop_due(&host->wall, INT64_MAX, &due)) {
        cr_assert_geq(due.at_ns, last);
        last = due.at_ns;
    }
    for (int i = 0; i < 100; i++) {
        push(host, DUE_TIMER, live.id, 100 + i, 0);
    }
    due_compact(host); /* too few to be worth it */
    cr_assert_eq(host->wall.count, 100);
    heap_free(&host->wall);
    arena_free(host->arena);
    free(host);
    store_close(store);
}
