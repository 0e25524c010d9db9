/*
 * schedule.c - see schedule.h. Tables schedule, schedule_start, schedule_run. Everything of one
 * schedule is read together, in a transaction: a schedule has few rows.
 * Tests: tests/unit/test_journal_schedule.c
 */
#include "journal/schedule.h"

#include <string.h>

#include "base/json.h"
#include "journal/db.h"
#include "journal/sealed.h"

/* --- the row ---------------------------------------------------------------------------------- */

#define COLUMNS                                                                                    \
    "id, name, definition, paused, note, problem, remaining, created_ns, changed_ns, cursor_ns, "  \
    "nominal_ns, due_ns, ripe, started, skipped, missed, dropped, last_result, last_failure"

/* One value of a definition into *out: sealed, or opened. What cannot be opened stays. */
static void put_converted(struct json_out *w, const struct sealer *sealer, struct arena *arena,
                          const struct json *value, bool opens, struct err *err)
{
    const char *text = arena_strndup(arena, value->raw, value->raw_len);
    const char *made = opens ? text : sealed_text(sealer, arena, text);
    if (opens) {
        sealed_open(sealer, arena, text, &made, err);
    }
    json_put_raw(w, made, strlen(made));
}

/* The definition with what people wrote in it, the action's input and memo, sealed or opened. */
static const char *convert(const struct sealer *sealer, struct arena *arena, const char *text,
                           bool opens, struct err *err)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 0);
    const struct json *root = NULL;
    if (json_parse(arena, text, strlen(text), &root, NULL) < 0 || root->type != JSON_OBJECT) {
        return text;
    }
    json_begin_object(&w);
    json_each (part, root) {
        json_key(&w, part->key);
        if (!str_eq(part->key, "action") || part->type != JSON_OBJECT) {
            json_put_raw(&w, part->raw, part->raw_len);
            continue;
        }
        json_begin_object(&w);
        json_each (member, part) {
            json_key(&w, member->key);
            if (str_eq(member->key, "input") || str_eq(member->key, "memo")) {
                put_converted(&w, sealer, arena, member, opens, err);
            } else {
                json_put_raw(&w, member->raw, member->raw_len);
            }
        }
        json_end_object(&w);
    }
    json_end_object(&w);
    return arena_strdup(arena, str_c(&out));
}

static void bind_definition(struct txn *txn, sqlite3_stmt *stmt, int index, const char *text)
{
    const struct sealer *sealer = db_sealer(txn_db(txn));
    if (!sealer) {
        bind_text(stmt, index, text);
        return;
    }
    autoarena struct arena *arena = arena_new();
    const char *sealed = convert(sealer, arena, text, false, NULL);
    if (sealed) {
        bind_copy(stmt, index, sealed, strlen(sealed));
    } else {
        bind_text(stmt, index, NULL);
    }
}

static const char *row_definition(const struct query *q, struct arena *arena, int column)
{
    const struct sealer *sealer = q->db->sealer;
    const char *text = row_text(q, arena, column);
    struct err err = {0};
    const char *opened = sealer ? convert(sealer, arena, text, true, &err) : text;
    if (err.kind != ERR_NONE && q->db->txn) {
        txn_fail(q->db->txn, &err);
    }
    return opened;
}

static void bind_null_or(sqlite3_stmt *stmt, int index, bool given, int64_t value)
{
    if (given) {
        sqlite3_bind_int64(stmt, index, value);
    } else {
        sqlite3_bind_null(stmt, index);
    }
}

/* ?1 to ?16 */
static void bind_row(struct txn *txn, sqlite3_stmt *stmt, const struct schedule_row *row)
{
    bind_definition(txn, stmt, 1, row->definition);
    bind_i64(stmt, 2, row->paused);
    bind_text(stmt, 3, row->note);
    bind_text(stmt, 4, row->problem);
    bind_null_or(stmt, 5, row->limited, row->remaining);
    bind_i64(stmt, 6, row->changed_ns);
    bind_i64(stmt, 7, row->cursor_ns);
    bind_null_or(stmt, 8, row->has_next, row->nominal_ns);
    bind_i64_opt(stmt, 9, row->due_ns);
    bind_i64(stmt, 10, row->ripe);
    bind_i64(stmt, 11, row->started);
    bind_i64(stmt, 12, row->skipped);
    bind_i64(stmt, 13, row->missed);
    bind_i64(stmt, 14, row->dropped);
    bind_sealed(txn, stmt, 15, row->last_result);
    bind_sealed(txn, stmt, 16, row->last_failure);
}

int64_t schedule_insert(struct txn *txn, const struct schedule_row *row)
{
    static const char SQL[] =
        "INSERT INTO schedule (definition, paused, note, problem, remaining, changed_ns, "
        "cursor_ns, nominal_ns, due_ns, ripe, started, skipped, missed, dropped, last_result, "
        "last_failure, name, created_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
        "?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_row(txn, stmt, row);
    bind_text(stmt, 17, row->name);
    bind_i64(stmt, 18, row->created_ns);
    return txn_run(txn, stmt) > 0 ? txn_last_rowid(txn) : 0;
}

bool schedule_update(struct txn *txn, const struct schedule_row *row)
{
    static const char SQL[] =
        "UPDATE schedule SET definition = ?1, paused = ?2, note = ?3, problem = ?4, "
        "remaining = ?5, changed_ns = ?6, cursor_ns = ?7, nominal_ns = ?8, due_ns = ?9, "
        "ripe = ?10, started = ?11, skipped = ?12, missed = ?13, dropped = ?14, "
        "last_result = ?15, last_failure = ?16 WHERE id = ?17";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_row(txn, stmt, row);
    bind_i64(stmt, 17, row->id);
    return txn_run(txn, stmt) > 0;
}

bool schedule_delete(struct txn *txn, int64_t id)
{
    static const char SQL[] = "DELETE FROM schedule WHERE id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    return txn_run(txn, stmt) > 0;
}

bool schedule_ripen(struct txn *txn, int64_t id)
{
    static const char SQL[] = "UPDATE schedule SET ripe = 1 WHERE id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    return txn_run(txn, stmt) > 0;
}

static bool row_given(const struct query *q, int column)
{
    return sqlite3_column_type(q->stmt, column) != SQLITE_NULL;
}

static void read_row(const struct query *q, struct arena *arena, struct schedule_row *ret)
{
    *ret = (struct schedule_row){
        .id = row_i64(q, 0),
        .name = row_text(q, arena, 1),
        .definition = row_definition(q, arena, 2),
        .paused = row_i64(q, 3) != 0,
        .note = row_text(q, arena, 4),
        .problem = row_text(q, arena, 5),
        .limited = row_given(q, 6),
        .remaining = row_i64(q, 6),
        .created_ns = row_i64(q, 7),
        .changed_ns = row_i64(q, 8),
        .cursor_ns = row_i64(q, 9),
        .has_next = row_given(q, 10),
        .nominal_ns = row_i64(q, 10),
        .due_ns = row_i64(q, 11),
        .ripe = row_i64(q, 12) != 0,
        .started = row_i64(q, 13),
        .skipped = row_i64(q, 14),
        .missed = row_i64(q, 15),
        .dropped = row_i64(q, 16),
        .last_result = row_sealed(q, arena, 17),
        .last_failure = row_sealed(q, arena, 18),
    };
}

int schedule_find(struct db *db, struct arena *arena, const char *name, struct schedule_row *ret,
                  struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS " FROM schedule WHERE name = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, name);
    return query_one(&q, arena, ret, read_row);
}

int schedule_list(struct db *db, struct arena *arena, const char *after, int limit,
                  struct schedule_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS " FROM schedule "
                              "WHERE ?1 IS NULL OR name > ?1 ORDER BY name LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, after);
    bind_i64(q.stmt, 2, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}

int schedule_list_due(struct db *db, struct arena *arena, int64_t now_ns, int limit,
                      struct schedule_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS " FROM schedule WHERE id IN "
                              "(SELECT id FROM schedule WHERE ripe = 1 UNION "
                              "SELECT id FROM schedule WHERE due_ns <= ?1) ORDER BY id LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, now_ns);
    bind_i64(q.stmt, 2, limit);
    return query_list(&q, arena, ret, read_row);
}

bool schedule_any(struct db *db)
{
    static const char SQL[] = "SELECT 1 FROM schedule LIMIT 1";
    struct query q autoquery = query_begin(db, SQL, NULL);
    return query_next(&q) > 0;
}

int schedule_next_due(struct db *db, int64_t *ret_ns, struct err *err)
{
    static const char SQL[] = "SELECT CASE WHEN EXISTS (SELECT 1 FROM schedule WHERE ripe = 1) "
                              "THEN 0 ELSE (SELECT min(due_ns) FROM schedule "
                              "WHERE due_ns IS NOT NULL) END";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc > 0 && row_given(&q, 0)) {
        *ret_ns = row_i64(&q, 0);
        return 0;
    }
    return rc < 0 ? rc : 1;
}

/* --- starts that wait ------------------------------------------------------------------------- */

void schedule_start_put(struct txn *txn, int64_t schedule, const struct schedule_start *start)
{
    static const char SQL[] =
        "INSERT INTO schedule_start (schedule, number, nominal_ns, overlap, manual) "
        "SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM schedule_start "
        "WHERE schedule = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, schedule);
    bind_i64(stmt, 2, start->nominal_ns);
    bind_i64(stmt, 3, start->overlap);
    bind_i64(stmt, 4, start->manual);
    txn_run(txn, stmt);
}

bool schedule_start_drop(struct txn *txn, int64_t schedule, int64_t number)
{
    static const char SQL[] = "DELETE FROM schedule_start WHERE schedule = ?1 AND number = ?2";
    return txn_run_key(txn, SQL, schedule, number);
}

static void read_schedule_start(const struct query *q, struct arena *arena,
                                struct schedule_start *ret)
{
    (void)arena;
    *ret = (struct schedule_start){
        .number = row_i64(q, 0),
        .nominal_ns = row_i64(q, 1),
        .overlap = (int)row_i64(q, 2),
        .manual = row_i64(q, 3) != 0,
    };
}

int schedule_start_list(struct db *db, struct arena *arena, int64_t schedule,
                        struct schedule_starts *ret, struct err *err)
{
    static const char SQL[] = "SELECT number, nominal_ns, overlap, manual FROM schedule_start "
                              "WHERE schedule = ?1 ORDER BY number";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, schedule);
    return query_list(&q, arena, ret, read_schedule_start);
}

/* --- runs that it started --------------------------------------------------------------------- */

void schedule_run_put(struct txn *txn, int64_t schedule, const struct schedule_run *run)
{
    static const char SQL[] =
        "INSERT INTO schedule_run (schedule, number, workflow_id, run_id, nominal_ns, started_ns) "
        "SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5 FROM schedule_run "
        "WHERE schedule = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, schedule);
    bind_text(stmt, 2, run->workflow_id);
    bind_text(stmt, 3, run->run_id);
    bind_i64(stmt, 4, run->nominal_ns);
    bind_i64(stmt, 5, run->started_ns);
    txn_run(txn, stmt);
}

bool schedule_run_close(struct txn *txn, int64_t schedule, int64_t number)
{
    static const char SQL[] =
        "UPDATE schedule_run SET closed = 1 WHERE schedule = ?1 AND number = ?2 AND NOT closed";
    return txn_run_key(txn, SQL, schedule, number);
}

void schedule_run_trim(struct txn *txn, int64_t schedule, int keep)
{
    static const char SQL[] =
        "DELETE FROM schedule_run WHERE schedule = ?1 AND closed AND number <= "
        "(SELECT number FROM schedule_run WHERE schedule = ?1 AND closed "
        "ORDER BY number DESC LIMIT 1 OFFSET ?2)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, schedule);
    bind_i64(stmt, 2, keep);
    txn_run(txn, stmt);
}

static void read_schedule_run(const struct query *q, struct arena *arena, struct schedule_run *ret)
{
    *ret = (struct schedule_run){
        .number = row_i64(q, 0),
        .workflow_id = row_text(q, arena, 1),
        .run_id = row_text(q, arena, 2),
        .nominal_ns = row_i64(q, 3),
        .started_ns = row_i64(q, 4),
        .closed = row_i64(q, 5) != 0,
    };
}

int schedule_run_list(struct db *db, struct arena *arena, int64_t schedule,
                      struct schedule_runs *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT number, workflow_id, run_id, nominal_ns, started_ns, closed FROM schedule_run "
        "WHERE schedule = ?1 ORDER BY number";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, schedule);
    return query_list(&q, arena, ret, read_schedule_run);
}
