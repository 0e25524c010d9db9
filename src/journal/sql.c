/*
 * sql.c - see sql.h.
 *
 * The guard is an authorizer that stays installed and is armed only while such a statement is
 * prepared or run: installing one anew would prepare every statement of the engine again. Which
 * names are the engine's is learnt from its own schema, made once in memory.
 * Tests: tests/unit/test_journal_sql.c
 */
#include "journal/sql.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/embedded_sql.h"
#include "base/json.h"
#include "base/mem.h"
#include "journal/store_impl.h"

extern const struct embedded_sql engine_migrations[];

/* --- the engine's names ------------------------------------------------------------------------
 */

static char **own_names;
static size_t own_count, own_cap;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static int compare(const void *a, const void *b)
{
    return sqlite3_stricmp(*(char *const *)a, *(char *const *)b);
}

static void keep(const char *name)
{
    mem_reserve(own_names, &own_cap, own_count + 1);
    own_names[own_count++] = mem_strdup(name);
}

/* True: every name is known. */
static bool learn_from_schema(void)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    own_count = 0;
    keep("migration");
    int rc = sqlite3_open(":memory:", &db);
    for (const struct embedded_sql *step = engine_migrations; rc == SQLITE_OK && step->name;
         step++) {
        rc = sqlite3_exec(db, step->sql, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v2(
            db, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", -1, &stmt, NULL);
    }
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        keep(column_text(stmt, 0));
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return rc == SQLITE_DONE;
}

/* Without the names the tables would be open to whoever gives SQL: no memory for them is the end,
 * as in base/mem.h. */
static void learn(void)
{
    if (!learn_from_schema()) {
        mem_note_short();
        if (!learn_from_schema()) {
            mem_exhausted(0);
        }
    }
    qsort(own_names, own_count, sizeof(*own_names), compare);
}

/* The engine's table or view of this name, as kept here; NULL: it has none. */
static const char *own_name(const char *name)
{
    char **found = name ? bsearch(&name, own_names, own_count, sizeof(*own_names), compare) : NULL;
    return found ? *found : NULL;
}

static int authorize(void *user, int action, const char *a, const char *b, const char *database,
                     const char *through)
{
    struct db *db = user;
    (void)b;
    (void)database;
    if (!db->guarded) {
        return SQLITE_OK;
    }
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION:
        return SQLITE_OK;
    case SQLITE_READ:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        db->refused = own_name(a) ? own_name(a) : own_name(through);
        return db->refused ? SQLITE_DENY : SQLITE_OK;
    default:
        db->refused = "";
        return SQLITE_DENY;
    }
}

static void arm(struct db *db)
{
    pthread_once(&own_once, learn);
    if (!db->has_guard) {
        sqlite3_set_authorizer(db->raw, authorize, db);
        db->has_guard = true;
    }
    db->guarded = true;
    db->refused = NULL;
}

/* --- errors ------------------------------------------------------------------------------------
 */

static int fail(struct txn *txn, int rc, struct err *err)
{
    struct db *db = txn_db(txn);
    if (sqlite3_get_autocommit(db->raw)) {
        err_set(err, ERR_TRANSIENT, "SqlLost",
                "a statement ended the engine's transaction (ON CONFLICT ROLLBACK, "
                "RAISE(ROLLBACK)?): use ABORT");
        return txn_fail(txn, err);
    }
    switch (rc & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_NOMEM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return db_fail(db, rc, err);
    case SQLITE_AUTH:
        return err_set(err, ERR_PERMANENT, "SqlRefused",
                       db->refused && *db->refused
                           ? "%s%s: the engine's own; a transaction has the program's tables only"
                           : "%s%s: only SELECT, INSERT, UPDATE and DELETE are for transactions",
                       db->refused && *db->refused ? "table " : "refused",
                       db->refused ? db->refused : "");
    default:
        return err_set(err, ERR_PERMANENT, "SqlError", "%s", sqlite3_errmsg(db->raw));
    }
}

/* --- values ------------------------------------------------------------------------------------
 */

static void bind(sqlite3_stmt *stmt, int at, const struct json *value)
{
    int64_t number;
    double real;
    autostr struct str text = {0};
    if (value->type == JSON_NULL) {
        sqlite3_bind_null(stmt, at);
    } else if (value->type == JSON_BOOL) {
        sqlite3_bind_int(stmt, at, value->boolean);
    } else if (value->type == JSON_STRING) {
        bind_copy(stmt, at, value->text, value->text_len);
    } else if (value->type == JSON_NUMBER && json_i64(value, &number)) {
        sqlite3_bind_int64(stmt, at, number);
    } else if (value->type == JSON_NUMBER && json_double(value, &real)) {
        sqlite3_bind_double(stmt, at, real);
    } else {
        json_print(&text, value, 0);
        bind_copy(stmt, at, str_c(&text), text.len);
    }
}

static const struct json *param(const struct json *root, const char *name, int at)
{
    if (!root) {
        return NULL;
    }
    if (root->type == JSON_ARRAY) {
        return json_at(root, (size_t)(at - 1));
    }
    return name ? json_get(root, name + 1) : NULL;
}

static int bind_all(sqlite3_stmt *stmt, const char *params, struct arena *arena, struct err *err)
{
    const struct json *root = NULL;
    int count = sqlite3_bind_parameter_count(stmt);
    size_t given = 0;
    if (params && json_parse(arena, params, strlen(params), &root, err) < 0) {
        return err_wrap(err, "the parameters of a statement");
    }
    if (root && root->type != JSON_ARRAY && root->type != JSON_OBJECT) {
        return err_set(err, ERR_PERMANENT, "SqlError",
                       "the parameters of a statement are a JSON array or object");
    }
    for (int i = 1; i <= count; i++) {
        const char *name = sqlite3_bind_parameter_name(stmt, i);
        const struct json *value = param(root, name, i);
        if (!value) {
            return err_set(err, ERR_PERMANENT, "SqlError", "parameter %d%s%s has no value", i,
                           name ? " " : "", name ? name : "");
        }
        bind(stmt, i, value);
    }
    json_each (value, root) {
        given++;
    }
    if (given > (size_t)count) {
        return err_set(err, ERR_PERMANENT, "SqlError",
                       "%zu parameters are given, the statement has %d", given, count);
    }
    return 0;
}

static void put_value(struct json_out *w, sqlite3_stmt *stmt, int column)
{
    autostr struct str text = {0};
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        json_put_i64(w, sqlite3_column_int64(stmt, column));
        break;
    case SQLITE_FLOAT:
        json_put_double(w, sqlite3_column_double(stmt, column));
        break;
    case SQLITE_TEXT:
        json_put_strn(w, column_text(stmt, column), (size_t)sqlite3_column_bytes(stmt, column));
        break;
    case SQLITE_BLOB:
        base64_encode(&text, column_blob(stmt, column), (size_t)sqlite3_column_bytes(stmt, column));
        json_put_strn(w, str_c(&text), text.len);
        break;
    default:
        json_put_null(w);
    }
}

static void put_row(struct json_out *w, sqlite3_stmt *stmt)
{
    json_begin_object(w);
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        json_key(w, sqlite3_column_name(stmt, i));
        put_value(w, stmt, i);
    }
    json_end_object(w);
}

/* --- one statement -----------------------------------------------------------------------------
 */

static int step_all(struct txn *txn, sqlite3_stmt *stmt, struct str *rows, struct err *err)
{
    struct json_out w = json_writer(rows, 0);
    int rc;
    json_begin_array(&w);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        put_row(&w, stmt);
        if (rows->len > SQL_ROWS_BYTES) {
            return err_set(err, ERR_PERMANENT, "SqlError", "the rows are more than %u bytes",
                           SQL_ROWS_BYTES);
        }
    }
    json_end_array(&w);
    return rc == SQLITE_DONE ? 0 : fail(txn, rc, err);
}

/* Exactly one statement; NULL with err filled. */
static sqlite3_stmt *prepare(struct txn *txn, const char *text, struct err *err)
{
    struct db *db = txn_db(txn);
    sqlite3_stmt *stmt = NULL, *more = NULL;
    const char *tail = "";
    int rc = sqlite3_prepare_v2(db->raw, text, -1, &stmt, &tail);
    if (rc != SQLITE_OK) {
        fail(txn, rc, err);
        return NULL;
    }
    if (!stmt) {
        err_set(err, ERR_PERMANENT, "SqlError", "there is no statement in the text");
        return NULL;
    }
    rc = sqlite3_prepare_v2(db->raw, tail, -1, &more, NULL);
    if (rc != SQLITE_OK || more) {
        sqlite3_finalize(more);
        sqlite3_finalize(stmt);
        err_set(err, ERR_PERMANENT, "SqlError", "one statement at a time");
        return NULL;
    }
    return stmt;
}

int sql_run(struct txn *txn, struct arena *arena, const char *text, const char *params,
            const char **ret_rows, int64_t *ret_changes, struct err *err)
{
    struct db *db = txn_db(txn);
    autostr struct str rows = {0};
    if (txn_failed(txn)) {
        *err = *txn_error(txn);
        return -1;
    }
    if (!text) {
        return err_set(err, ERR_PERMANENT, "SqlError", "there is no statement");
    }
    arm(db);
    int64_t before = sqlite3_total_changes64(db->raw);
    sqlite3_stmt *stmt = prepare(txn, text, err);
    int rc = stmt ? bind_all(stmt, params, arena, err) : -1;
    if (rc == 0) {
        rc = step_all(txn, stmt, &rows, err);
    }
    bool changes = stmt && !sqlite3_stmt_readonly(stmt);
    sqlite3_finalize(stmt);
    db->guarded = false;
    if (ret_changes) {
        *ret_changes = rc == 0 && changes && sqlite3_total_changes64(db->raw) != before
                           ? sqlite3_changes64(db->raw)
                           : 0;
    }
    if (rc == 0 && ret_rows) {
        *ret_rows = arena_strndup(arena, str_c(&rows), rows.len);
    }
    return rc;
}
