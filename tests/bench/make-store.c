/*
 * make-store.c - a store with as many closed runs as one likes, for benchmarks of large ones.
 *
 * Usage: make-store STORE RUNS EVENTS      the store exists, and has a closed run to take after
 * Owns: RUNS copies of that run's row, each with a history of EVENTS events in batches of five, as
 * sequential activities leave them, through the journal's own writers, in large transactions and
 * without syncing (the store is a benchmark's). Ids: bulk-000000 ..., a second apart.
 * Prints "figure" lines: how long it took, and how large the file is.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "journal/store.h"

#define RUNS_A_COMMIT 5000
#define BATCH_EVENTS 5

static const char *const attributes[BATCH_EVENTS] = {
    "{\"scheduledEventId\":\"11\",\"startedEventId\":\"12\",\"result\":\"" /* 100 bytes */
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
    "{\"attempt\":1}", NULL,
    "{\"activityId\":\"12\",\"activityType\":\"RunGate\",\"taskQueue\":\"gate\",\"input\":\""
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
    NULL};
static const int types[BATCH_EVENTS] = {12, 5, 6, 10, 11};

static void fail(const struct err *err)
{
    fprintf(stderr, "make-store: %s\n", err->text);
    exit(1);
}

static void put_history(struct txn *txn, int64_t id, int64_t events, int64_t at_ns)
{
    int64_t bytes = 0;
    for (int64_t first = 1; first <= events; first += BATCH_EVENTS) {
        struct event_row rows[BATCH_EVENTS];
        size_t count = 0;
        for (; count < BATCH_EVENTS && first + (int64_t)count <= events; count++) {
            const char *text = attributes[count];
            size_t len = text ? strlen(text) : 0;
            rows[count] = (struct event_row){.event_id = first + (int64_t)count,
                                             .type = types[count],
                                             .time_ns = at_ns,
                                             .attributes = text,
                                             .attributes_len = len};
            bytes += (int64_t)len + EVENT_ROW_BYTES;
        }
        event_append(txn, id, rows, count, bytes);
    }
}

static void put_run(struct txn *txn, struct execution_row *row, int64_t number, int64_t events,
                    int64_t at_ns)
{
    char id[80], run_id[UUID_TEXT_BYTES];
    snprintf(id, sizeof(id), "factory-run-bulk-%07lld", (long long)number);
    rng_uuid(run_id);
    row->workflow_id = id;
    row->run_id = run_id;
    row->started_ns = at_ns;
    row->status = EXECUTION_RUNNING;
    int64_t execution = execution_insert(txn, row);
    put_history(txn, execution, events, at_ns);
    execution_close(txn, execution, number % 10 ? EXECUTION_COMPLETED : EXECUTION_FAILED,
                    at_ns + NS_PER_S, row->result, NULL);
}

/* The newest closed run that is there. */
static struct execution_row pattern_of(struct store *store, struct arena *arena)
{
    struct err err = {0};
    struct execution_list list;
    if (execution_list(store_db(store), arena, EXECUTION_COMPLETED, 0, 1, &list, &err) < 0) {
        fail(&err);
    }
    if (list.count == 0) {
        fprintf(stderr, "make-store: the store has no completed run to take after\n");
        exit(1);
    }
    struct execution_row row = list.rows[0];
    row.request_id = row.first_run_id = row.next_run_id = NULL;
    row.closed_ns = 0;
    row.next_event_id = 1;
    return row;
}

int main(int argc, char **argv)
{
    struct store *store;
    struct store_facts facts;
    struct err err = {0};
    int64_t runs = argc == 4 ? strtoll(argv[2], NULL, 10) : 0;
    int64_t events = argc == 4 ? strtoll(argv[3], NULL, 10) : 0;
    if (runs < 1 || events < 1) {
        fprintf(stderr, "usage: make-store STORE RUNS EVENTS\n");
        return 2;
    }
    autoarena struct arena *arena = arena_new();
    int64_t since = clock_mono_ns();
    struct store_options options = {.reserve_bytes = -1, .min_free_bytes = -1};
    if (store_open(argv[1], &options, &store, &err) < 0) {
        fail(&err);
    }
    struct execution_row row = pattern_of(store, arena);
    int64_t begin_ns = clock_wall_ns() - runs * NS_PER_S;
    for (int64_t number = 0; number < runs;) {
        struct txn *txn = txn_begin(store);
        for (int i = 0; i < RUNS_A_COMMIT && number < runs; i++, number++) {
            put_run(txn, &row, number, events, begin_ns + number * NS_PER_S);
        }
        if (txn_commit(txn, &err) < 0) {
            fail(&err);
        }
    }
    if (store_facts(store, &facts, &err) < 0) {
        fail(&err);
    }
    printf("figure store_runs %lld runs\n", (long long)runs);
    printf("figure store_events %lld events\n", (long long)(runs * events));
    printf("figure store_mib %lld MiB\n", (long long)(facts.db_bytes >> 20));
    printf("figure store_made_s %.1f s\n", (double)(clock_mono_ns() - since) / 1e9);
    store_close(store);
    return 0;
}
