/*
 * invariant.c - what must hold after a crash (sim.h): the twelve invariants, and the outcome.
 *
 * Owns: looking. Each check reads the store as it lies on the disk, the histories that it gives,
 * and the board; none uses what the engine keeps in memory, but for 5 and 6, which are about that.
 * The first that fails is noted. 3 and 9 are looked at by the activities too (program.c). Must not:
 * repair, or serve, before everything else was looked at. Tests: tests/sim/run-sim.sh (every plant
 * is found by the invariant that it breaks)
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "history/json.h"
#include "history/validate.h"
#include "journal/store.h"
#include "tests/sim/sim.h"
#include "worker/host.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

const char *invariant_name(enum invariant invariant)
{
    static const char *const names[INVARIANTS] = {
        "none",  "acknowledged", "unchanged", "once",    "derived",
        "alive", "slots",        "orphans",   "chain",   "timers",
        "size",  "idempotent",   "newer",     "outcome", "stuck"};
    return names[invariant];
}

void board_break(struct board *board, enum invariant invariant, const char *fmt, ...)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&board->broken, &none, (int)invariant)) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(board->why, SIM_WHY_BYTES, fmt, ap);
    va_end(ap);
}

struct slot *board_slot(struct board *board, uint64_t key)
{
    key = key ? key : 1;
    for (uint64_t i = key;; i++) {
        struct slot *slot = &board->slots[i & (SIM_SLOTS - 1)];
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&slot->key, &found, key) || found == key) {
            return slot;
        }
    }
}

/* --- reading the file ------------------------------------------------------------------------- */

static sqlite3 *open_raw(struct world *world, const char *path, int flags)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
        board_break(world->board, INV_ORPHANS, "%s cannot be opened: %s", path, sqlite3_errmsg(db));
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, 1000);
    return db;
}

/* One value as text, "" when there is none. a and b: parameters, or NULL. */
static char *ask(struct world *world, sqlite3 *db, const char *sql, const char *a, const char *b)
{
    sqlite3_stmt *stmt = NULL;
    char *answer = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        if (a) {
            sqlite3_bind_text(stmt, 1, a, -1, SQLITE_STATIC);
        }
        if (b) {
            sqlite3_bind_text(stmt, 2, b, -1, SQLITE_STATIC);
        }
        rc = sqlite3_step(stmt);
    }
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        answer = mem_strdup(text ? text : "");
    } else if (rc != SQLITE_DONE) {
        board_break(world->board, INV_ORPHANS, "%s: %s", sqlite3_errmsg(db), sql);
    }
    sqlite3_finalize(stmt);
    return answer ? answer : mem_strdup("");
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ at[i]) * 0x100000001B3u;
    }
    return hash;
}

static uint64_t hash_rows(sqlite3 *db, const char *table)
{
    char sql[256];
    sqlite3_stmt *stmt = NULL;
    uint64_t hash = 0xCBF29CE484222325u;
    sqlite3_snprintf(sizeof(sql), sql, "SELECT * FROM \"%w\"", table);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            for (int i = 0; i < sqlite3_column_count(stmt); i++) {
                const void *bytes = sqlite3_column_blob(stmt, i);
                hash = hash_bytes(hash, bytes, (size_t)sqlite3_column_bytes(stmt, i));
                hash = hash_bytes(hash, "|", 1);
            }
        }
    }
    sqlite3_finalize(stmt);
    return hash;
}

/* Of all tables; serving: but for those that say when somebody served. */
static uint64_t hash_tables(sqlite3 *db, bool serving)
{
    static const char tables[] =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND "
        "(?1 = 0 OR name NOT IN ('engine', 'clock', 'clock_jump', 'task_queue')) ORDER BY name";
    sqlite3_stmt *stmt = NULL;
    uint64_t hash = 1;
    if (sqlite3_prepare_v2(db, tables, -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_int(stmt, 1, serving);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            hash = sim_mix(hash + hash_rows(db, (const char *)sqlite3_column_text(stmt, 0)));
        }
    }
    sqlite3_finalize(stmt);
    return hash;
}

static uint64_t hash_file(struct world *world, bool serving)
{
    sqlite3 *db = open_raw(world, world->path, SQLITE_OPEN_READWRITE);
    uint64_t hash = db ? hash_tables(db, serving) : 0;
    sqlite3_close(db);
    return hash;
}

/* --- histories -------------------------------------------------------------------------------- */

#define CLOSES_ACTIVITY                                                                            \
    "coalesce(value ->> '$.activityTaskCompletedEventAttributes.scheduledEventId', "               \
    "value ->> '$.activityTaskFailedEventAttributes.scheduledEventId', "                           \
    "value ->> '$.activityTaskTimedOutEventAttributes.scheduledEventId', "                         \
    "value ->> '$.activityTaskCanceledEventAttributes.scheduledEventId')"
#define CLOSES_TIMER                                                                               \
    "coalesce(value ->> '$.timerFiredEventAttributes.startedEventId', "                            \
    "value ->> '$.timerCanceledEventAttributes.startedEventId')"
#define OPEN_OF(scheduled, closes)                                                                 \
    "SELECT ifnull(group_concat(id), '') FROM (SELECT CAST(value ->> '$.eventId' AS INTEGER) AS "  \
    "id FROM json_each(?1, '$.events') WHERE value ->> '$.eventType' = '" scheduled                \
    "' EXCEPT SELECT CAST(" closes " AS INTEGER) FROM json_each(?1, '$.events') ORDER BY 1)"
#define TWICE_OF(closes)                                                                           \
    "SELECT ifnull(group_concat(id), '') FROM (SELECT " closes                                     \
    " AS id FROM json_each(?1, '$.events') GROUP BY 1 HAVING count(*) > 1 AND id IS NOT NULL)"
#define ROWS_OF(table, column)                                                                     \
    "SELECT ifnull(group_concat(id), '') FROM (SELECT t." column " AS id FROM " table              \
    " AS t JOIN execution AS e ON e.id = t.execution WHERE e.run_id = ?1 ORDER BY 1)"

/* 3 and 4: what the history says is open, and what the tables hold. */
static void check_pending(struct world *world, sqlite3 *db, const dur_description *d,
                          const char *json)
{
    static const struct {
        const char *what, *derived, *rows, *twice;
    } kinds[] = {{"activities", OPEN_OF("EVENT_TYPE_ACTIVITY_TASK_SCHEDULED", CLOSES_ACTIVITY),
                  ROWS_OF("activity", "scheduled_event_id"), TWICE_OF(CLOSES_ACTIVITY)},
                 {"timers", OPEN_OF("EVENT_TYPE_TIMER_STARTED", CLOSES_TIMER),
                  ROWS_OF("timer", "started_event_id"), TWICE_OF(CLOSES_TIMER)}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        autofree char *derived =
            d->closed_ns ? mem_strdup("") : ask(world, db, kinds[i].derived, json, NULL);
        autofree char *rows = ask(world, db, kinds[i].rows, d->run_id, NULL);
        autofree char *twice = ask(world, db, kinds[i].twice, json, NULL);
        if (*twice) {
            board_break(world->board, INV_ONCE, "%s: ended twice: %s of events %s", d->workflow_id,
                        kinds[i].what, twice);
        }
        if (strcmp(derived, rows) != 0) {
            board_break(world->board, INV_DERIVED,
                        "%s: its history leaves %s [%s] open, the store has [%s]", d->workflow_id,
                        kinds[i].what, derived, rows);
        }
    }
}

/* 2 and 8: it goes on from what the last check saw. */
static void check_goes_on(struct world *world, const char *kept, const dur_description *d,
                          const char *json)
{
    struct err err = {0};
    autofree char *path = mem_printf("%s/%s", kept, d->run_id);
    autostr struct str text = {0};
    if (fs_exists(path) && fs_read_file(path, FILE_BYTES_MAX, &text, &err) == 0) {
        const char *before = str_c(&text);
        size_t len = text.len;
        while (len > 0 && strchr("\n ]}", before[len - 1])) {
            len--;
        }
        if (strlen(json) < len) {
            board_break(world->board, INV_CHAIN, "%s: its history has become shorter",
                        d->workflow_id);
        } else if (memcmp(before, json, len) != 0) {
            board_break(world->board, INV_UNCHANGED, "%s: what its history said has changed",
                        d->workflow_id);
        }
    }
    if (fs_write_file(path, json, strlen(json), 0600, &err) < 0) {
        board_break(world->board, INV_STUCK, "%s", err.text);
    }
}

static void check_valid(struct world *world, const dur_description *d, const char *json)
{
    struct err err = {0};
    autoarena struct arena *arena = arena_new();
    autostr struct str warnings = {0};
    struct history history = {0};
    if (history_from_json(arena, json, strlen(json), &history, &err) < 0 ||
        history_validate(&history, &warnings, &err) < 0) {
        board_break(world->board, INV_CHAIN, "%s: %s", d->workflow_id, err.text);
    }
}

struct walk {
    struct world *world;
    sqlite3 *db;
    const char *kept;
    struct str histories[SIM_RUNS_MAX]; /* of all runs with that id */
    bool is_open[SIM_RUNS_MAX];
    uint64_t trace;
};

static int check_run(void *user, int64_t token, const dur_description *d)
{
    struct walk *walk = user;
    struct world *world = walk->world;
    autofree char *id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    char *json = NULL;
    (void)token;
    if (dur_history(world->engine, id, &json) != DUR_OK) {
        board_break(world->board, INV_CHAIN, "%s: %s", id, dur_error(world->engine));
        return 0;
    }
    check_valid(world, d, json);
    check_goes_on(world, walk->kept, d, json);
    check_pending(world, walk->db, d, json);
    walk->trace = sim_mix(walk->trace + hash_bytes(1, json, strlen(json)));
    for (int run = 0; run < world->plan->runs; run++) {
        char name[32];
        snprintf(name, sizeof(name), "run-%d", run);
        if (strcmp(name, d->workflow_id) == 0) {
            str_add(&walk->histories[run], json);
            walk->is_open[run] |= d->closed_ns == 0;
        }
    }
    dur_free(json);
    return 0;
}

/* 1: of everything that a client was told. */
static void check_told(struct walk *walk)
{
    struct world *world = walk->world;
    const struct plan *plan = world->plan;
    for (int i = 0; i < plan->count; i++) {
        const struct action *action = &plan->actions[i];
        const char *text = str_c(&walk->histories[action->run]);
        char request[64];
        snprintf(request, sizeof(request), "\"ask-%d-%d-%d\"", (int)action->kind, action->run,
                 action->number);
        bool is_there = true;
        if (atomic_load(&world->board->told[i]) != TOLD_DONE) {
            continue;
        }
        if (action->kind == ACT_START) {
            is_there = *text;
        } else if (action->kind == ACT_SIGNAL) {
            is_there = strstr(text, request);
        } else if (action->kind == ACT_UPDATE) {
            request[strlen(request) - 1] = '\0';
            autofree char *row =
                ask(world, walk->db, "SELECT 1 FROM run_update WHERE update_id = ?1", request + 1,
                    NULL);
            is_there = *row || strstr(text, request + 1);
        } else if (action->kind == ACT_PAUSE) {
            is_there = strstr(text, "EVENT_TYPE_WORKFLOW_EXECUTION_PAUSED");
        } else if (action->kind == ACT_CANCEL) {
            is_there = strstr(text, "EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED");
        } else if (action->kind == ACT_TERMINATE) {
            is_there = !walk->is_open[action->run];
        }
        if (!is_there) {
            board_break(world->board, INV_ACKNOWLEDGED,
                        "action %d (kind %d) of run-%d was acknowledged and is not there", i,
                        (int)action->kind, action->run);
        }
    }
}

void invariant_check(struct world *world, const char *kept, _Atomic uint64_t *ret_trace)
{
    struct err err = {0};
    struct walk walk = {.world = world, .kept = kept, .trace = 1};
    uint64_t first = hash_file(world, false); /* recovers it */
    if (!world_open(world, NULL)) {
        board_break(world->board, INV_ORPHANS, "the store cannot be opened");
        return;
    }
    if (store_check(world->engine->store, &err) < 0) {
        board_break(world->board, INV_ORPHANS, "%s", err.text);
    }
    walk.db = open_raw(world, world->path, SQLITE_OPEN_READWRITE);
    if (walk.db) {
        if (hash_tables(walk.db, false) != first) {
            board_break(world->board, INV_IDEMPOTENT, "the file reads differently the second time");
        }
        if (dur_list(world->engine, 0, 0, 1000000, check_run, &walk) != DUR_OK) {
            board_break(world->board, INV_ORPHANS, "%s", dur_error(world->engine));
        }
        check_told(&walk);
        autofree char *twice =
            ask(world, walk.db, "SELECT step FROM effect GROUP BY step HAVING count(*) > 1", NULL,
                NULL);
        if (*twice) {
            board_break(world->board, INV_ONCE, "transaction %s took effect twice", twice);
        }
        sqlite3_close(walk.db);
    }
    for (int run = 0; run < SIM_RUNS_MAX; run++) {
        str_free(&walk.histories[run]);
    }
    atomic_store(ret_trace, walk.trace);
    world_close(world);
}

/* --- while it serves -------------------------------------------------------------------------- */

static int64_t count_rows(struct world *world, sqlite3 *db, const char *sql)
{
    autofree char *text = ask(world, db, sql, NULL, NULL);
    return strtoll(text, NULL, 10);
}

void invariant_live(struct world *world)
{
    const struct host *host = world->engine->host;
    int64_t slots = 0, busy = 0, running = 0;
    if (!world->watcher) {
        world->watcher = open_raw(world, world->path, SQLITE_OPEN_READWRITE);
    }
    sqlite3 *db = world->watcher;
    if (!db || !host) {
        return;
    }
    const struct plant *plant = world->plant;
    if (plant && plant->in_life) {
        sqlite3_exec(db, plant->sql, NULL, NULL, NULL);
    }
    int64_t claimed = count_rows(
        world, db,
        "SELECT count(*) FROM activity WHERE state = 2 AND epoch = (SELECT epoch FROM engine)");
    int64_t stale = count_rows(
        world, db,
        "SELECT count(*) FROM activity WHERE state = 2 AND epoch < (SELECT epoch FROM engine)");
    for (const struct dur_activity *a = host->running; a; a = a->next_running) {
        running += a->is_local ? 0 : 1;
        busy++;
    }
    if (stale > 0) {
        board_break(world->board, INV_ALIVE, "%lld attempts of a dead engine count as running",
                    (long long)stale);
    }
    for (const struct line *line = host->lines; line; line = line->next) {
        slots += line->lane->busy;
    }
    slots += plant && plant->finds == INV_SLOTS ? 1 : 0;
    if (slots != busy) {
        board_break(world->board, INV_SLOTS, "%lld slots are taken, %lld attempts live",
                    (long long)slots, (long long)busy);
    }
    if (claimed != running) {
        board_break(world->board, INV_ALIVE, "%lld attempts are said to run, %lld do",
                    (long long)claimed, (long long)running);
    }
}

void invariant_look_away(struct world *world)
{
    sqlite3_close(world->watcher);
    world->watcher = NULL;
}

/* --- at the end ------------------------------------------------------------------------------- */

char *invariant_outcome(dur_engine *engine, int run)
{
    dur_description *d = NULL;
    char id[32];
    snprintf(id, sizeof(id), "run-%d", run);
    if (dur_describe(engine, id, &d) != DUR_OK) {
        return mem_strdup("none");
    }
    char *text = mem_printf("%s %s", dur_status_name(d->status), d->result ? d->result : "-");
    dur_description_free(d);
    return text;
}

static void check_outcome(struct world *world, const char *const outcome[SIM_RUNS_MAX])
{
    for (int run = 0; run < world->plan->runs; run++) {
        autofree char *mine = invariant_outcome(world->engine, run);
        if (strncmp(mine, "Running", 7) == 0 || strcmp(mine, "none") == 0) {
            board_break(world->board, INV_STUCK, "run-%d: %s", run, mine);
        }
        if (outcome[run] && !world->plan->is_victim[run] && strcmp(mine, outcome[run]) != 0) {
            board_break(world->board, INV_OUTCOME, "run-%d: %s, undisturbed %s", run, mine,
                        outcome[run]);
        }
    }
}

/* Histories that are still there are the ones that were. */
static int check_left(void *user, int64_t token, const dur_description *d)
{
    struct walk *walk = user;
    char *json = NULL;
    autofree char *id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    (void)token;
    if (dur_history(walk->world->engine, id, &json) == DUR_OK) {
        check_goes_on(walk->world, walk->kept, d, json);
    } else {
        board_break(walk->world->board, INV_CHAIN, "%s: %s", id, dur_error(walk->world->engine));
    }
    dur_free(json);
    return 0;
}

void invariant_purged(struct world *world, const char *kept, int64_t new_bytes)
{
    static const int64_t slack_bytes = 16 * 1024; /* rows of the program's own stay */
    struct walk walk = {.world = world, .kept = kept};
    struct err err = {0};
    struct store_facts facts;
    dur_purge_options all = {.older_than_ms = 1};
    dur_purged purged = {0};
    if (!world_open(world, NULL)) {
        board_break(world->board, INV_ORPHANS, "the store cannot be opened");
        return;
    }
    if (store_check(world->engine->store, &err) < 0) {
        board_break(world->board, INV_ORPHANS, "after a purge that was cut off: %s", err.text);
    }
    dur_list(world->engine, 0, 0, 1000000, check_left, &walk);
    /* the wall clock may have been set back by two hours since they closed */
    dur_test_advance(world->engine, 3L * 3600 * 1000);
    if (!(world->plant && world->plant->finds == INV_SIZE) &&
        dur_purge(world->engine, &purged, &all) != DUR_OK) {
        board_break(world->board, INV_SIZE, "%s", dur_error(world->engine));
    }
    if (store_check(world->engine->store, &err) < 0) {
        board_break(world->board, INV_ORPHANS, "after a purge: %s", err.text);
    }
    if (store_facts(world->engine->store, &facts, &err) < 0 ||
        facts.db_bytes > new_bytes + slack_bytes) {
        board_break(world->board, INV_SIZE, "%lld bytes are left of a file that had %lld when new",
                    (long long)facts.db_bytes, (long long)new_bytes);
    }
    world_close(world);
}

/* 12: by a copy that says it comes from a later version. */
static void check_newer(struct world *world)
{
    struct err err = {0};
    dur_engine *engine;
    autofree char *copy = mem_printf("%s-newer", world->path);
    autostr struct str bytes = {0};
    autostr struct str before = {0};
    autostr struct str after = {0};
    if (fs_read_file(world->path, FILE_BYTES_MAX, &bytes, &err) < 0 ||
        fs_write_file(copy, str_c(&bytes), bytes.len, 0600, &err) < 0) {
        board_break(world->board, INV_STUCK, "%s", err.text);
        return;
    }
    bool is_planted = world->plant && world->plant->finds == INV_NEWER;
    sqlite3 *db = open_raw(world, copy, SQLITE_OPEN_READWRITE);
    if (!is_planted) {
        sqlite3_exec(db, "PRAGMA user_version = 1000", NULL, NULL, NULL);
    }
    sqlite3_close(db);
    fs_read_file(copy, FILE_BYTES_MAX, &before, &err);
    int rc = dur_open(&engine, copy, &(dur_options){.reserve_bytes = -1});
    dur_close(engine);
    if (rc != DUR_NEWER) {
        board_break(world->board, INV_NEWER, "a newer store was opened: %d", rc);
    }
    if (fs_read_file(copy, FILE_BYTES_MAX, &after, &err) < 0 || after.len != before.len ||
        memcmp(str_c(&before), str_c(&after), after.len) != 0) {
        board_break(world->board, INV_NEWER, "a newer store was changed");
    }
    unlink(copy);
}

void invariant_end(struct world *world, const char *const outcome[SIM_RUNS_MAX])
{
    uint64_t before = hash_file(world, true);
    if (!world_open(world, NULL)) {
        board_break(world->board, INV_ORPHANS, "the store cannot be opened");
        return;
    }
    check_outcome(world, outcome);
    int rc = dur_test_run(world->engine);
    if (rc != DUR_OK) {
        board_break(world->board, INV_STUCK, "at the end: %s", dur_error(world->engine));
    }
    world_close(world);
    if (hash_file(world, true) != before) {
        board_break(world->board, INV_IDEMPOTENT, "serving once more has changed the store");
    }
    check_newer(world);
}
