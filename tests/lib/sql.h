/*
 * sql.h - one SQL text on a store, from outside the engine, in Criterion tests.
 *
 * Owns: a connection for the one statement. Needs SQLITE_LIBS and, in the Makefile, this header
 * among the sources.
 */
#ifndef TESTS_SQL_H
#define TESTS_SQL_H

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdint.h>

#include "base/attr.h"

/* Runs all statements of sql. */
is_unused static void sql_run(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s: %s", sql,
                 sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* The number in the first column of the first row. */
is_unused static int64_t sql_ask(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s: %s", sql,
                 sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

#endif
