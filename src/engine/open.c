/*
 * open.c - opening and closing an engine handle, its options and its errors.
 * Owns: defaults of dur_options, the translation of err.name to durable.h's codes, thread-local
 * error text.
 * Tests: tests/unit/test_engine_open.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"

#define STOP_GRACE_MS_DEFAULT 30000
#define KEEP_MS_MOST (100 * 365 * (int64_t)DUR_DAYS)
#define CHAIN_SPACING_MS_DEFAULT 1000 /* as Temporal's server keeps runs of a chain apart */
#define SUGGEST_EVENTS_DEFAULT 4096   /* and suggests to continue as new */
#define SUGGEST_BYTES_DEFAULT (4 << 20)
#define CACHED_RUNS_DEFAULT 4096

/* A thread's last errors, by handle; a new one takes the place of the oldest. */
#define ERRORS_KEPT 8 /* handles that one thread uses at a time */
static _Thread_local struct {
    uint64_t serial; /* of the handle; 0: free, or no handle */
    char text[ERR_TEXT_BYTES];
} last_errors[ERRORS_KEPT];
static _Thread_local unsigned next_error;
static atomic_uint_fast64_t serials;

int engine_code(const struct err *err)
{
    static const struct {
        const char *name;
        int code;
    } table[] = {
        {"StoreNotFound", DUR_NOT_FOUND},
        {"NewerFile", DUR_NEWER},
        {"StoreBusy", DUR_BUSY},
        {"DiskFull", DUR_FULL},
        {"StoreFull", DUR_FULL},
        {"MemoryShort", DUR_FULL},
        {"OutOfMemory", DUR_FULL},
        {"RunExists", DUR_EXISTS},
        {"NotADatabase", DUR_INVALID},
        {"ForeignDatabase", DUR_INVALID},
        {"OlderFile", DUR_OLDER},
        {"MigrationChanged", DUR_INVALID},
        {"NetworkFileSystem", DUR_INVALID},
        {"RunGone", DUR_NOT_FOUND},
        {"BadHistory", DUR_INVALID},
        {"BadJson", DUR_INVALID},
        {"BadCron", DUR_INVALID},
        {"BadSchedule", DUR_INVALID},
        {"BadAttributes", DUR_INVALID},
        {"TimeZoneUnknown", DUR_INVALID},
        {"TimeZonesMissing", DUR_NOT_FOUND},
        {"NoStack", DUR_LIMIT},
        {"HistoryInvalid", DUR_INVALID},
        {"UnknownSealingKey", DUR_INVALID},
        {"BrokenSeal", DUR_INVALID},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(err->name, table[i].name)) {
            return table[i].code;
        }
    }
    return DUR_IO;
}

static char *error_text(const dur_engine *engine, bool is_wanted)
{
    uint64_t serial = engine ? engine->serial : 0;
    for (size_t i = 0; i < ERRORS_KEPT; i++) {
        if (last_errors[i].serial == serial && (serial || *last_errors[i].text)) {
            return last_errors[i].text;
        }
    }
    if (!is_wanted) {
        return NULL;
    }
    size_t at = next_error++ % ERRORS_KEPT;
    last_errors[at].serial = serial;
    return last_errors[at].text;
}

int engine_fail(dur_engine *engine, const struct err *err)
{
    str_copy(error_text(engine, true), ERR_TEXT_BYTES, err->text);
    return engine_code(err);
}

int engine_refuse(dur_engine *engine, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(error_text(engine, true), ERR_TEXT_BYTES, fmt, ap);
    va_end(ap);
    return code;
}

static bool is_within_turn(dur_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    bool is_mine = engine->serving && pthread_equal(engine->server, pthread_self());
    const struct host *host = engine->host;
    const struct remote_host *remote_host = engine->remote_host;
    pthread_mutex_unlock(&engine->mutex);
    return is_mine && !(host && host->is_outside) && /* these flags are this thread's own */
           !remote_host_is_outside(remote_host);
}

int engine_mine(dur_engine *engine)
{
    if (!engine) {
        return engine_refuse(engine, DUR_INVALID, "there is no engine");
    }
    if (engine->pid != getpid()) { /* before any lock: a thread that is gone may hold it */
        return engine_refuse(
            engine, DUR_INVALID, "process %d opened this engine; after fork() %s", (int)engine->pid,
            engine->remote ? "exec a program that connects" : "open the file anew");
    }
    return DUR_OK;
}

int engine_ready(dur_engine *engine, bool is_writer)
{
    int rc = engine_mine(engine);
    if (rc) {
        return rc;
    }
    if (!engine->store && !engine->remote) {
        return engine_refuse(engine, DUR_INVALID, "the engine is not open: opening it failed");
    }
    if (is_writer && engine->options.read_only) {
        return engine_refuse(engine, DUR_INVALID, "the store was opened read-only");
    }
    if (is_writer && is_within_turn(engine)) {
        return engine_refuse(engine, DUR_INVALID,
                             "workflow code and log callbacks must not call the engine");
    }
    return is_writer && engine->store ? keys_ready(engine) : DUR_OK;
}

int engine_store_ready(dur_engine *engine, bool is_writer, const char *instead)
{
    int rc = engine_ready(engine, is_writer);
    if (rc == DUR_OK && engine->remote) {
        rc = engine_refuse(engine, DUR_INVALID, "runs of this engine live on the server at %s: %s",
                           engine->path, instead);
    }
    return rc;
}

int64_t engine_now_ns(const dur_engine *engine)
{
    return clock_wall_of(engine->clock);
}

const char *dur_error(dur_engine *engine)
{
    const char *text = error_text(engine, false);
    return text ? text : "";
}

char *engine_identity(const char *wish)
{
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    return wish && *wish ? mem_strdup(wish) : mem_printf("%d@%s", (int)getpid(), name);
}

static int open_store(dur_engine *engine, const dur_options *o, struct err *err)
{
    size_t steps = 0;
    while (o->schema && o->schema[steps].name) {
        steps++;
    }
    struct store_migration *schema = mem_array(steps + 1, sizeof(*schema));
    for (size_t i = 0; i < steps; i++) {
        schema[i].name = o->schema[i].name;
        schema[i].sql = o->schema[i].sql;
    }
    struct store_options options = {
        .read_only = o->read_only != 0,
        .no_create = o->no_create != 0,
        .no_migrate = o->no_migrate != 0,
        .busy_timeout_ms = o->busy_timeout_ms,
        .wal_cap_bytes = o->wal_cap_bytes,
        .reserve_bytes = o->reserve_bytes,
        .min_free_bytes = o->min_free_bytes,
        .max_db_bytes = o->max_db_bytes,
        .schema_name = o->schema_name,
        .schema = o->schema ? schema : NULL,
        .vfs = o->vfs,
        .sealer = keyring_sealer(engine->keyring),
    };
    int rc = store_open(engine->path, &options, &engine->store, err);
    free(schema);
    return rc;
}

void engine_fill_defaults(dur_options *o)
{
    o->keep_closed_ms = o->keep_closed_ms > 0 ? o->keep_closed_ms : 0;
    o->keep_closed_ms = o->keep_closed_ms < KEEP_MS_MOST ? o->keep_closed_ms : KEEP_MS_MOST;
    o->keep_closed_runs = o->keep_closed_runs > 0 ? o->keep_closed_runs : 0;
    o->max_cached_runs = o->max_cached_runs > 0 ? o->max_cached_runs : CACHED_RUNS_DEFAULT;
    o->stop_grace_ms = o->stop_grace_ms > 0 ? o->stop_grace_ms : STOP_GRACE_MS_DEFAULT;
    o->suggest_events = o->suggest_events > 0 ? o->suggest_events : SUGGEST_EVENTS_DEFAULT;
    o->suggest_bytes = o->suggest_bytes > 0 ? o->suggest_bytes : SUGGEST_BYTES_DEFAULT;
    if (o->chain_spacing_ms <= 0) {
        o->chain_spacing_ms = o->chain_spacing_ms == 0 ? CHAIN_SPACING_MS_DEFAULT : 0;
    }
}

int engine_new(dur_engine **ret)
{
    struct err err = {0};
    if (!ret) {
        return engine_refuse(NULL, DUR_INVALID, "there is no place for the engine's handle");
    }
    mem_refill();
    dur_engine *engine = mem_alloc(sizeof(*engine));
    *ret = engine;
    engine->serial = atomic_fetch_add(&serials, 1) + 1;
    engine->pid = getpid();
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->at_rest, NULL);
    return inbox_init(&engine->inbox, &err) < 0 ? engine_fail(engine, &err) : DUR_OK;
}

int dur_open_at(dur_engine **ret, const char *path, const dur_options *options, size_t options_size)
{
    struct err err = {0};
    dur_options o = {0};
    int rc = engine_new(ret);
    if (rc != DUR_OK) {
        return rc;
    }
    dur_engine *engine = *ret;
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    if (!path || !*path) {
        return engine_refuse(engine, DUR_INVALID, "a database path is needed");
    }
    engine->path = mem_strdup(path);
    engine->identity = engine_identity(o.identity);
    if (o.keyring_file && keyring_load(o.keyring_file, &engine->keyring, &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "%s", err.text);
    }
    if (open_store(engine, &o, &err) < 0 ||
        (!o.read_only && bell_open(path, 0, &engine->bell, &err) < 0)) {
        engine->store = store_close(engine->store);
        return engine_fail(engine, &err);
    }
    engine->options = o;
    engine->options.identity = engine->options.schema_name = engine->options.vfs = NULL;
    engine->options.keyring_file = NULL;
    engine->options.schema = NULL;
    engine_fill_defaults(&engine->options);
    rc = keys_agree(engine);
    if (rc != DUR_OK) {
        engine->store = store_close(engine->store);
    }
    return rc;
}

static void free_names(dur_engine *engine)
{
    registry_free(&engine->registry);
    while (engine->lanes) {
        struct lane_wish *next = engine->lanes->next;
        free(engine->lanes->task_queue);
        free(engine->lanes);
        engine->lanes = next;
    }
    free(engine->identity);
    free(engine->path);
}

static void close_step_fds(dur_engine *engine)
{
    if (engine->step_fd > 0) {
        close(engine->timer_fd);
        close(engine->step_fd);
    }
}

/* In a forked child: descriptors that are plain copies are closed. SQLite's connections and what
 * a serving engine had in memory stay as they are, since closing or unwinding them would touch the
 * parent's files; they go with the process. */
static void abandon(dur_engine *engine)
{
    engine->bell = bell_close(engine->bell);
    engine->spare_bell = bell_close(engine->spare_bell);
    close_step_fds(engine);
    if (engine->inbox.ready) {
        close(engine->inbox.wake_fd);
    }
    free_names(engine);
    keyring_free(engine->keyring);
    free(engine->test_dir);
    free(engine);
}

void dur_close(dur_engine *engine)
{
    if (!engine) {
        return;
    }
    if (engine->pid != getpid()) {
        abandon(engine);
        return;
    }
    dur_stop(engine);
    pthread_mutex_lock(&engine->mutex);
    while (engine->serving) {
        pthread_cond_wait(&engine->at_rest, &engine->mutex);
    }
    pthread_mutex_unlock(&engine->mutex);
    step_close(engine);
    close_step_fds(engine);
    engine->bell = bell_close(engine->bell);
    engine->spare_bell = bell_close(engine->spare_bell);
    engine->store = store_close(engine->store);
    engine->keyring = keyring_free(engine->keyring);
    if (engine->remote) {
        engine_remote_close(engine);
    }
    test_close(engine);
    inbox_free(&engine->inbox);
    free_names(engine);
    pthread_cond_destroy(&engine->at_rest);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

void dur_free(void *text)
{
    free(text);
}
