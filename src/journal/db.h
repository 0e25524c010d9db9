/*
 * db.h - one SQLite connection with its statements, lock and error translation (private).
 *
 * Owns: struct db, the statement cache (keyed by the address of the SQL text, so SQL must be a
 * static array), binding and column helpers, the jittered busy handler. Used by this room's files
 * only. Invariant: every error on a connection that has a transaction open sticks to it (a
 * statement that fails may have rolled it back; nothing may then run in autocommit mode).
 */
#ifndef JOURNAL_DB_H
#define JOURNAL_DB_H

#include <pthread.h>
#include <sqlite3.h>

#include "journal/store.h"

#define DB_CACHE_SLOTS 256 /* power of two; the room has about 70 statements */

struct db_stmt {
    const char *sql;
    sqlite3_stmt *stmt;
};

struct db {
    sqlite3 *raw;         /* NULL when not open */
    pthread_mutex_t lock; /* recursive */
    struct txn *txn;      /* the open transaction of a writing connection */
    int snapshots;        /* depth of snapshot_begin */
    int64_t busy_timeout_ms;
    int64_t busy_deadline_ns;
    bool has_guard;              /* sql.c: its authorizer is installed */
    bool guarded;                /* and armed */
    const struct sealer *sealer; /* of columns that are sealed; NULL: none */
    const char *refused;         /* what it refused last; "": a kind of statement */
    int stmt_count;
    struct db_stmt cache[DB_CACHE_SLOTS];
};

/* Opens path (absolute) with SQLite flags and VFS; the struct must be zeroed. */
int db_open(struct db *db, const char *path, int flags, const char *vfs, int64_t busy_timeout_ms,
            struct err *err);
void db_close(struct db *db);

/* Fill err from a SQLite result code; sticks to the transaction if there is one. Always -1. */
int db_fail(struct db *db, int rc, struct err *err);
int db_exec(struct db *db, const char *sql, struct err *err);
/* First column of the first row of a one-off statement (pragmas). 1: no row. */
int db_ask_i64(struct db *db, const char *sql, int64_t *ret, struct err *err);
/* Cached statement, reset and ready to bind; NULL with err filled. */
sqlite3_stmt *db_stmt(struct db *db, const char *sql, struct err *err);

/* --- reading: query_begin, bind, query_next until 0, (auto) query_end ------------------------- */

struct query {
    struct db *db;
    sqlite3_stmt *stmt; /* NULL: query_begin failed; binding and query_next cope with it */
    struct err *err;
};
struct query query_begin(struct db *db, const char *sql, struct err *err);
int query_next(struct query *q); /* 1 a row, 0 no more, <0 error */
void query_end(struct query *q);
#define autoquery cleanup_with(query_end)

static inline int64_t row_i64(const struct query *q, int column)
{
    return sqlite3_column_int64(q->stmt, column);
}
/* SQLite's own text of a column, until the next step; NULL for SQL NULL alone: that there is no
 * memory for it (it is copied where it lies on several pages) ends as in base/mem.h. */
const char *column_text(sqlite3_stmt *stmt, int column);
const void *column_blob(sqlite3_stmt *stmt, int column); /* the same; NULL when it is empty */
char *row_text(const struct query *q, struct arena *arena, int column); /* NULL for SQL NULL */
/* Of a column that bind_sealed() wrote: opened. What cannot be opened is an error of the
 * transaction, or comes sealed when there is none (sealed.h). */
const char *row_sealed(const struct query *q, struct arena *arena, int column);

/* All rows of a query that has its parameters, into *list (rows, count) in arena, by
 * `void read(const struct query *, struct arena *, struct X *)`. 0, or <0 error. */
#define query_list(q, arena, list, read)                                                           \
    __extension__({                                                                                \
        size_t cap_ = 0;                                                                           \
        int rc_;                                                                                   \
        *(list) = (__typeof__(*(list))){0};                                                        \
        while ((rc_ = query_next(q)) > 0) {                                                        \
            arena_grow((arena), (list)->rows, (list)->count, &cap_);                               \
            read((q), (arena), &(list)->rows[(list)->count++]);                                    \
        }                                                                                          \
        rc_;                                                                                       \
    })
/* The first row, by such a reader. 0; 1: there is none; <0 error. */
#define query_one(q, arena, ret, read)                                                             \
    __extension__({                                                                                \
        int rc_ = query_next(q);                                                                   \
        if (rc_ > 0) {                                                                             \
            read((q), (arena), (ret));                                                             \
        }                                                                                          \
        rc_ > 0 ? 0 : rc_ < 0 ? rc_ : 1;                                                           \
    })

/* --- binding (stmt may be NULL) --------------------------------------------------------------- */

static inline void bind_i64(sqlite3_stmt *stmt, int index, int64_t value)
{
    sqlite3_bind_int64(stmt, index, value);
}
static inline void bind_i64_opt(sqlite3_stmt *stmt, int index, int64_t value) /* 0: NULL */
{
    if (value) {
        sqlite3_bind_int64(stmt, index, value);
    } else {
        sqlite3_bind_null(stmt, index);
    }
}
/* Copied. SQLite may be short of memory for the copy, and would take NULL instead: asked again with
 * the reserve, then the end as in base/mem.h. */
void bind_copy(sqlite3_stmt *stmt, int index, const char *text, size_t len);
/* Borrowed until the statement has run. */
static inline void bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    sqlite3_bind_text(stmt, index, text, -1, SQLITE_STATIC);
}

/* Sealed when the store has a sealer; copied (sealed.c). */
void bind_sealed(struct txn *txn, sqlite3_stmt *stmt, int index, const char *text);

/* --- writing ---------------------------------------------------------------------------------- */

/* Statement on the transaction's connection; NULL when the transaction has failed. */
sqlite3_stmt *txn_stmt(struct txn *txn, const char *sql);
/* Runs a statement to its end. Number of rows that it changed itself; 0 when the txn has failed. */
int txn_run(struct txn *txn, sqlite3_stmt *stmt);
/* Bind (execution, event_id) to ?1 and ?2 and run: true when a row was changed. */
bool txn_run_key(struct txn *txn, const char *sql, int64_t a, int64_t b);
int64_t txn_last_rowid(const struct txn *txn);
/* Grow an arena array: doubles by copying; *cap in elements. */
void *arena_grow_(struct arena *arena, void *items, size_t count, size_t *cap, size_t each);
#define arena_grow(arena, items, count, cap)                                                       \
    ((items) = arena_grow_((arena), (items), (count), (cap), sizeof(*(items))))

#endif
