/*
 * embedded_sql.h - one migration step as it is compiled into the program.
 *
 * Owns: struct embedded_sql, the element type of the arrays that build-aux/embed-sql writes from
 * migrations/engine and migrations/factory at build time (rules: migrations/Makefile.inc).
 * Must not: know SQLite or what the steps do.
 * Format: steps ascend by number; an entry whose name is NULL ends the array.
 * Thread rule: constant data.
 */
#ifndef BASE_EMBEDDED_SQL_H
#define BASE_EMBEDDED_SQL_H

struct embedded_sql {
    const char *name; /* file name without ".sql": "0001_init" */
    const char *sql;  /* the file's text, byte for byte */
};

#endif
