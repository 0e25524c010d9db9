/*
 * companion.h - names of the files that live beside the database (private).
 *
 * Owns: the one rule that DBPATH's canonical form (symbolic links resolved, as SQLite does) plus a
 * suffix names a companion, so that two names of one file never mean two locks.
 */
#ifndef JOURNAL_COMPANION_H
#define JOURNAL_COMPANION_H

#include "base/err.h"

/* Canonical absolute form of db_path, which need not exist though its directory must; caller frees.
 */
int companion_canonical(const char *db_path, char **ret, struct err *err);
int companion_path(const char *db_path, const char *suffix, char **ret, struct err *err);

#endif
