/*
 * journal_fixture.h - a store in a directory of its own, and rows to put into it.
 *
 * Owns: the scratch directory below $TMPDIR, made by scratch_make() and removed by scratch_remove()
 * (Criterion's init and fini). For unit tests only; one test process, one scratch.
 */
#ifndef TESTS_JOURNAL_FIXTURE_H
#define TESTS_JOURNAL_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "journal/activity.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "base/embedded_sql.h"
#include "journal/store.h"
#include "journal/task.h"
#include "journal/timer.h"

extern const struct embedded_sql engine_migrations[];

static char *scratch_dir;
static char *scratch_db; /* DIR/run.db */

is_unused static void scratch_make(void)
{
    const char *tmp = getenv("TMPDIR");
    scratch_dir = mem_printf("%s/journal-XXXXXX", tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(scratch_dir));
    scratch_db = mem_printf("%s/run.db", scratch_dir);
}

is_unused static void scratch_remove(void)
{
    fs_remove_tree(scratch_dir, NULL);
    free(scratch_db);
    free(scratch_dir);
}

/* No disk reserve: most tests do not want 16 MiB each. */
is_unused static struct store *open_store(void)
{
    struct store *store = NULL;
    struct err err = {0};
    int rc = store_open(scratch_db, &(struct store_options){.reserve_bytes = -1}, &store, &err);
    cr_assert_eq(rc, 0, "%s", err.text);
    return store;
}

is_unused static void commit(struct txn *txn)
{
    struct err err = {0};
    cr_assert_eq(txn_commit(txn, &err), 0, "%s: %s", err.name, err.text);
}

is_unused static void check_store(struct store *store)
{
    struct err err = {0};
    cr_assert_eq(store_check(store, &err), 0, "%s", err.text);
}

/* A running execution with no event; number makes its ids unique. */
is_unused static int64_t put_run(struct txn *txn, int number)
{
    char id[32];
    char run_id[64];
    snprintf(id, sizeof(id), "order-%d", number);
    snprintf(run_id, sizeof(run_id), "run-%d", number);
    return execution_insert(txn, &(struct execution_row){.workflow_id = id,
                                                         .run_id = run_id,
                                                         .type = "Order",
                                                         .task_queue = "default",
                                                         .status = EXECUTION_RUNNING,
                                                         .next_event_id = 1,
                                                         .started_ns = 1000 + number});
}

is_unused static int64_t new_run(struct store *store, int number)
{
    struct txn *txn = txn_begin(store);
    int64_t id = put_run(txn, number);
    commit(txn);
    return id;
}

/* Appends count small events behind the head that the caller knows, and moves the head. */
is_unused static void put_events(struct txn *txn, int64_t id, int64_t first, int count)
{
    for (int i = 0; i < count; i++) {
        struct event_row row = {.event_id = first + i,
                                .type = 26,
                                .time_ns = 5000 + first + i,
                                .attributes = "{\"n\":1}",
                                .attributes_len = 7};
        event_append(txn, id, &row, 1, 7 * (first + i));
    }
}

is_unused static struct activity_row some_activity(int64_t execution, int64_t event_id)
{
    return (struct activity_row){.execution = execution,
                                 .scheduled_event_id = event_id,
                                 .activity_id = "1",
                                 .type = "Charge",
                                 .task_queue = "default",
                                 .attempt = 1,
                                 .state = ACTIVITY_SCHEDULED,
                                 .scheduled_ns = 10};
}

/* Steps of the engine's own schema. */
static inline int engine_steps(void)
{
    int n = 0;
    while (engine_migrations[n].name) {
        n++;
    }
    return n;
}

#endif
