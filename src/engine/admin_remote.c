/*
 * admin_remote.c - admin.h on a connected engine.
 *
 * Owns: the translation of a server's answers into what people read. Must not: guess what a server
 * does not tell.
 * Tests: tests/unit/test_engine_remote.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/admin_rows.h"
#include "engine/engine.h"

#define IDS_PAGE 100 /* rows asked for at a time: one id may have many runs */

bool admin_is_remote(const dur_engine *engine)
{
    return engine_is_remote(engine);
}

int admin_remote(dur_engine *engine, struct arena *arena, struct admin_remote *ret)
{
    struct remote_info info = {0};
    *ret = (struct admin_remote){0};
    if (!engine_is_remote(engine)) {
        int rc = engine_ready(engine, false);
        return rc ? rc : engine_refuse(engine, DUR_INVALID, "this engine's runs live in a store");
    }
    int rc = engine_remote(engine, false, info, arena, &info);
    if (rc == DUR_OK) {
        *ret = (struct admin_remote){.address = arena_strdup(arena, engine->path),
                                     .version = info.server_version,
                                     .name_space = info.name_space,
                                     .namespace_state = info.namespace_state,
                                     .retention_ms = info.retention_ms,
                                     .is_encrypted = info.is_encrypted,
                                     .skew_ms = info.server_time_skew_ms};
    }
    return rc;
}

/* --- activities ------------------------------------------------------------------------------- */

/* Names that the program did not give are numbers. */
static int64_t number_of(const char *activity_id)
{
    char *end = NULL;
    int64_t number = activity_id ? strtoll(activity_id, &end, 10) : 0;
    return end && *end == '\0' && number > 0 ? number : 0;
}

static void fill(struct admin_activity *to, const struct remote_pending_activity *from)
{
    static const enum admin_state states[] = {[REMOTE_SCHEDULED] = ADMIN_WAITING,
                                              [REMOTE_STARTED] = ADMIN_RUNNING,
                                              [REMOTE_BACKOFF] = ADMIN_BACKOFF};
    *to = (struct admin_activity){
        .scheduled_event_id = number_of(from->activity_id),
        .type = from->type,
        .lane = from->task_queue,
        .state = states[from->state],
        .attempt = from->attempt,
        .scheduled_ns = from->scheduled_ns,
        .started_ns = from->state == REMOTE_STARTED ? from->started_ns : 0,
        .next_attempt_ns = from->next_attempt_ns,
        .deadline_ns = from->deadline_ns,
        .heartbeat_ns = from->heartbeat_ns,
        .cancel_requested = from->cancel_requested,
        .last_failure = from->last_failure,
        .ahead = from->state == REMOTE_SCHEDULED ? ADMIN_UNKNOWN : 0,
    };
}

int admin_remote_activities(dur_engine *engine, struct arena *arena, const char *id,
                            struct admin_activities *ret)
{
    struct remote_pending_activities list = {0};
    *ret = (struct admin_activities){0};
    int rc = engine_remote_if(engine_remote_ready(engine, false, id), engine, activities, arena, id,
                              &list);
    if (rc != DUR_OK) {
        return rc;
    }
    ret->count = list.count;
    ret->rows = arena_array_of(arena, struct admin_activity, list.count + 1);
    for (size_t i = 0; i < list.count; i++) {
        fill(&ret->rows[i], &list.rows[i]);
    }
    return DUR_OK;
}

/* --- queues and who serves them --------------------------------------------------------------- */

int admin_remote_queues(dur_engine *engine, struct arena *arena, struct admin_queues *ret)
{
    size_t count = 0;
    const char **names = remote_queues(engine, arena, &count);
    *ret = (struct admin_queues){0};
    ret->rows = arena_array_of(arena, struct admin_queue, count);
    for (size_t i = 0; i < count; i++) {
        size_t pollers;
        int64_t pid;
        int rc = remote_pollers_of(engine, arena, names[i], &pollers, &pid);
        if (rc != DUR_OK) {
            return rc;
        }
        ret->rows[ret->count++] = (struct admin_queue){.name = names[i],
                                                       .waiting = ADMIN_UNKNOWN,
                                                       .running = ADMIN_UNKNOWN,
                                                       .backoff = ADMIN_UNKNOWN,
                                                       .async = ADMIN_UNKNOWN,
                                                       .pollers = (int64_t)pollers};
    }
    return DUR_OK;
}

int admin_remote_server(dur_engine *engine, struct arena *arena, struct admin_server *ret)
{
    size_t count = 0;
    int64_t pid = 0;
    int rc = remote_pollers_count(engine, arena, &count, &pid);
    if (rc == DUR_OK) {
        *ret =
            (struct admin_server){.is_serving = count > 0, .pid = pid, .engines = (int64_t)count};
    }
    return rc;
}

/* --- ids -------------------------------------------------------------------------------------- */

struct found {
    struct arena *arena;
    struct admin_ids *ids;
    size_t limit;
    int64_t after;
    int rows; /* of this page */
};

static void add_id(struct found *f, const char *id)
{
    for (size_t i = 0; i < f->ids->count; i++) {
        if (str_eq(f->ids->ids[i], id)) {
            return;
        }
    }
    f->ids->ids[f->ids->count++] = arena_strdup(f->arena, id);
}

static int on_row(void *user, int64_t token, const dur_description *d)
{
    struct found *f = user;
    f->after = token;
    f->rows++;
    add_id(f, d->workflow_id);
    return f->ids->count >= f->limit;
}

/* 'text' of the filter language: a quote within is doubled. */
static const char *quoted(struct arena *arena, const char *text)
{
    autostr struct str out = {0};
    str_addc(&out, '\'');
    for (const char *p = text; *p; p++) {
        str_addc(&out, *p);
        if (*p == '\'' || *p == '\\') {
            str_addc(&out, *p);
        }
    }
    str_addc(&out, '\'');
    return arena_strdup(arena, str_c(&out));
}

int admin_remote_ids(dur_engine *engine, struct arena *arena, const char *prefix, int limit,
                     struct admin_ids *ret)
{
    dur_description d = {0};
    struct found f = {.arena = arena, .ids = ret, .limit = limit > 0 ? (size_t)limit : 0};
    int rc = DUR_OK;
    *ret = (struct admin_ids){.ids = arena_array_of(arena, const char *, f.limit + 1)};
    if (f.limit == 0) {
        return engine_ready(engine, false);
    }
    if (*prefix) {
        rc = engine_remote_describe(engine, arena, prefix, &d);
        if (rc == DUR_OK) {
            add_id(&f, d.workflow_id);
        } else if (rc != DUR_NOT_FOUND) {
            return rc;
        }
    }
    const char *filter =
        *prefix ? arena_printf(arena, "WorkflowId STARTS_WITH %s", quoted(arena, prefix)) : NULL;
    do {
        f.rows = 0;
        rc = engine_remote(engine, false, list, filter, 0, f.after, IDS_PAGE, on_row, &f);
    } while (rc == DUR_OK && f.rows == IDS_PAGE && ret->count < f.limit);
    return rc;
}
