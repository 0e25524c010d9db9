/*
 * ledger.c - see ledger.h. Owns the SQL of the factory's tables and the connection's settings.
 * Tests: tests/unit/test_factory_ledger.c
 */
#include "factory/ledger.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/embedded_sql.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sealed_text.h"

#define BUSY_LIMIT_MS 10000

extern const struct embedded_sql factory_migrations[];
const char FACTORY_SCHEMA_NAME[] = "factory";

struct ledger {
    sqlite3 *db;
    pthread_mutex_t mutex;
    int64_t busy_since_ns;
    const struct sealer *sealer; /* of request and plan; NULL: none */
};

const dur_migration *factory_schema(void)
{
    /* Same members in the same order: name, sql. */
    _Static_assert(sizeof(dur_migration) == sizeof(struct embedded_sql), "one form of a step");
    return (const dur_migration *)(const void *)factory_migrations;
}

/* Short jittered sleeps bounded by time: SQLite's own handler starves (docs/schema.md). */
static int on_busy(void *user, int count)
{
    struct ledger *ledger = user;
    int64_t now = clock_mono_ns();
    if (count == 0) {
        ledger->busy_since_ns = now;
    }
    if (now - ledger->busy_since_ns > BUSY_LIMIT_MS * NS_PER_MS) {
        return 0;
    }
    sqlite3_sleep(count < 20 ? 0 : 1 + (int)(rng_u64() % 3));
    return 1;
}

static int failed(struct ledger *ledger, struct err *err)
{
    static const int passing_codes[] = {SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL,
                                        SQLITE_FULL, SQLITE_IOERR,  SQLITE_NOMEM};
    int code = sqlite3_errcode(ledger->db) & 0xff;
    bool passing =
        code == SQLITE_CANTOPEN && err_sys_kind(sqlite3_system_errno(ledger->db)) == ERR_TRANSIENT;
    for (size_t i = 0; i < ARRAY_LEN(passing_codes); i++) {
        passing |= code == passing_codes[i];
    }
    if (code == SQLITE_NOMEM) {
        mem_note_short();
    }
    return err_set(err, passing ? ERR_TRANSIENT : ERR_PERMANENT, "LedgerError", "ledger: %s",
                   sqlite3_errmsg(ledger->db));
}

int ledger_open(const char *path, bool read_only, struct ledger **ret, struct err *err)
{
    struct ledger *ledger = mem_alloc(sizeof(*ledger));
    pthread_mutex_init(&ledger->mutex, NULL);
    int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(path, &ledger->db, flags, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_busy_handler(ledger->db, on_busy, ledger);
        rc = sqlite3_exec(ledger->db, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON", NULL, NULL,
                          NULL);
    }
    if (rc != SQLITE_OK) {
        failed(ledger, err);
        ledger_close(ledger);
        return err_wrap(err, "%s", path);
    }
    *ret = ledger;
    return 0;
}

void ledger_seal_with(struct ledger *ledger, const struct sealer *sealer)
{
    ledger->sealer = sealer;
}

struct ledger *ledger_close(struct ledger *ledger)
{
    if (ledger) {
        sqlite3_close(ledger->db);
        pthread_mutex_destroy(&ledger->mutex);
        free(ledger);
    }
    return NULL;
}

/* --- statements: prepared for one use; the ledger is written a few dozen times a run -------------
 */

static sqlite3_stmt *begin(struct ledger *ledger, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    pthread_mutex_lock(&ledger->mutex);
    sqlite3_prepare_v2(ledger->db, sql, -1, &stmt, NULL);
    return stmt;
}

static void text(sqlite3_stmt *stmt, int index, const char *value)
{
    sqlite3_bind_text(stmt, index, value, -1, SQLITE_STATIC);
}

static void number(sqlite3_stmt *stmt, int index, int64_t value)
{
    sqlite3_bind_int64(stmt, index, value);
}

/* The statement and the lock go; ret is the caller's answer. Ask failed() before. */
static int done(struct ledger *ledger, sqlite3_stmt *stmt, int ret)
{
    sqlite3_finalize(stmt);
    pthread_mutex_unlock(&ledger->mutex);
    return ret;
}

/* Runs a writing statement to its end. */
static int end(struct ledger *ledger, sqlite3_stmt *stmt, struct err *err)
{
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    int ret = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : failed(ledger, err);
    return done(ledger, stmt, ret);
}

/* Until the next step; NULL for SQL NULL alone: no memory for it is not taken for that. */
static const char *peek(sqlite3_stmt *stmt, int index)
{
    const char *found = (const char *)sqlite3_column_text(stmt, index);
    if (!found && sqlite3_errcode(sqlite3_db_handle(stmt)) == SQLITE_NOMEM) {
        mem_note_short();
        found = (const char *)sqlite3_column_text(stmt, index);
        if (!found && sqlite3_column_type(stmt, index) != SQLITE_NULL) {
            mem_exhausted((size_t)sqlite3_column_bytes(stmt, index));
        }
    }
    return found;
}

static const char *column(sqlite3_stmt *stmt, struct arena *arena, int index)
{
    return arena_strdup(arena, peek(stmt, index));
}

int ledger_get_versions(struct ledger *ledger, struct ledger_versions *ret, struct err *err)
{
    sqlite3_stmt *stmt =
        begin(ledger, "SELECT count(*) FILTER (WHERE schema = 'engine'),"
                      " count(*) FILTER (WHERE schema = 'factory') FROM migration");
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    int found = rc == SQLITE_ROW ? 0 : failed(ledger, err);
    if (found == 0) {
        ret->engine = sqlite3_column_int(stmt, 0);
        ret->factory = sqlite3_column_int(stmt, 1);
    }
    return done(ledger, stmt, found);
}

#define RUN_COLUMNS                                                                                \
    "run_id, workflow_id, execution_id, request, plan, repository, revision, commit_id, agent, "   \
    "model, profile, task_sha256, config_digest, submitted_ns, finished_ns, state, agent_result, " \
    "verification_result, cleanup_result, patch_sha256, manifest_sha256"

/* Opens what is sealed, when there are keys. */
static int unseal(const struct ledger *ledger, struct arena *arena, struct ledger_run *run,
                  struct err *err)
{
    if (!ledger->sealer) {
        return 0;
    }
    if (sealed_open(ledger->sealer, arena, run->request, &run->request, err) < 0 ||
        sealed_open(ledger->sealer, arena, run->plan, &run->plan, err) < 0) {
        return err_wrap(err, "ledger: run %s", run->run_id);
    }
    return 0;
}

static void read_run(sqlite3_stmt *stmt, struct arena *arena, struct ledger_run *run)
{
    const char **texts[] = {
        &run->run_id,     &run->workflow_id, &run->execution_id, &run->request, &run->plan,
        &run->repository, &run->revision,    &run->commit_id,    &run->agent,   &run->model,
        &run->profile,    &run->task_sha256, &run->config_digest};
    const char **more[] = {&run->state,          &run->agent_result, &run->verification_result,
                           &run->cleanup_result, &run->patch_sha256, &run->manifest_sha256};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        *texts[i] = column(stmt, arena, (int)i);
    }
    run->submitted_ns = sqlite3_column_int64(stmt, 13);
    run->finished_ns = sqlite3_column_int64(stmt, 14);
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        *more[i] = column(stmt, arena, 15 + (int)i);
    }
}

int ledger_add_run(struct ledger *ledger, const struct ledger_run *run, struct err *err)
{
    sqlite3_stmt *stmt = begin(
        ledger, "INSERT INTO factory_run (run_id, workflow_id, execution_id, request, repository,"
                " revision, agent, model, profile, task_sha256, config_digest, submitted_ns, state)"
                " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,'RUNNING')"
                " ON CONFLICT (run_id) DO NOTHING");
    autoarena struct arena *arena = arena_new();
    const char *request = sealed_text(ledger->sealer, arena, run->request);
    const char *const values[] = {run->run_id,     run->workflow_id, run->execution_id, request,
                                  run->repository, run->revision,    run->agent,        run->model,
                                  run->profile,    run->task_sha256, run->config_digest};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        text(stmt, (int)i + 1, values[i]);
    }
    number(stmt, 12, run->submitted_ns);
    if (end(ledger, stmt, err) < 0) {
        return -1;
    }
    struct ledger_run found;
    int rc = ledger_get_run(ledger, arena, run->run_id, &found, err);
    if (rc == 0 && !str_eq(found.execution_id, run->execution_id)) {
        return err_set(err, ERR_PERMANENT, "RunExists",
                       "run %s was executed before; its evidence is kept. Use another run id",
                       run->run_id);
    }
    return rc < 0 ? -1 : 0;
}

int ledger_set_plan(struct ledger *ledger, const char *run_id, const char *plan, const char *commit,
                    struct err *err)
{
    autoarena struct arena *arena = arena_new();
    sqlite3_stmt *stmt =
        begin(ledger, "UPDATE factory_run SET plan = ?2, commit_id = ?3 WHERE run_id = ?1");
    text(stmt, 1, run_id);
    text(stmt, 2, sealed_text(ledger->sealer, arena, plan));
    text(stmt, 3, commit);
    return end(ledger, stmt, err);
}

int ledger_finish_run(struct ledger *ledger, const struct ledger_run *row, struct err *err)
{
    sqlite3_stmt *stmt = begin(
        ledger, "UPDATE factory_run SET state = ?2, agent_result = ?3, verification_result = ?4,"
                " cleanup_result = ?5, patch_sha256 = ?6, manifest_sha256 = ?7,"
                " finished_ns = ?8 WHERE run_id = ?1");
    const char *const values[] = {
        row->run_id,         row->state,        row->agent_result,   row->verification_result,
        row->cleanup_result, row->patch_sha256, row->manifest_sha256};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        text(stmt, (int)i + 1, values[i]);
    }
    number(stmt, 8, row->finished_ns);
    return end(ledger, stmt, err);
}

int ledger_get_run(struct ledger *ledger, struct arena *arena, const char *run_id,
                   struct ledger_run *ret, struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "SELECT " RUN_COLUMNS " FROM factory_run WHERE run_id = ?1");
    text(stmt, 1, run_id);
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    int found = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? 1 : failed(ledger, err);
    if (found == 0) {
        read_run(stmt, arena, ret);
        found = unseal(ledger, arena, ret, err);
    }
    return done(ledger, stmt, found);
}

int ledger_list_runs(struct ledger *ledger, int limit,
                     int (*row)(void *user, const struct ledger_run *run), void *user,
                     struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "SELECT " RUN_COLUMNS " FROM factory_run"
                                       " ORDER BY submitted_ns DESC LIMIT ?1");
    number(stmt, 1, limit > 0 ? limit : -1);
    int rc = SQLITE_ERROR;
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        autoarena struct arena *arena = arena_new();
        struct ledger_run run;
        read_run(stmt, arena, &run);
        if (row(user, &run)) {
            rc = SQLITE_DONE;
            break;
        }
    }
    int ret = rc == SQLITE_DONE ? 0 : failed(ledger, err);
    return done(ledger, stmt, ret);
}

int ledger_put_artifact(struct ledger *ledger, const char *run_id, const char *path,
                        const char *sha256, uint64_t bytes, struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "INSERT INTO factory_artifact VALUES (?1,?2,?3,?4,?5)"
                                       " ON CONFLICT DO UPDATE SET sha256 = ?3, bytes = ?4,"
                                       " written_ns = ?5 WHERE sha256 <> ?3");
    text(stmt, 1, run_id);
    text(stmt, 2, path);
    text(stmt, 3, sha256);
    number(stmt, 4, (int64_t)bytes);
    number(stmt, 5, clock_wall_ns());
    return end(ledger, stmt, err);
}

int ledger_list_artifacts(struct ledger *ledger, const char *run_id,
                          int (*row)(void *user, const struct ledger_artifact *artifact),
                          void *user, struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "SELECT path, sha256, bytes FROM factory_artifact"
                                       " WHERE run_id = ?1 ORDER BY path");
    text(stmt, 1, run_id);
    int rc = SQLITE_ERROR;
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct ledger_artifact artifact = {
            .path = peek(stmt, 0),
            .sha256 = peek(stmt, 1),
            .bytes = sqlite3_column_int64(stmt, 2),
        };
        if (row(user, &artifact)) {
            rc = SQLITE_DONE;
            break;
        }
    }
    int ret = rc == SQLITE_DONE ? 0 : failed(ledger, err);
    return done(ledger, stmt, ret);
}

int ledger_put_sandbox(struct ledger *ledger, const char *sandbox_id, const char *run_id,
                       const char *execution_id, const char *role, const char *provider,
                       struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "INSERT INTO factory_sandbox VALUES (?1,?2,?3,?4,?5,?6,NULL)"
                                       " ON CONFLICT DO NOTHING");
    const char *const values[] = {sandbox_id, run_id, execution_id, role, provider};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        text(stmt, (int)i + 1, values[i]);
    }
    number(stmt, 6, clock_wall_ns());
    return end(ledger, stmt, err);
}

int ledger_list_sandboxes(struct ledger *ledger, const char *run_id,
                          int (*row)(void *user, const struct ledger_sandbox *sandbox), void *user,
                          struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "SELECT sandbox_id, run_id, role, provider, created_ns,"
                                       " destroyed_ns FROM factory_sandbox WHERE run_id = ?1"
                                       " ORDER BY created_ns, sandbox_id");
    text(stmt, 1, run_id);
    int rc = SQLITE_ERROR;
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct ledger_sandbox sandbox = {
            .sandbox_id = peek(stmt, 0),
            .run_id = peek(stmt, 1),
            .role = peek(stmt, 2),
            .provider = peek(stmt, 3),
            .created_ns = sqlite3_column_int64(stmt, 4),
            .destroyed_ns = sqlite3_column_int64(stmt, 5),
        };
        if (row(user, &sandbox)) {
            rc = SQLITE_DONE;
            break;
        }
    }
    int ret = rc == SQLITE_DONE ? 0 : failed(ledger, err);
    return done(ledger, stmt, ret);
}

int ledger_sandbox_destroyed(struct ledger *ledger, const char *sandbox_id, struct err *err)
{
    sqlite3_stmt *stmt = begin(ledger, "UPDATE factory_sandbox SET destroyed_ns = ?2"
                                       " WHERE sandbox_id = ?1 AND destroyed_ns IS NULL");
    text(stmt, 1, sandbox_id);
    number(stmt, 2, clock_wall_ns());
    return end(ledger, stmt, err);
}
