/*
 * purge.c - see purge.h. Tests: tests/unit/test_journal_purge.c, tests/unit/test_engine_purge.c
 *
 * The index on closed_ns gives the oldest; how many are closed is known without counting
 * (execution_count). So a slice costs what it removes.
 */
#include "journal/purge.h"

#include "base/clock.h"
#include "journal/db.h"
#include "journal/execution.h"

#define MAY_GO                                                                                     \
    "closed_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM task WHERE execution = execution.id)"

struct candidate {
    int64_t id, closed_ns;
    struct purge_count size;
};

/* How many closed runs are one too many. */
static int count_excess(struct db *db, const struct purge_policy *policy, int64_t *ret,
                        struct err *err)
{
    int64_t counts[EXECUTION_STATUS_COUNT];
    *ret = 0;
    if (policy->keep_runs < 0) {
        return 0;
    }
    int rc = execution_counts(db, counts, err);
    int64_t closed = counts[0] - counts[EXECUTION_RUNNING];
    *ret = rc == 0 && closed > policy->keep_runs ? closed - policy->keep_runs : 0;
    return rc;
}

/* 1: there is none. */
static int find_oldest(struct db *db, struct candidate *ret, struct err *err)
{
    static const char SQL[] = "SELECT id, closed_ns, next_event_id - 1, history_bytes "
                              "FROM execution WHERE " MAY_GO " ORDER BY closed_ns, id LIMIT 1";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc <= 0) {
        return rc < 0 ? -1 : 1;
    }
    *ret = (struct candidate){row_i64(&q, 0), row_i64(&q, 1), {1, row_i64(&q, 2), row_i64(&q, 3)}};
    return 0;
}

int purge_slice(struct txn *txn, const struct purge_policy *policy, int runs, int64_t until_ns,
                struct purge_count *ret)
{
    struct candidate oldest;
    struct err err = {0};
    int64_t excess;
    if (count_excess(txn_db(txn), policy, &excess, &err) < 0) {
        return -1;
    }
    for (int gone = 0;; gone++) {
        int rc = find_oldest(txn_db(txn), &oldest, &err);
        if (rc != 0) {
            return rc < 0 ? -1 : 0;
        }
        if (oldest.closed_ns >= policy->closed_before_ns && excess <= gone) {
            return 0;
        }
        if (gone == runs || (gone > 0 && clock_mono_ns() >= until_ns)) {
            return 1;
        }
        if (!execution_delete(txn, oldest.id)) {
            return txn_failed(txn) ? -1 : 0;
        }
        ret->runs += oldest.size.runs;
        ret->events += oldest.size.events;
        ret->history_bytes += oldest.size.history_bytes;
    }
}

int purge_preview(struct db *db, const struct purge_policy *policy, struct purge_count *ret,
                  struct err *err)
{
    static const char SQL[] =
        "SELECT count(*), sum(events), sum(bytes) FROM (SELECT closed_ns, next_event_id - 1 AS "
        "events, history_bytes AS bytes, row_number() OVER (ORDER BY closed_ns, id) AS place "
        "FROM execution WHERE " MAY_GO ") WHERE closed_ns < ?1 OR place <= ?2";
    int64_t excess;
    *ret = (struct purge_count){0};
    if (count_excess(db, policy, &excess, err) < 0) {
        return -1;
    }
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, policy->closed_before_ns);
    bind_i64(q.stmt, 2, excess);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret = (struct purge_count){row_i64(&q, 0), row_i64(&q, 1), row_i64(&q, 2)};
    }
    return rc < 0 ? -1 : 0;
}

int purge_oldest(struct db *db, int64_t *ret_closed_ns, struct err *err)
{
    struct candidate oldest = {0};
    int rc = find_oldest(db, &oldest, err);
    *ret_closed_ns = oldest.closed_ns;
    return rc;
}
