/*
 * schedule.c - durable.h's calls for schedules: the caller's own transactions on their rows.
 *
 * Owns: what may be set, where a changed schedule stands in time, and dur_schedule_info with its
 * memory. Must not: start runs (the engine does: worker/schedule.h); a trigger only leaves a start
 * that waits and makes the schedule ripe.
 * Tests: tests/unit/test_engine_schedule.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine/admin.h"
#include "engine/engine.h"
#include "exec/options.h"
#include "history/attributes.h"
#include "history/attributes.h"
#include "history/map.h"
#include "journal/schedule.h"
#include "worker/definition.h"
#include "worker/schedule.h"

#define NAME_MAX_BYTES 900 /* run ids are made of it and a time */
#define NOTE_MAX_BYTES 1000
#define INPUT_MAX_BYTES (2U << 20)
#define CATCHUP_MIN_MS 10000
#define INFO_TIMES 10
#define ON_SERVERS "make the schedule with the server's own tools, or give dur_start a cron text"

/* --- what may be set -------------------------------------------------------------------------- */

static int bad_schedule(struct err *err, const char *what)
{
    return err_set(err, ERR_PERMANENT, "BadSchedule", "the schedule's %s", what);
}

static int check_action(struct arena *arena, const dur_schedule *s, struct err *err)
{
    struct payload_map *attributes;
    if (!options_is_name(s->workflow_type)) {
        return bad_schedule(err, "workflow type must be 1 to 1000 bytes of UTF-8");
    }
    if (s->id_prefix && (!options_is_name(s->id_prefix) || strlen(s->id_prefix) > NAME_MAX_BYTES)) {
        return bad_schedule(err, "id prefix must be 1 to 900 bytes of UTF-8");
    }
    if (s->task_queue && !options_is_name(s->task_queue)) {
        return bad_schedule(err, "task queue must be 1 to 1000 bytes of UTF-8");
    }
    if (s->input &&
        (strlen(s->input) > INPUT_MAX_BYTES || json_check(s->input, strlen(s->input), err) < 0)) {
        return bad_schedule(err, "input must be JSON of at most 2 MiB");
    }
    if (s->memo && !map_parse(arena, s->memo)) {
        return bad_schedule(err, "memo must be a JSON object");
    }
    if (attributes_parse(arena, s->search_attributes, &attributes, err) < 0) {
        return -1;
    }
    if (!options_is_duration(s->execution_timeout_ms) || !options_is_duration(s->run_timeout_ms) ||
        !options_is_duration(s->task_timeout_ms)) {
        return bad_schedule(err, "time-outs must lie between 0 and 100 years");
    }
    if (s->retry && !options_is_policy(s->retry)) {
        return bad_schedule(err, "retry policy has a negative number, or a coefficient below 1");
    }
    if (s->priority < 0 || s->priority > 5) {
        return bad_schedule(err, "priority must be 1 (high) to 5 (low), or 0");
    }
    return 0;
}

static int check_policy(const dur_schedule *s, struct err *err)
{
    if (s->overlap < DUR_OVERLAP_SKIP || s->overlap > DUR_OVERLAP_ALLOW_ALL) {
        return bad_schedule(err, "overlap policy is none");
    }
    if (s->catchup_window_ms != 0 &&
        (s->catchup_window_ms < CATCHUP_MIN_MS || !options_is_duration(s->catchup_window_ms))) {
        return bad_schedule(err, "catch-up window must be 10 s at least");
    }
    if (s->remaining_actions < 0) {
        return bad_schedule(err, "remaining actions must not be negative");
    }
    if (s->note && (strlen(s->note) > NOTE_MAX_BYTES || !utf8_valid(s->note, strlen(s->note)))) {
        return bad_schedule(err, "note must be at most 1000 bytes of UTF-8");
    }
    return 0;
}

static int check_name(dur_engine *engine, const char *name)
{
    if (!options_is_name(name) || strlen(name) > NAME_MAX_BYTES) {
        return engine_refuse(engine, DUR_INVALID,
                             "a schedule's name must be 1 to %d bytes of UTF-8", NAME_MAX_BYTES);
    }
    return DUR_OK;
}

static dur_schedule sized(const dur_schedule *given, size_t size)
{
    dur_schedule schedule = {0};
    if (given) {
        memcpy(&schedule, given, size < sizeof(schedule) ? size : sizeof(schedule));
    }
    return schedule;
}

/* --- changing --------------------------------------------------------------------------------- */

/* One change of one schedule. */
struct change {
    dur_engine *engine;
    struct arena *arena;
    struct txn *txn;
    struct schedule_row row;
    int64_t now_ns;
};

static int begin(struct change *c, dur_engine *engine, struct arena *arena, const char *name,
                 bool must_exist)
{
    struct err err = {0};
    int rc = engine_store_ready(engine, true, ON_SERVERS);
    if (rc || (rc = check_name(engine, name))) {
        return rc;
    }
    *c = (struct change){.engine = engine, .arena = arena, .txn = txn_begin(engine->store)};
    c->now_ns = engine_now_ns(engine);
    rc = schedule_find(txn_db(c->txn), arena, name, &c->row, &err);
    if (rc == 0 || (rc > 0 && !must_exist)) {
        return DUR_OK;
    }
    txn_rollback(c->txn);
    return rc < 0 ? engine_fail(engine, &err)
                  : engine_refuse(engine, DUR_NOT_FOUND, "no schedule has the name %s", name);
}

static int commit(struct change *c)
{
    struct err err = {0};
    if (txn_commit(c->txn, &err) < 0) {
        return engine_fail(c->engine, &err);
    }
    bell_ring(c->engine->bell, BELL_WORK);
    bell_ring(c->engine->bell, BELL_NEWS);
    return DUR_OK;
}

static int abandon(struct change *c, const struct err *err)
{
    txn_rollback(c->txn);
    return engine_fail(c->engine, err);
}

/* The calendar of a row that is stored. */
static int stored_calendar(struct arena *arena, const struct schedule_row *row,
                           dur_schedule *ret_definition, struct calendar **ret, struct err *err)
{
    int rc = definition_read(arena, row->definition, ret_definition, err);
    return rc < 0 ? rc : calendar_new(ret_definition, ret, err);
}

static void fill_row(struct change *c, const dur_schedule *s, const struct calendar *calendar)
{
    autostr struct str definition = {0};
    struct schedule_row *row = &c->row;
    definition_print(&definition, s);
    row->definition = arena_strdup(c->arena, str_c(&definition));
    row->paused = s->paused != 0;
    row->note = s->note;
    row->problem = NULL;
    row->limited = s->remaining_actions > 0;
    row->remaining = s->remaining_actions;
    row->changed_ns = c->now_ns;
    row->ripe = true; /* the engine looks at what waits under the new policy */
    schedule_advance(row, calendar, c->now_ns);
}

int dur_schedule_set_at(dur_engine *engine, const char *name, const dur_schedule *schedule,
                        size_t schedule_size)
{
    autoarena struct arena *arena = arena_new();
    autocalendar struct calendar *calendar = NULL;
    struct change c;
    struct err err = {0};
    dur_schedule s = sized(schedule, schedule_size);
    if (!schedule) {
        return engine_refuse(engine, DUR_INVALID, "a schedule is needed");
    }
    if (check_action(arena, &s, &err) < 0 || check_policy(&s, &err) < 0 ||
        calendar_new(&s, &calendar, &err) < 0) {
        return engine_fail(engine, &err);
    }
    int rc = begin(&c, engine, arena, name, false);
    if (rc) {
        return rc;
    }
    if (!calendar_is_empty(calendar) && calendar_next(calendar, c.now_ns) == CALENDAR_NEVER) {
        txn_rollback(c.txn);
        return engine_refuse(engine, DUR_INVALID,
                             "the schedule %s would never fire: it has ended, or everything is "
                             "left out",
                             name);
    }
    fill_row(&c, &s, calendar);
    if (c.row.id == 0) {
        c.row.name = name;
        c.row.created_ns = c.now_ns;
        schedule_insert(c.txn, &c.row);
    } else {
        schedule_update(c.txn, &c.row);
    }
    return commit(&c);
}

int dur_schedule_remove(dur_engine *engine, const char *name)
{
    autoarena struct arena *arena = arena_new();
    struct change c;
    int rc = begin(&c, engine, arena, name, true);
    if (rc) {
        return rc;
    }
    schedule_delete(c.txn, c.row.id);
    return commit(&c);
}

static int pause_or_resume(dur_engine *engine, const char *name, const char *note, bool pause)
{
    autoarena struct arena *arena = arena_new();
    autocalendar struct calendar *calendar = NULL;
    struct change c;
    dur_schedule s = {.note = note};
    struct err err = {0};
    if (check_policy(&s, &err) < 0) {
        return engine_fail(engine, &err);
    }
    int rc = begin(&c, engine, arena, name, true);
    if (rc) {
        return rc;
    }
    if (stored_calendar(arena, &c.row, &s, &calendar, &err) < 0) {
        return abandon(&c, &err);
    }
    bool changes = c.row.paused != pause;
    c.row.paused = pause;
    c.row.note = note ? note : c.row.note;
    c.row.changed_ns = c.now_ns;
    if (changes) { /* what was due while it was paused is left out */
        c.row.problem = NULL;
        schedule_advance(&c.row, calendar, c.now_ns);
    }
    c.row.ripe = true;
    schedule_update(c.txn, &c.row);
    return commit(&c);
}

int dur_schedule_pause(dur_engine *engine, const char *name, const char *note)
{
    return pause_or_resume(engine, name, note, true);
}

int dur_schedule_resume(dur_engine *engine, const char *name, const char *note)
{
    return pause_or_resume(engine, name, note, false);
}

/* --- starting by hand ------------------------------------------------------------------------- */

static bool is_overlap(dur_overlap overlap)
{
    return overlap >= DUR_OVERLAP_OWN && overlap <= DUR_OVERLAP_ALLOW_ALL;
}

static int add_start(struct change *c, const dur_schedule *s, int64_t nominal_ns,
                     dur_overlap overlap)
{
    schedule_start_put(c->txn, c->row.id,
                       &(struct schedule_start){
                           .nominal_ns = nominal_ns,
                           .overlap = overlap == DUR_OVERLAP_OWN ? s->overlap : overlap,
                           .manual = true,
                       });
    return 0;
}

static int begin_by_hand(struct change *c, dur_engine *engine, struct arena *arena,
                         const char *name, dur_overlap overlap, dur_schedule *ret_definition,
                         size_t *ret_waiting)
{
    struct schedule_starts waiting;
    struct err err = {0};
    if (!is_overlap(overlap)) {
        return engine_refuse(engine, DUR_INVALID, "%d is no overlap policy", (int)overlap);
    }
    int rc = begin(c, engine, arena, name, true);
    if (rc) {
        return rc;
    }
    if (definition_read(arena, c->row.definition, ret_definition, &err) < 0 ||
        schedule_start_list(txn_db(c->txn), arena, c->row.id, &waiting, &err) < 0) {
        return abandon(c, &err);
    }
    *ret_waiting = waiting.count;
    return DUR_OK;
}

static int too_many(struct change *c)
{
    txn_rollback(c->txn);
    return engine_refuse(c->engine, DUR_LIMIT,
                         "more than %d starts of schedule %s would wait: take a shorter range",
                         SCHEDULE_WAITING_MAX, c->row.name);
}

int dur_schedule_trigger(dur_engine *engine, const char *name, dur_overlap overlap)
{
    autoarena struct arena *arena = arena_new();
    struct change c;
    dur_schedule s;
    size_t waiting;
    int rc = begin_by_hand(&c, engine, arena, name, overlap, &s, &waiting);
    if (rc) {
        return rc;
    }
    if (waiting >= SCHEDULE_WAITING_MAX) {
        return too_many(&c);
    }
    add_start(&c, &s, c.now_ns - c.now_ns % NS_PER_MS, overlap); /* its id is read by people */
    schedule_ripen(c.txn, c.row.id);
    return commit(&c);
}

int dur_schedule_backfill(dur_engine *engine, const char *name, int64_t from_ns, int64_t to_ns,
                          dur_overlap overlap)
{
    autoarena struct arena *arena = arena_new();
    autocalendar struct calendar *calendar = NULL;
    struct change c;
    struct err err = {0};
    dur_schedule s;
    size_t waiting;
    int count = 0;
    if (from_ns < 0 || to_ns < from_ns) {
        return engine_refuse(engine, DUR_INVALID, "a range of time ends after it begins");
    }
    int rc = begin_by_hand(&c, engine, arena, name, overlap, &s, &waiting);
    if (rc) {
        return rc;
    }
    if (calendar_new(&s, &calendar, &err) < 0) {
        return abandon(&c, &err);
    }
    for (int64_t at = calendar_next(calendar, from_ns - 1); at <= to_ns && at != CALENDAR_NEVER;
         at = calendar_next(calendar, at)) {
        if (waiting + (size_t)count >= SCHEDULE_WAITING_MAX) {
            return too_many(&c);
        }
        add_start(&c, &s, at, overlap);
        count++;
    }
    schedule_ripen(c.txn, c.row.id);
    rc = commit(&c);
    return rc < 0 ? rc : count;
}

/* --- looking ---------------------------------------------------------------------------------- */

struct described {
    dur_schedule_info public; /* first: the pointers are cast */
    struct arena *arena;
};

static const int64_t *next_times(struct arena *arena, const struct schedule_row *row)
{
    autocalendar struct calendar *calendar = NULL;
    dur_schedule s;
    int64_t *times = arena_array_of(arena, int64_t, INFO_TIMES + 1);
    if (!row->has_next || stored_calendar(arena, row, &s, &calendar, NULL) < 0) {
        return times;
    }
    int64_t at = row->nominal_ns;
    int64_t most = row->limited && row->remaining < INFO_TIMES ? row->remaining : INFO_TIMES;
    for (int64_t i = 0; i < most && at != CALENDAR_NEVER; i++) {
        times[i] = at;
        at = calendar_next(calendar, at);
    }
    return times;
}

static int fill_actions(struct db *db, struct arena *arena, const struct schedule_row *row,
                        dur_schedule_info *info, struct err *err)
{
    struct schedule_runs runs;
    struct schedule_starts waiting;
    if (schedule_run_list(db, arena, row->id, &runs, err) < 0 ||
        schedule_start_list(db, arena, row->id, &waiting, err) < 0) {
        return -1;
    }
    dur_schedule_action *actions = arena_array_of(arena, dur_schedule_action, runs.count + 1);
    for (size_t i = 0; i < runs.count; i++) {
        const struct schedule_run *run = &runs.rows[i];
        actions[i] = (dur_schedule_action){
            .workflow_id = run->workflow_id,
            .run_id = run->run_id,
            .nominal_ns = run->nominal_ns,
            .started_ns = run->started_ns,
            .open = !run->closed,
        };
    }
    info->actions = actions;
    info->action_count = runs.count;
    info->waiting = (int64_t)waiting.count;
    return 0;
}

static int make_info(struct db *db, struct arena *arena, const struct schedule_row *row,
                     dur_schedule_info *info, struct err *err)
{
    *info = (dur_schedule_info){
        .name = row->name,
        .definition = row->definition,
        .paused = row->paused,
        .note = row->note ? row->note : "",
        .problem = row->problem,
        .remaining = row->limited ? row->remaining : -1,
        .created_ns = row->created_ns,
        .changed_ns = row->changed_ns,
        .started = row->started,
        .skipped = row->skipped,
        .missed = row->missed,
        .dropped = row->dropped,
        .next_ns = next_times(arena, row),
    };
    return fill_actions(db, arena, row, info, err);
}

int dur_schedule_describe(dur_engine *engine, const char *name, dur_schedule_info **info)
{
    struct schedule_row row;
    struct err err = {0};
    int rc = engine_store_ready(engine, false, ON_SERVERS);
    if (rc || (rc = check_name(engine, name))) {
        return rc;
    }
    if (!info) {
        return engine_refuse(engine, DUR_INVALID,
                             "dur_schedule_describe needs a place for the answer");
    }
    autoarena struct arena *arena = arena_new();
    struct db *db = store_db(engine->store);
    struct described *made = arena_new_of(arena, struct described);
    rc = snapshot_begin(db, &err);
    if (rc == 0) {
        rc = schedule_find(db, arena, name, &row, &err);
        rc = rc == 0 ? make_info(db, arena, &row, &made->public, &err) : rc;
        snapshot_end(db);
    }
    if (rc != 0) {
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no schedule has the name %s", name);
    }
    made->arena = steal(&arena);
    *info = &made->public;
    return DUR_OK;
}

void dur_schedule_info_free(dur_schedule_info *info)
{
    if (info) {
        arena_free(((struct described *)info)->arena);
    }
}

int dur_schedule_list(dur_engine *engine, const char *after, int limit, dur_schedule_fn row,
                      void *user)
{
    struct schedule_list list;
    struct err err = {0};
    int rc = engine_store_ready(engine, false, ON_SERVERS);
    if (rc) {
        return rc;
    }
    if (!row || limit < 0) {
        return engine_refuse(engine, DUR_INVALID, "dur_schedule_list needs a callback and a count");
    }
    autoarena struct arena *arena = arena_new();
    struct db *db = store_db(engine->store);
    if (schedule_list(db, arena, after, limit, &list, &err) < 0) {
        return engine_fail(engine, &err);
    }
    for (size_t i = 0; i < list.count; i++) {
        dur_schedule_info info;
        if (make_info(db, arena, &list.rows[i], &info, &err) < 0) {
            return engine_fail(engine, &err);
        }
        if (row(user, &info) != 0) {
            break;
        }
    }
    return DUR_OK;
}

int dur_schedule_preview_at(dur_engine *engine, const char *name, const dur_schedule *schedule,
                            size_t schedule_size, int64_t from_ns, int count,
                            dur_schedule_time_fn each, void *user)
{
    autocalendar struct calendar *calendar = NULL;
    struct err err = {0};
    dur_schedule s = sized(schedule, schedule_size);
    if (!schedule || !each || count < 0) {
        return engine_refuse(engine, DUR_INVALID,
                             "dur_schedule_preview needs a schedule, a count and a callback");
    }
    if (calendar_new(&s, &calendar, &err) < 0) {
        return engine_fail(engine, &err);
    }
    int64_t at = from_ns;
    for (int i = 0; i < count && (at = calendar_next(calendar, at)) != CALENDAR_NEVER; i++) {
        dur_schedule_time time;
        calendar_tell(calendar, at, &time);
        time.due_ns = calendar_due(calendar, name ? name : "", at);
        if (each(user, &time) != 0) {
            break;
        }
    }
    return DUR_OK;
}

int admin_schedule_definition(dur_engine *engine, struct arena *arena, const char *json,
                              dur_schedule *ret)
{
    struct err err = {0};
    return definition_read(arena, json, ret, &err) < 0 ? engine_fail(engine, &err) : DUR_OK;
}
