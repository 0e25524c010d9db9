/*
 * transact.c - transactions of the program's own within a workflow task (host.h); implements the
 * dur_sql side of durable.h.
 *
 * Owns: two marks of the turn's transaction. The inner one takes back a callback that failed; the
 * outer one, set before the first callback of a task, takes back all of them when the task itself
 * leaves no trace. So the SQL and the marker that records it are committed together or not at all.
 * SQL that ends the whole transaction costs that turn; when it comes again the callback is not run,
 * and fails with "TransactionLost".
 * Tests: tests/unit/test_engine_transaction.c
 */
#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "exec/failure_info.h"
#include "journal/sql.h"
#include "worker/host.h"

struct dur_sql {
    struct txn *txn;
    struct arena *arena;
    const char *error; /* of the last call; "" */
    int64_t changes;
    const char *type; /* of dur_sql_fail; NULL: not called */
    const char *message;
    bool is_lost;
};

int dur_sql_rows(dur_sql *sql, const char *text, const char *params_json, const char **rows_json)
{
    struct err err = {0};
    int rc = sql_run(sql->txn, sql->arena, text, params_json, rows_json, &sql->changes, &err);
    sql->error = rc < 0 ? arena_strdup(sql->arena, err.text) : "";
    sql->is_lost |= rc < 0 && str_eq(err.name, "SqlLost");
    if (rc == 0) {
        return DUR_OK;
    }
    return txn_failed(sql->txn) ? DUR_IO : DUR_INVALID;
}

int dur_sql_exec(dur_sql *sql, const char *text, const char *params_json)
{
    return dur_sql_rows(sql, text, params_json, NULL);
}

int64_t dur_sql_changes(const dur_sql *sql)
{
    return sql->changes;
}

const char *dur_sql_error(const dur_sql *sql)
{
    return sql->error;
}

void *dur_sql_alloc(dur_sql *sql, size_t bytes)
{
    return arena_alloc(sql->arena, bytes);
}

int dur_sql_fail(dur_sql *sql, const char *type, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *message = arena_vprintf(sql->arena, fmt, ap);
    va_end(ap);
    size_t len = strlen(message);
    message[utf8_prefix(message, len, ATTEMPT_MESSAGE_MAX)] = '\0';
    sql->type = arena_strdup(sql->arena, type && *type ? type : "Failed");
    sql->message = message;
    return DUR_FAILED;
}

/* Why what the callback gave cannot be recorded; NULL: it can. */
static const char *bad_result(struct arena *arena, const char *result)
{
    struct err err;
    if (result && strlen(result) > ATTEMPT_PAYLOAD_MAX) {
        return arena_printf(arena, "its result is longer than %u bytes", ATTEMPT_PAYLOAD_MAX);
    }
    if (result && json_check(result, strlen(result), &err) < 0) {
        return arena_printf(arena, "its result is not JSON: %s", err.text);
    }
    return NULL;
}

static struct failure *failed(struct dur_sql *sql, const char *name, int code, const char *bad)
{
    const char *type = sql->type;
    const char *message = sql->message;
    if (bad) {
        type = "BadResult";
        message = arena_printf(sql->arena, "transaction %s: %s", name, bad);
    } else if (!type) {
        type = "TransactionError";
        message = arena_printf(sql->arena, "transaction %s returned %d%s%s", name, code,
                               *sql->error ? ": " : "", sql->error);
    }
    return failure_of_kind(sql->arena, DUR_PERMANENT, type, message, NULL);
}

int transact_call(void *user, const char *name, const char *input, struct arena *arena,
                  const char **ret_result, struct failure **ret_failure, struct err *err)
{
    struct host *host = user;
    struct dur_sql sql = {.txn = host->txn, .arena = arena, .error = ""};
    const struct registered *reg = registry_transaction(host->registry, name);
    const char *result = NULL;
    if (!reg) {
        return err_set(err, ERR_PERMANENT, "NoTransaction",
                       "transaction %s is not registered in this program", name);
    }
    host->task_calls++;
    if (host->spoiled == host->task_live->id && host->spoiled_call == host->task_calls) {
        host->spoiled = 0;
        *ret_failure =
            failure_of_kind(arena, DUR_PERMANENT, "TransactionLost",
                            "a statement ended the engine's transaction: ROLLBACK is not for "
                            "transactions, ABORT is",
                            NULL);
        return 1;
    }
    if (!host->task_marked) {
        txn_mark(host->txn);
        host->task_marked = true;
    }
    txn_mark(host->txn);
    int code = reg->transaction(&sql, input ? input : "null", &result, reg->user);
    if (txn_failed(host->txn)) { /* the whole turn is over, and comes again */
        if (sql.is_lost) {
            host->spoiled = host->task_live->id;
            host->spoiled_call = host->task_calls;
        }
        *err = *txn_error(host->txn);
        return -1;
    }
    const char *bad = code == DUR_OK ? bad_result(arena, result) : NULL;
    if (code == DUR_OK && !bad) {
        txn_unmark(host->txn);
        *ret_result = arena_strdup(arena, result);
        return 0;
    }
    txn_undo_to_mark(host->txn);
    *ret_failure = failed(&sql, name, code, bad);
    return 1;
}

void transact_end(struct host *host, bool keep)
{
    host->task_live = NULL;
    host->task_calls = 0;
    if (!host->task_marked) {
        return;
    }
    host->task_marked = false;
    if (txn_failed(host->txn)) {
        return; /* the mark goes with all the rest */
    }
    if (keep) {
        txn_unmark(host->txn);
    } else {
        txn_undo_to_mark(host->txn);
    }
}
