/*
 * execution.c - see execution.h. Table execution (and, by triggers, execution_count).
 * Must not: touch events. Indexes: open run by workflow id (unique), workflow id, run id, status,
 * closing time, due times of open runs; the order of ids is the order of starts.
 * Tests: tests/unit/test_journal_execution.c
 */
#include "journal/execution.h"

#include "journal/db.h"
#include "journal/head.h"

/* Column order of every SELECT here; read_row() below knows it. */
#define COLUMNS                                                                                    \
    "id, status, " HEAD_EVENTS " + 1, " HEAD_BYTES                                                 \
    ", started_ns, closed_ns, run_deadline_ns, expires_ns, workflow_id, run_id, type, "            \
    "task_queue, request_id, memo, result, failure, parked, first_task_ns, task_timeout_ns, "      \
    "attempt, first_run_id, next_run_id, paused, search_attributes, parent, parent_event_id, "     \
    "first_task_by_wall "

static void read_row(const struct query *q, struct arena *arena, struct execution_row *ret)
{
    *ret = (struct execution_row){
        .id = row_i64(q, 0),
        .status = (int)row_i64(q, 1),
        .next_event_id = row_i64(q, 2),
        .history_bytes = row_i64(q, 3),
        .started_ns = row_i64(q, 4),
        .closed_ns = row_i64(q, 5),
        .run_deadline_ns = row_i64(q, 6),
        .expires_ns = row_i64(q, 7),
        .workflow_id = row_text(q, arena, 8),
        .run_id = row_text(q, arena, 9),
        .type = row_text(q, arena, 10),
        .task_queue = row_text(q, arena, 11),
        .request_id = row_text(q, arena, 12),
        .memo = row_sealed(q, arena, 13),
        .result = row_sealed(q, arena, 14),
        .failure = row_sealed(q, arena, 15),
        .parked = row_sealed(q, arena, 16),
        .first_task_ns = row_i64(q, 17),
        .task_timeout_ns = row_i64(q, 18),
        .attempt = (int)row_i64(q, 19),
        .first_run_id = row_text(q, arena, 20),
        .next_run_id = row_text(q, arena, 21),
        .paused = row_text(q, arena, 22),
        .search_attributes = row_text(q, arena, 23),
        .parent = row_i64(q, 24),
        .parent_event_id = row_i64(q, 25),
        .first_task_by_wall = row_i64(q, 26) != 0,
    };
}

int64_t execution_insert(struct txn *txn, const struct execution_row *row)
{
    static const char SQL[] =
        "INSERT INTO execution (status, next_event_id, history_bytes, started_ns, closed_ns, "
        "run_deadline_ns, expires_ns, workflow_id, run_id, type, task_queue, request_id, memo, "
        "result, failure, parked, first_task_ns, task_timeout_ns, attempt, first_run_id, "
        "next_run_id, paused, search_attributes, parent, parent_event_id, first_task_by_wall) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
        "?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)";
    int64_t open_id = 0;
    if (row->status == EXECUTION_RUNNING && !txn_failed(txn)) {
        static const char OPEN[] = "SELECT id FROM execution WHERE workflow_id = ?1 AND status = 1";
        struct query q autoquery = query_begin(txn_db(txn), OPEN, NULL);
        bind_text(q.stmt, 1, row->workflow_id);
        open_id = query_next(&q) > 0 ? row_i64(&q, 0) : 0;
    }
    if (open_id) {
        struct err why;
        err_set(&why, ERR_PERMANENT, "RunExists", "a run of \"%s\" is open already",
                row->workflow_id);
        txn_fail(txn, &why);
        return 0;
    }
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->status);
    bind_i64(stmt, 2, row->next_event_id);
    bind_i64(stmt, 3, row->history_bytes);
    bind_i64(stmt, 4, row->started_ns);
    bind_i64_opt(stmt, 5, row->closed_ns);
    bind_i64_opt(stmt, 6, row->run_deadline_ns);
    bind_i64_opt(stmt, 7, row->expires_ns);
    bind_text(stmt, 8, row->workflow_id);
    bind_text(stmt, 9, row->run_id);
    bind_text(stmt, 10, row->type);
    bind_text(stmt, 11, row->task_queue);
    bind_text(stmt, 12, row->request_id);
    bind_sealed(txn, stmt, 13, row->memo);
    bind_sealed(txn, stmt, 14, row->result);
    bind_sealed(txn, stmt, 15, row->failure);
    bind_sealed(txn, stmt, 16, row->parked);
    bind_i64_opt(stmt, 17, row->first_task_ns);
    bind_i64_opt(stmt, 18, row->task_timeout_ns);
    bind_i64(stmt, 19, row->attempt > 0 ? row->attempt : 1);
    bind_text(stmt, 20, row->first_run_id);
    bind_text(stmt, 21, row->next_run_id);
    bind_text(stmt, 22, row->paused);
    bind_text(stmt, 23, row->search_attributes);
    bind_i64_opt(stmt, 24, row->parent);
    bind_i64_opt(stmt, 25, row->parent_event_id);
    bind_i64(stmt, 26, row->first_task_by_wall);
    txn_run(txn, stmt);
    return txn_last_rowid(txn);
}

bool execution_set_head(struct txn *txn, int64_t id, int64_t next_event_id, int64_t history_bytes)
{
    static const char SQL[] =
        "UPDATE execution SET next_event_id = ?2, history_bytes = ?3 WHERE id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 3, history_bytes);
    bind_i64(stmt, 1, id);
    bind_i64(stmt, 2, next_event_id);
    return txn_run(txn, stmt) > 0;
}

static void delete_pending(struct txn *txn, const char *sql, int64_t id)
{
    sqlite3_stmt *stmt = txn_stmt(txn, sql);
    bind_i64(stmt, 1, id);
    txn_run(txn, stmt);
}

bool execution_close(struct txn *txn, int64_t id, enum execution_status status, int64_t closed_ns,
                     const char *result, const char *failure)
{
    static const char SQL[] =
        "UPDATE execution SET status = ?2, closed_ns = ?3, result = ?4, failure = ?5, "
        "parked = NULL, paused = NULL, first_task_ns = NULL, run_deadline_ns = NULL, "
        "expires_ns = NULL, next_event_id = " HEAD_EVENTS " + 1, history_bytes = " HEAD_BYTES
        " WHERE id = ?1 AND status = 1";
    static const char ACTIVITIES[] = "DELETE FROM activity WHERE execution = ?1";
    static const char REPORTS[] = "DELETE FROM activity_report WHERE execution = ?1";
    static const char TIMERS[] = "DELETE FROM timer WHERE execution = ?1";
    static const char TASKS[] = "DELETE FROM task WHERE execution = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    bind_i64(stmt, 2, status);
    bind_i64(stmt, 3, closed_ns);
    bind_sealed(txn, stmt, 4, result);
    bind_sealed(txn, stmt, 5, failure);
    if (txn_run(txn, stmt) == 0) {
        return false;
    }
    delete_pending(txn, ACTIVITIES, id);
    delete_pending(txn, REPORTS, id);
    delete_pending(txn, TIMERS, id);
    delete_pending(txn, TASKS, id);
    return !txn_failed(txn);
}

static bool set_text(struct txn *txn, const char *sql, int64_t id, const char *text)
{
    sqlite3_stmt *stmt = txn_stmt(txn, sql);
    bind_i64(stmt, 1, id);
    bind_text(stmt, 2, text);
    return txn_run(txn, stmt) > 0;
}

static bool set_sealed(struct txn *txn, const char *sql, int64_t id, const char *text)
{
    sqlite3_stmt *stmt = txn_stmt(txn, sql);
    bind_i64(stmt, 1, id);
    bind_sealed(txn, stmt, 2, text);
    return txn_run(txn, stmt) > 0;
}

bool execution_set_memo(struct txn *txn, int64_t id, const char *memo)
{
    static const char SQL[] = "UPDATE execution SET memo = ?2 WHERE id = ?1";
    return set_sealed(txn, SQL, id, memo);
}

bool execution_set_parked(struct txn *txn, int64_t id, const char *report)
{
    static const char SQL[] = "UPDATE execution SET parked = ?2 WHERE id = ?1";
    return set_sealed(txn, SQL, id, report);
}

bool execution_set_next(struct txn *txn, int64_t id, const char *next_run_id)
{
    static const char SQL[] = "UPDATE execution SET next_run_id = ?2 WHERE id = ?1";
    return set_text(txn, SQL, id, next_run_id);
}

bool execution_set_begun(struct txn *txn, int64_t id)
{
    static const char SQL[] = "UPDATE execution SET first_task_ns = NULL WHERE id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    return txn_run(txn, stmt) > 0;
}

bool execution_set_paused(struct txn *txn, int64_t id, const char *reason)
{
    static const char SQL[] = "UPDATE execution SET paused = ?2 WHERE id = ?1 AND status = 1";
    return set_text(txn, SQL, id, reason);
}

bool execution_set_parent(struct txn *txn, int64_t id, int64_t parent)
{
    static const char SQL[] = "UPDATE execution SET parent = ?2 WHERE id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    bind_i64(stmt, 2, parent);
    return txn_run(txn, stmt) > 0;
}

bool execution_set_search_attributes(struct txn *txn, int64_t id, const char *json)
{
    static const char SQL[] = "UPDATE execution SET search_attributes = ?2 WHERE id = ?1";
    return set_text(txn, SQL, id, json);
}

bool execution_delete(struct txn *txn, int64_t id)
{
    static const char SQL[] = "DELETE FROM execution WHERE id = ?1 AND status <> 1 AND "
                              "NOT EXISTS (SELECT 1 FROM task WHERE execution = ?1)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    return txn_run(txn, stmt) > 0;
}

int execution_get(struct db *db, struct arena *arena, int64_t id, struct execution_row *ret,
                  struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM execution WHERE id = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, id);
    return query_one(&q, arena, ret, read_row);
}

int execution_find_open(struct db *db, struct arena *arena, const char *workflow_id,
                        struct execution_row *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM execution WHERE workflow_id = ?1 AND status = 1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, workflow_id);
    return query_one(&q, arena, ret, read_row);
}

int execution_find_newest(struct db *db, struct arena *arena, const char *workflow_id,
                          struct execution_row *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM execution WHERE workflow_id = ?1 ORDER BY id DESC LIMIT 1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, workflow_id);
    return query_one(&q, arena, ret, read_row);
}

int execution_find_request(struct db *db, struct arena *arena, const char *workflow_id,
                           const char *request_id, struct execution_row *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM execution WHERE workflow_id = ?1 "
                              "AND request_id = ?2 ORDER BY id DESC LIMIT 1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, workflow_id);
    bind_text(q.stmt, 2, request_id);
    return query_one(&q, arena, ret, read_row);
}

int execution_find_run(struct db *db, struct arena *arena, const char *run_id,
                       struct execution_row *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM execution WHERE run_id = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, run_id);
    return query_one(&q, arena, ret, read_row);
}

int execution_list(struct db *db, struct arena *arena, int status, int64_t before, int limit,
                   struct execution_list *ret, struct err *err)
{
    static const char ALL[] =
        "SELECT " COLUMNS "FROM execution WHERE id < ?2 ORDER BY id DESC LIMIT ?3";
    static const char OF_STATUS[] = "SELECT " COLUMNS "FROM execution INDEXED BY execution_status "
                                    "WHERE status = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
    static const char PAUSED[] = "SELECT " COLUMNS "FROM execution INDEXED BY execution_status "
                                 "WHERE status = 1 AND paused IS NOT NULL AND id < ?2 "
                                 "ORDER BY id DESC LIMIT ?3";
    bool only_paused = status == EXECUTION_PAUSED;
    struct query q autoquery = query_begin(db,
                                           only_paused ? PAUSED
                                           : status    ? OF_STATUS
                                                       : ALL,
                                           err);
    if (status && !only_paused) {
        bind_i64(q.stmt, 1, status);
    }
    bind_i64(q.stmt, 2, before > 0 ? before : INT64_MAX);
    bind_i64(q.stmt, 3, limit);
    return query_list(&q, arena, ret, read_row);
}

static void bind_filter(sqlite3_stmt *stmt, const struct filter *filter)
{
    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_value *v = &filter->values[i];
        int n = (int)i + 1;
        if (v->type == FILTER_TEXT) {
            bind_text(stmt, n, v->text);
        } else if (v->type == FILTER_INT) {
            bind_i64(stmt, n, v->integer);
        } else {
            sqlite3_bind_double(stmt, n, v->real);
        }
    }
}

int execution_list_where(struct db *db, struct arena *arena, const struct filter *filter,
                         int64_t before, int limit, struct execution_list *ret, struct err *err)
{
    int n = (int)filter->count;
    const char *sql = arena_printf(arena,
                                   "SELECT " COLUMNS "FROM execution WHERE (%s) AND id < ?%d "
                                   "ORDER BY id DESC LIMIT ?%d",
                                   filter->sql, n + 1, n + 2);
    struct query q = {.db = db, .err = err};
    *ret = (struct execution_list){0};
    pthread_mutex_lock(&db->lock);
    int rc = sqlite3_prepare_v2(db->raw, sql, -1, &q.stmt, NULL);
    if (rc == SQLITE_OK) {
        bind_filter(q.stmt, filter);
        bind_i64(q.stmt, n + 1, before > 0 ? before : INT64_MAX);
        bind_i64(q.stmt, n + 2, limit);
        rc = query_list(&q, arena, ret, read_row);
    } else {
        rc = db_fail(db, rc, err);
    }
    sqlite3_finalize(q.stmt);
    pthread_mutex_unlock(&db->lock);
    return rc;
}

int execution_ids_with_prefix(struct db *db, struct arena *arena, const char *prefix, int limit,
                              const char ***ret_ids, size_t *ret_count, struct err *err)
{
    /* Byte order: what begins with prefix stands between it and it followed by the highest byte. */
    static const char SQL[] = "SELECT workflow_id FROM execution INDEXED BY execution_workflow "
                              "WHERE workflow_id >= ?1 AND workflow_id < ?1 || char(0x10FFFF) "
                              "GROUP BY workflow_id ORDER BY max(id) DESC LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    size_t cap = 0;
    int rc;
    *ret_ids = NULL;
    *ret_count = 0;
    bind_text(q.stmt, 1, prefix);
    bind_i64(q.stmt, 2, limit);
    while ((rc = query_next(&q)) > 0) {
        arena_grow(arena, *ret_ids, *ret_count, &cap);
        (*ret_ids)[(*ret_count)++] = row_text(&q, arena, 0);
    }
    return rc;
}

int execution_list_open(struct db *db, struct arena *arena, int64_t after, int limit,
                        struct execution_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM execution INDEXED BY execution_status "
                              "WHERE status = 1 AND id > ?1 ORDER BY id LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, after);
    bind_i64(q.stmt, 2, limit);
    return query_list(&q, arena, ret, read_row);
}

int execution_list_due(struct db *db, struct arena *arena, int64_t now_ns, int limit,
                       struct execution_list *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM execution WHERE id IN ("
        "SELECT id FROM execution INDEXED BY execution_run_deadline "
        "WHERE status = 1 AND run_deadline_ns <= ?1 UNION "
        "SELECT id FROM execution INDEXED BY execution_expires "
        "WHERE status = 1 AND expires_ns <= ?1) "
        "ORDER BY min(ifnull(run_deadline_ns, expires_ns), ifnull(expires_ns, run_deadline_ns)) "
        "LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, now_ns);
    bind_i64(q.stmt, 2, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}

int execution_list_delayed(struct db *db, struct arena *arena, struct execution_list *ret,
                           struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS "FROM execution INDEXED BY execution_first_task "
                              "WHERE first_task_ns IS NOT NULL AND status = 1 "
                              "ORDER BY first_task_ns";
    struct query q autoquery = query_begin(db, SQL, err);
    return query_list(&q, arena, ret, read_row);
}

int execution_next_due(struct db *db, int64_t *ret_ns, struct err *err)
{
    static const char SQL[] =
        "SELECT min(due) FROM ("
        "SELECT min(run_deadline_ns) AS due FROM execution INDEXED BY execution_run_deadline "
        "WHERE status = 1 AND run_deadline_ns IS NOT NULL UNION ALL "
        "SELECT min(expires_ns) FROM execution INDEXED BY execution_expires "
        "WHERE status = 1 AND expires_ns IS NOT NULL)";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret_ns = row_i64(&q, 0);
        rc = *ret_ns ? 0 : 1;
    }
    return rc;
}

int execution_counts(struct db *db, int64_t counts[EXECUTION_STATUS_COUNT], struct err *err)
{
    static const char SQL[] = "SELECT status, n FROM execution_count";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc;
    for (int i = 0; i < EXECUTION_STATUS_COUNT; i++) {
        counts[i] = 0;
    }
    while ((rc = query_next(&q)) > 0) {
        int64_t status = row_i64(&q, 0);
        if (status > 0 && status < EXECUTION_STATUS_COUNT) {
            counts[status] = row_i64(&q, 1);
            counts[0] += counts[status];
        }
    }
    return rc;
}
