/*
 * sql.h - statements of the program's own within a transaction of the engine.
 *
 * Owns: running one statement with bound values and giving its rows as JSON; and the guard: such a
 * statement may read and change the program's tables, nothing else. Refused when it is prepared:
 * the engine's tables and views, ATTACH, PRAGMA, BEGIN, COMMIT, SAVEPOINT, and every change of the
 * schema (dur_options.schema makes tables). Must not: begin or end transactions.
 */
#ifndef JOURNAL_SQL_H
#define JOURNAL_SQL_H

#include "journal/store.h"

#define SQL_ROWS_BYTES (2U * 1024 * 1024) /* of rows as JSON: one payload */

/* text: exactly one statement. params: a JSON array for ?1, ?2 ..., a JSON object for :name, or
 * NULL. Strings, integers, numbers, booleans (as 0 and 1) and null are bound as such, arrays and
 * objects as their JSON text. ret_rows (may be NULL): "[{"column":value,...},...]" in arena; blobs
 * are base64. ret_changes (may be NULL): rows that the statement changed.
 * <0: SqlRefused, SqlError (permanent): it changed nothing and the transaction goes on;
 * SqlLost (transient): it ended the transaction, which has failed; or the store's own errors, which
 * stick to the transaction as always. */
int sql_run(struct txn *txn, struct arena *arena, const char *text, const char *params,
            const char **ret_rows, int64_t *ret_changes, struct err *err);

#endif
