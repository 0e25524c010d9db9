/*
 * ask.c - see ask.h. Tests: tests/unit/test_engine_query.c
 */
#include "worker/ask.h"

#include "base/str.h"
#include "history/store.h"
#include "journal/event.h"

/* The whole history, decoded, as the list that a run takes. */
static int load(struct db *db, struct arena *arena, const struct execution_row *row,
                const struct event *const **ret_events, size_t *ret_count, struct err *err)
{
    struct event_list rows;
    struct store_context codec;
    if (event_read(db, arena, row->id, 1, 0, &rows, err) < 0) {
        return -1;
    }
    store_context_init(&codec, db_sealer(db), row->task_queue, NULL, row->workflow_id, row->run_id);
    struct event *events = arena_array_of(arena, struct event, rows.count + 1);
    const struct event **list = arena_array_of(arena, const struct event *, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const struct event_row *r = &rows.rows[i];
        if (store_decode(&codec, arena, r->event_id, r->type, r->time_ns, r->attributes,
                         r->attributes_len, &events[i], err) < 0) {
            return err_wrap(err, "run %s", row->workflow_id);
        }
        list[i] = &events[i];
    }
    *ret_events = list;
    *ret_count = rows.count;
    return 0;
}

void ask_run(struct run *run, const char *name, const char *input, struct arena *arena,
             struct question_row *ret)
{
    struct run_answer answer;
    run_query(run, name, input, arena, &answer);
    ret->answer = answer.result;
    ret->failure_type = answer.type;
    ret->failure = answer.message;
}

static void refuse(struct question_row *ret, struct arena *arena, const char *type, const char *why)
{
    ret->answer = NULL;
    ret->failure_type = arena_strdup(arena, type);
    ret->failure = arena_strdup(arena, why);
}

/* Replays and asks. As ask_history(), without 1. */
static int ask(const struct run_spec *spec, const struct event *const *events, size_t count,
               const struct execution_row *row, const char *name, const char *input,
               struct arena *arena, struct question_row *ret, struct err *err)
{
    struct run_output out = {0};
    struct run *run = run_new(spec);
    int rc = run_replay(run, events, count, &out, err);
    if (rc == 0) {
        ask_run(run, name, input, arena, ret);
        ret->stale = row->parked ? run_processed(run) : 0;
    } else if (rc > 0) {
        refuse(ret, arena, "RunParked", out.message);
        rc = 0;
    } else if (err->kind == ERR_PERMANENT) {
        refuse(ret, arena, "BadHistory", err->text);
        rc = 0;
    }
    run_free(run);
    return rc;
}

int ask_history(const struct registry *registry, struct fiber_pool *pool, struct db *db,
                const struct execution_row *row, const char *name, const char *input,
                struct arena *arena, struct question_row *ret, struct err *err)
{
    const struct registered *workflow = registry_workflow(registry, row->type);
    autoarena struct arena *memory = arena_new();
    const struct event *const *events = NULL;
    size_t count = 0;
    if (!workflow) {
        return 1;
    }
    if (load(db, memory, row, &events, &count, err) < 0) {
        return -1;
    }
    struct run_spec spec = {.fn = workflow->workflow,
                            .user = workflow->user,
                            .workflow_id = row->workflow_id,
                            .run_id = row->run_id,
                            .type = row->type,
                            .task_queue = row->task_queue,
                            .pool = pool};
    return ask(&spec, events, count, row, name, input, arena, ret, err);
}
