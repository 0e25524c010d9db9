/*
 * admin.c - see admin.h. Owns the translation of rows into what people read.
 * Tests: tests/unit/test_engine_admin.c
 */
#include "engine/admin_rows.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "history/failure.h"
#include "journal/activity.h"
#include "journal/clock.h"
#include "journal/epoch.h"
#include "journal/lock.h"

const char *admin_state_name(enum admin_state state)
{
    static const char *const names[] = {[ADMIN_WAITING] = "waiting",
                                        [ADMIN_RUNNING] = "running",
                                        [ADMIN_BACKOFF] = "backoff",
                                        [ADMIN_ASYNC] = "awaited"};
    return names[state];
}

int admin_find(dur_engine *engine, struct arena *arena, const char *id, struct execution_row *row)
{
    struct err err = {0};
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    rc = engine_find(engine, store_db(engine->store), arena, id, row, &err);
    if (rc < 0) {
        return engine_fail(engine, &err);
    }
    return rc > 0 ? engine_refuse(engine, DUR_NOT_FOUND, "no run has the id %s", id ? id : "")
                  : DUR_OK;
}

/* --- activities ------------------------------------------------------------------------------- */

/* The innermost cause: what an operator can act on. */
const char *admin_failure_line(struct arena *arena, const struct failure *failure)
{
    autostr struct str text = {0};
    const struct failure *root = failure ? failure_root(failure) : NULL;
    if (!root) {
        return NULL;
    }
    if (failure_kind(root) == FAILURE_APPLICATION && root->message && *root->message) {
        return arena_strdup(arena, root->message);
    }
    failure_describe(root, &text);
    return arena_strdup(arena, str_c(&text));
}

static const char *stored_failure(struct arena *arena, const char *stored)
{
    struct failure *failure;
    if (!stored || store_failure_decode(arena, stored, strlen(stored), &failure, NULL) < 0) {
        return keys_shown(arena, stored);
    }
    return admin_failure_line(arena, failure);
}

int admin_activities(dur_engine *engine, struct arena *arena, const char *id,
                     struct admin_activities *ret)
{
    struct err err = {0};
    struct execution_row row;
    struct activity_list list;
    if (engine_is_remote(engine)) {
        return admin_remote_activities(engine, arena, id, ret);
    }
    int rc = admin_find(engine, arena, id, &row);
    if (rc != DUR_OK) {
        return rc;
    }
    struct db *db = store_db(engine->store);
    if (activity_list(db, arena, row.id, &list, &err) < 0) {
        return engine_fail(engine, &err);
    }
    ret->count = list.count;
    ret->rows = arena_array_of(arena, struct admin_activity, list.count ? list.count : 1);
    for (size_t i = 0; i < list.count; i++) {
        const struct activity_row *a = &list.rows[i];
        struct admin_activity *to = &ret->rows[i];
        *to = (struct admin_activity){
            .scheduled_event_id = a->scheduled_event_id,
            .type = a->type,
            .lane = a->task_queue,
            .state = a->is_async ? ADMIN_ASYNC : (enum admin_state)a->state,
            .attempt = a->attempt,
            .scheduled_ns = a->scheduled_ns,
            .started_ns = a->state == ACTIVITY_STARTED ? a->started_ns : 0,
            .next_attempt_ns = a->next_attempt_ns,
            .deadline_ns = a->deadline_ns,
            .heartbeat_ns = a->heartbeat_ns,
            .cancel_requested = a->cancel_event_id != 0,
            .last_failure = stored_failure(arena, a->last_failure),
        };
        if (a->state == ACTIVITY_SCHEDULED && activity_count_ahead(db, a, &to->ahead, &err) < 0) {
            return engine_fail(engine, &err);
        }
    }
    return DUR_OK;
}

/* --- lanes and the engine --------------------------------------------------------------------- */

int admin_lane(dur_engine *engine, const char *lane, struct admin_lane *ret)
{
    struct err err = {0};
    struct activity_queue_list list;
    autoarena struct arena *arena = arena_new();
    *ret = (struct admin_lane){0};
    if (engine_is_remote(engine)) {
        *ret = (struct admin_lane){ADMIN_UNKNOWN, ADMIN_UNKNOWN, ADMIN_UNKNOWN};
        return DUR_OK;
    }
    if (activity_count_by_queue(store_db(engine->store), arena, &list, &err) < 0) {
        return engine_fail(engine, &err);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (str_eq(list.rows[i].task_queue, lane)) {
            ret->waiting = list.rows[i].scheduled;
            ret->running = list.rows[i].started;
            ret->backoff = list.rows[i].backoff;
        }
    }
    return DUR_OK;
}

int admin_queues(dur_engine *engine, struct arena *arena, struct admin_queues *ret)
{
    struct err err = {0};
    struct queue_list list;
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    if (engine_is_remote(engine)) {
        return admin_remote_queues(engine, arena, ret);
    }
    if (queue_list(store_db(engine->store), arena, &list, &err) < 0) {
        return engine_fail(engine, &err);
    }
    ret->count = list.count;
    ret->rows = arena_array_of(arena, struct admin_queue, list.count ? list.count : 1);
    for (size_t i = 0; i < list.count; i++) {
        const struct queue_row *row = &list.rows[i];
        ret->rows[i] = (struct admin_queue){.name = row->name,
                                            .slots = row->slots,
                                            .rate_per_s = row->rate_per_s,
                                            .burst = row->burst,
                                            .per_key = row->per_key,
                                            .waiting = row->waiting,
                                            .running = row->running,
                                            .backoff = row->backoff,
                                            .async = row->async};
    }
    return DUR_OK;
}

int admin_server(dur_engine *engine, struct arena *arena, struct admin_server *ret)
{
    struct err err = {0};
    struct epoch_row row;
    struct lock_holder holder = {0};
    *ret = (struct admin_server){0};
    if (engine_is_remote(engine)) {
        return admin_remote_server(engine, arena, ret);
    }
    int rc = lock_query(engine->path, &holder, &err);
    if (rc < 0 || epoch_get(store_db(engine->store), arena, &row, &err) < 0) {
        return engine_fail(engine, &err);
    }
    ret->is_serving = rc == 0;
    ret->pid = rc == 0 && holder.pid ? holder.pid : row.pid;
    ret->started_ns = row.started_ns;
    ret->engines = row.epoch;
    return DUR_OK;
}

int admin_clock(dur_engine *engine, struct arena *arena, int64_t since_ns, struct admin_clock *ret)
{
    struct err err = {0};
    struct clock_jump_list jumps;
    *ret = (struct admin_clock){0};
    if (engine_is_remote(engine)) {
        return DUR_OK;
    }
    struct db *db = store_db(engine->store);
    if (clock_jump_list(db, arena, since_ns, CLOCK_JUMPS_KEPT, &jumps, &err) < 0) {
        return engine_fail(engine, &err);
    }
    for (size_t i = 0; i < jumps.count; i++) { /* newest first */
        const struct clock_jump_row *row = &jumps.rows[i];
        if (row->kind == CLOCK_JUMP_SET) {
            ret->sets++;
            ret->last_ns = ret->last_ns ? ret->last_ns : row->at_ns;
            ret->largest_ns =
                llabs(row->size_ns) > llabs(ret->largest_ns) ? row->size_ns : ret->largest_ns;
        }
    }
    return DUR_OK;
}

int admin_ids_with_prefix(dur_engine *engine, struct arena *arena, const char *prefix, int limit,
                          struct admin_ids *ret)
{
    struct err err = {0};
    *ret = (struct admin_ids){0};
    if (engine_is_remote(engine)) {
        return admin_remote_ids(engine, arena, prefix, limit, ret);
    }
    if (execution_ids_with_prefix(store_db(engine->store), arena, prefix, limit, &ret->ids,
                                  &ret->count, &err) < 0) {
        return engine_fail(engine, &err);
    }
    return DUR_OK;
}
