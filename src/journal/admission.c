/*
 * admission.c - see admission.h. Table task_queue. Tests: tests/unit/test_journal_admission.c
 */
#include "journal/admission.h"

#include <stdlib.h>

#include "base/clock.h"
#include "journal/db.h"

void queue_put(struct txn *txn, const struct queue_row *row, int64_t now_ns)
{
    static const char SQL[] =
        "INSERT INTO task_queue (name, slots, rate_per_s, burst, per_key, tokens, refilled_ns) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?6) ON CONFLICT DO UPDATE SET slots = ?2, "
        "rate_per_s = ?3, burst = ?4, per_key = ?5, tokens = min(tokens, ?4)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, row->name);
    bind_i64(stmt, 2, row->slots);
    sqlite3_bind_double(stmt, 3, row->rate_per_s);
    bind_i64(stmt, 4, row->burst > 0 ? row->burst : 1);
    bind_i64(stmt, 5, row->per_key);
    bind_i64(stmt, 6, now_ns);
    txn_run(txn, stmt);
}

void queue_keep(struct txn *txn, const char *names_json)
{
    static const char SQL[] =
        "DELETE FROM task_queue WHERE name NOT IN (SELECT value FROM json_each(?1))";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, names_json);
    txn_run(txn, stmt);
}

static void read_queue_row(const struct query *q, struct arena *arena, struct queue_row *ret)
{
    *ret = (struct queue_row){
        .name = row_text(q, arena, 0),
        .slots = (int)row_i64(q, 1),
        .rate_per_s = sqlite3_column_double(q->stmt, 2),
        .burst = (int)row_i64(q, 3),
        .per_key = (int)row_i64(q, 4),
        .tokens = sqlite3_column_double(q->stmt, 5),
        .refilled_ns = row_i64(q, 6),
        .waiting = row_i64(q, 7),
        .running = row_i64(q, 8),
        .backoff = row_i64(q, 9),
        .async = row_i64(q, 10),
    };
}

int queue_list(struct db *db, struct arena *arena, struct queue_list *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT n.name, q.slots, q.rate_per_s, q.burst, q.per_key, q.tokens, q.refilled_ns, "
        "n.waiting, n.running, n.backoff, n.async FROM (SELECT name, sum(waiting) AS waiting, "
        "sum(running) AS running, sum(backoff) AS backoff, sum(async) AS async FROM "
        "(SELECT task_queue AS name, state = 1 AS waiting, state = 2 AND NOT is_async AS running, "
        "state = 3 AS backoff, state = 2 AND is_async AS async FROM activity "
        "UNION ALL SELECT name, 0, 0, 0, 0 FROM task_queue) GROUP BY name) AS n "
        "LEFT JOIN task_queue AS q ON q.name = n.name ORDER BY n.name";
    struct query q autoquery = query_begin(db, SQL, err);
    return query_list(&q, arena, ret, read_queue_row);
}

/* --- the statement ---------------------------------------------------------------------------- */

/* ?1 queue, ?2 free threads, ?3 epoch, ?4 now, ?5 types. How many may start: threads, slots less
 * the attempts that live, whole tokens. */
#define ROOM                                                                                       \
    "room AS MATERIALIZED (SELECT max(0, min(?2, slots - (SELECT count(*) FROM activity "          \
    "WHERE queued_ns IS NOT NULL AND task_queue = ?1 AND state = 2 AND NOT is_async "              \
    "AND epoch = ?3), CASE WHEN rate_per_s > 0 THEN CAST(min(burst, tokens + "                     \
    "max(0, ?4 - refilled_ns) * rate_per_s / 1e9) AS INTEGER) ELSE ?2 END)) AS n, per_key "        \
    "FROM task_queue WHERE name = ?1) "
#define WAITING                                                                                    \
    "FROM activity WHERE queued_ns IS NOT NULL AND task_queue = ?1 AND state = 1 "                 \
    "AND type IN (SELECT value FROM json_each(?5)) AND NOT EXISTS "                                \
    "(SELECT 1 FROM execution AS e WHERE e.id = activity.execution AND e.paused IS NOT NULL) "
#define ORDER "ORDER BY priority, queued_ns, execution, scheduled_event_id "
#define START                                                                                      \
    "UPDATE activity SET state = 2, started_ns = ?4, epoch = ?3, next_attempt_ns = NULL, "         \
    "heartbeat_ns = NULL, is_async = 0 WHERE (execution, scheduled_event_id) IN "
#define RETURN "RETURNING execution, scheduled_event_id, priority, queued_ns"

static const char ADMIT[] =
    "WITH " ROOM START "(SELECT execution, scheduled_event_id " WAITING ORDER
    "LIMIT (SELECT n FROM room)) " RETURN;

/* nth: its place among those that wait for the same key. */
static const char ADMIT_BY_KEY[] =
    "WITH " ROOM ", live AS MATERIALIZED (SELECT concurrency_key, count(*) AS n FROM activity "
    "WHERE queued_ns IS NOT NULL AND task_queue = ?1 AND state = 2 AND (is_async OR epoch = ?3) "
    "AND concurrency_key IS NOT NULL GROUP BY concurrency_key), "
    "line AS (SELECT execution, scheduled_event_id, priority, queued_ns, concurrency_key, "
    "row_number() OVER (PARTITION BY concurrency_key " ORDER ") AS nth " WAITING ") " START
    "(SELECT execution, scheduled_event_id FROM line WHERE concurrency_key IS NULL OR "
    "nth + ifnull((SELECT n FROM live WHERE live.concurrency_key = line.concurrency_key), 0) <= "
    "(SELECT per_key FROM room) " ORDER "LIMIT (SELECT n FROM room)) " RETURN;

static int compare(const void *a, const void *b)
{
    const struct admission *x = a, *y = b;
    int64_t left[] = {x->priority, x->queued_ns, x->execution, x->scheduled_event_id};
    int64_t right[] = {y->priority, y->queued_ns, y->execution, y->scheduled_event_id};
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

static void read_admission(const struct query *q, struct arena *arena, struct admission *ret)
{
    (void)arena;
    *ret = (struct admission){
        .execution = row_i64(q, 0),
        .scheduled_event_id = row_i64(q, 1),
        .priority = row_i64(q, 2),
        .queued_ns = row_i64(q, 3),
    };
}

static int decide(struct txn *txn, struct arena *arena, const struct queue_ask *ask, bool by_key,
                  struct admission_list *ret)
{
    struct query q autoquery = query_begin(txn_db(txn), by_key ? ADMIT_BY_KEY : ADMIT, NULL);
    bind_text(q.stmt, 1, ask->name);
    bind_i64(q.stmt, 2, ask->free_slots);
    bind_i64(q.stmt, 3, ask->epoch);
    bind_i64(q.stmt, 4, ask->now_ns);
    bind_text(q.stmt, 5, ask->types_json);
    return query_list(&q, arena, ret, read_admission);
}

/* Those that were let through have taken a token each; when is the next whole one there? */
static void pay(struct txn *txn, const struct queue_ask *ask, struct admission_list *ret)
{
    static const char PAY[] =
        "UPDATE task_queue SET tokens = max(0, min(burst, tokens + max(0, ?2 - refilled_ns) * "
        "rate_per_s / 1e9) - ?3), refilled_ns = ?2 WHERE name = ?1 AND rate_per_s > 0 "
        "RETURNING tokens, rate_per_s";
    struct query q autoquery = query_begin(txn_db(txn), PAY, NULL);
    bind_text(q.stmt, 1, ask->name);
    bind_i64(q.stmt, 2, ask->now_ns);
    bind_i64(q.stmt, 3, (int64_t)ret->count);
    if (query_next(&q) > 0) {
        double tokens = sqlite3_column_double(q.stmt, 0);
        double rate = sqlite3_column_double(q.stmt, 1);
        if (tokens < 1.0) {
            ret->more_at_ns =
                ask->now_ns + (int64_t)((1.0 - tokens) / rate * (double)NS_PER_S) + NS_PER_US;
        }
        query_next(&q);
    }
}

static int ask_per_key(struct txn *txn, const char *name, int64_t *ret)
{
    static const char SQL[] = "SELECT per_key FROM task_queue WHERE name = ?1";
    struct query q autoquery = query_begin(txn_db(txn), SQL, NULL);
    bind_text(q.stmt, 1, name);
    int rc = query_next(&q);
    *ret = rc > 0 ? row_i64(&q, 0) : 0;
    return rc;
}

void queue_admit(struct txn *txn, struct arena *arena, const struct queue_ask *ask,
                 struct admission_list *ret)
{
    int64_t per_key;
    *ret = (struct admission_list){0};
    if (ask_per_key(txn, ask->name, &per_key) > 0 &&
        decide(txn, arena, ask, per_key > 0, ret) == 0) {
        pay(txn, ask, ret);
        if (ret->count > 1) {
            qsort(ret->rows, ret->count, sizeof(*ret->rows), compare);
        }
    }
    if (txn_failed(txn)) {
        *ret = (struct admission_list){0};
    }
}
