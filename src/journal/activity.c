/*
 * activity.c - see activity.h. Table activity.
 * Must not: append events, decide about retries. Tests: tests/unit/test_journal_activity.c
 */
#include "journal/activity.h"

#include "journal/db.h"

#define COLUMNS                                                                                    \
    "execution, scheduled_event_id, state, attempt, epoch, scheduled_ns, started_ns, "             \
    "next_attempt_ns, deadline_ns, heartbeat_ns, cancel_event_id, activity_id, type, task_queue, " \
    "input, options, heartbeat_details, last_failure, is_async, priority, concurrency_key, "       \
    "queued_ns "

static void read_row(const struct query *q, struct arena *arena, struct activity_row *ret)
{
    *ret = (struct activity_row){
        .execution = row_i64(q, 0),
        .scheduled_event_id = row_i64(q, 1),
        .state = (enum activity_state)row_i64(q, 2),
        .attempt = (int)row_i64(q, 3),
        .epoch = row_i64(q, 4),
        .scheduled_ns = row_i64(q, 5),
        .started_ns = row_i64(q, 6),
        .next_attempt_ns = row_i64(q, 7),
        .deadline_ns = row_i64(q, 8),
        .heartbeat_ns = row_i64(q, 9),
        .cancel_event_id = row_i64(q, 10),
        .activity_id = row_text(q, arena, 11),
        .type = row_text(q, arena, 12),
        .task_queue = row_text(q, arena, 13),
        .input = row_sealed(q, arena, 14),
        .options = row_text(q, arena, 15),
        .heartbeat_details = row_sealed(q, arena, 16),
        .last_failure = row_sealed(q, arena, 17),
        .is_async = row_i64(q, 18) != 0,
        .priority = (int)row_i64(q, 19),
        .concurrency_key = row_text(q, arena, 20),
        .queued_ns = row_i64(q, 21),
    };
}

void activity_insert(struct txn *txn, const struct activity_row *row)
{
    static const char SQL[] =
        "INSERT INTO activity (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
        "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->execution);
    bind_i64(stmt, 2, row->scheduled_event_id);
    bind_i64(stmt, 3, row->state);
    bind_i64(stmt, 4, row->attempt);
    bind_i64_opt(stmt, 5, row->epoch);
    bind_i64(stmt, 6, row->scheduled_ns);
    bind_i64_opt(stmt, 7, row->started_ns);
    bind_i64_opt(stmt, 8, row->next_attempt_ns);
    bind_i64_opt(stmt, 9, row->deadline_ns);
    bind_i64_opt(stmt, 10, row->heartbeat_ns);
    bind_i64_opt(stmt, 11, row->cancel_event_id);
    bind_text(stmt, 12, row->activity_id);
    bind_text(stmt, 13, row->type);
    bind_text(stmt, 14, row->task_queue);
    bind_sealed(txn, stmt, 15, row->input);
    bind_text(stmt, 16, row->options);
    bind_sealed(txn, stmt, 17, row->heartbeat_details);
    bind_sealed(txn, stmt, 18, row->last_failure);
    bind_i64(stmt, 19, row->is_async);
    bind_i64(stmt, 20, row->priority ? row->priority : ACTIVITY_PRIORITY_DEFAULT);
    bind_text(stmt, 21, row->concurrency_key);
    bind_i64_opt(stmt, 22, row->queued_ns);
    txn_run(txn, stmt);
}

bool activity_start(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                    int64_t started_ns, int64_t deadline_ns, int64_t epoch)
{
    static const char SQL[] =
        "UPDATE activity SET state = 2, attempt = ?3, started_ns = ?4, deadline_ns = ?5, "
        "epoch = ?6, next_attempt_ns = NULL, heartbeat_ns = NULL, is_async = 0 "
        "WHERE execution = ?1 AND scheduled_event_id = ?2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, scheduled_event_id);
    bind_i64(stmt, 3, attempt);
    bind_i64(stmt, 4, started_ns);
    bind_i64_opt(stmt, 5, deadline_ns);
    bind_i64_opt(stmt, 6, epoch);
    return txn_run(txn, stmt) > 0;
}

bool activity_backoff(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                      int64_t next_attempt_ns, int64_t deadline_ns, const char *failure)
{
    static const char SQL[] =
        "UPDATE activity SET state = 3, attempt = ?3, next_attempt_ns = ?4, deadline_ns = ?5, "
        "last_failure = ?6, started_ns = NULL, heartbeat_ns = NULL, epoch = NULL, is_async = 0 "
        "WHERE execution = ?1 AND scheduled_event_id = ?2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, scheduled_event_id);
    bind_i64(stmt, 3, attempt);
    bind_i64(stmt, 4, next_attempt_ns);
    bind_i64_opt(stmt, 5, deadline_ns);
    bind_sealed(txn, stmt, 6, failure);
    return txn_run(txn, stmt) > 0;
}

bool activity_heartbeat(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                        int64_t heartbeat_ns, int64_t deadline_ns, const char *details)
{
    static const char SQL[] =
        "UPDATE activity SET heartbeat_ns = ?4, deadline_ns = ?5, "
        "heartbeat_details = ifnull(?6, heartbeat_details) "
        "WHERE execution = ?1 AND scheduled_event_id = ?2 AND attempt = ?3 AND state = 2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, scheduled_event_id);
    bind_i64(stmt, 3, attempt);
    bind_i64(stmt, 4, heartbeat_ns);
    bind_i64_opt(stmt, 5, deadline_ns);
    bind_sealed(txn, stmt, 6, details);
    return txn_run(txn, stmt) > 0;
}

bool activity_set_async(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                        int64_t now_ns, int64_t deadline_ns)
{
    static const char SQL[] =
        "UPDATE activity SET is_async = 1, heartbeat_ns = ?4, deadline_ns = ?5 "
        "WHERE execution = ?1 AND scheduled_event_id = ?2 AND attempt = ?3 AND state = 2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, scheduled_event_id);
    bind_i64(stmt, 3, attempt);
    bind_i64(stmt, 4, now_ns);
    bind_i64_opt(stmt, 5, deadline_ns);
    return txn_run(txn, stmt) > 0;
}

bool activity_requeue(struct txn *txn, int64_t execution, int64_t scheduled_event_id,
                      int64_t queued_ns)
{
    static const char SQL[] =
        "UPDATE activity SET state = 1, next_attempt_ns = NULL, queued_ns = ?3 "
        "WHERE execution = ?1 AND scheduled_event_id = ?2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, scheduled_event_id);
    bind_i64_opt(stmt, 3, queued_ns);
    return txn_run(txn, stmt) > 0;
}

bool activity_request_cancel(struct txn *txn, int64_t execution, int64_t scheduled_event_id,
                             int64_t cancel_event_id)
{
    static const char SQL[] = "UPDATE activity SET cancel_event_id = ?3 "
                              "WHERE execution = ?1 AND scheduled_event_id = ?2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, scheduled_event_id);
    bind_i64(stmt, 3, cancel_event_id);
    return txn_run(txn, stmt) > 0;
}

bool activity_delete(struct txn *txn, int64_t execution, int64_t scheduled_event_id)
{
    static const char SQL[] =
        "DELETE FROM activity WHERE execution = ?1 AND scheduled_event_id = ?2";
    return txn_run_key(txn, SQL, execution, scheduled_event_id);
}

int activity_get(struct db *db, struct arena *arena, int64_t execution, int64_t scheduled_event_id,
                 struct activity_row *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM activity WHERE execution = ?1 AND scheduled_event_id = ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    bind_i64(q.stmt, 2, scheduled_event_id);
    return query_one(&q, arena, ret, read_row);
}

int activity_list(struct db *db, struct arena *arena, int64_t execution, struct activity_list *ret,
                  struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM activity WHERE execution = ?1 ORDER BY scheduled_event_id";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    return query_list(&q, arena, ret, read_row);
}

int activity_list_all(struct db *db, struct arena *arena, int64_t after_execution,
                      int64_t after_event_id, int limit, struct activity_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM activity "
                              "WHERE (execution, scheduled_event_id) > (?1, ?2) "
                              "ORDER BY execution, scheduled_event_id LIMIT ?3";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, after_execution);
    bind_i64(q.stmt, 2, after_event_id);
    bind_i64(q.stmt, 3, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}

int activity_list_due(struct db *db, struct arena *arena, int64_t now_ns, struct activity_list *ret,
                      struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM activity "
                              "WHERE next_attempt_ns <= ?1 OR deadline_ns <= ?1 "
                              "ORDER BY min(ifnull(next_attempt_ns, deadline_ns), "
                              "ifnull(deadline_ns, next_attempt_ns))";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, now_ns);
    return query_list(&q, arena, ret, read_row);
}

int activity_next_due(struct db *db, int64_t *ret_ns, struct err *err)
{
    static const char SQL[] =
        "SELECT min(due) FROM (SELECT min(next_attempt_ns) AS due FROM activity UNION ALL "
        "SELECT min(deadline_ns) FROM activity)";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret_ns = row_i64(&q, 0);
        rc = *ret_ns ? 0 : 1;
    }
    return rc;
}

int activity_count_ahead(struct db *db, const struct activity_row *row, int64_t *ret,
                         struct err *err)
{
    static const char SQL[] =
        "SELECT count(*) FROM activity WHERE task_queue = ?1 AND state = 1 AND "
        "(scheduled_ns, execution, scheduled_event_id) < (?2, ?3, ?4)";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, row->task_queue);
    bind_i64(q.stmt, 2, row->scheduled_ns);
    bind_i64(q.stmt, 3, row->execution);
    bind_i64(q.stmt, 4, row->scheduled_event_id);
    int rc = query_next(&q);
    *ret = rc > 0 ? row_i64(&q, 0) : 0;
    return rc < 0 ? rc : 0;
}

static void read_activity_queue_count(const struct query *q, struct arena *arena,
                                      struct activity_queue_count *ret)
{
    *ret = (struct activity_queue_count){
        .task_queue = row_text(q, arena, 0),
        .scheduled = row_i64(q, 1),
        .started = row_i64(q, 2),
        .backoff = row_i64(q, 3),
    };
}

int activity_count_by_queue(struct db *db, struct arena *arena, struct activity_queue_list *ret,
                            struct err *err)
{
    static const char SQL[] = "SELECT task_queue, sum(state = 1), sum(state = 2), sum(state = 3) "
                              "FROM activity GROUP BY task_queue ORDER BY task_queue";
    struct query q autoquery = query_begin(db, SQL, err);
    return query_list(&q, arena, ret, read_activity_queue_count);
}
