/*
 * update.c - updates: arrival, validation, acceptance, completion.
 *
 * Owns: the way of one update through a task. Each runs in a coroutine of its own, which is made
 * before any other code of the task goes on:
 *
 *   live     validator (reads only) --no--> rejected, no trace
 *               `--yes--> command "accept update" --> handler --> command "complete update"
 *   replay   the acceptances that stand behind the task's COMPLETED are known beforehand: those
 *            updates arrive in that task, in that order, and no validator is asked
 *
 * An update whose name has no handler waits for one until the task's code is blocked, then it is
 * rejected. The acceptance carries the whole request, unless an UPDATE_ADMITTED event (a reset
 * writes those) holds it already. What a handler returns is the update's outcome; it never fails
 * the task.
 * Tests: tests/unit/test_exec_update.c
 */
#include "exec/handler.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "history/failure.h"

/* --- the two commands --------------------------------------------------------------------------
 */

static bool accept_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    return event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED &&
           same_text(ev_workflow_execution_update_accepted(event)->protocol_instance_id,
                     c->update->id);
}

static struct event *accept_event(struct run *run, const struct command *c)
{
    const struct update *u = c->update;
    struct event *event = event_new(run->task_arena, EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    struct ev_workflow_execution_update_accepted *a = ev_workflow_execution_update_accepted(event);

    a->protocol_instance_id = u->id;
    a->accepted_request_message_id = arena_printf(run->task_arena, "%s/request", u->id);
    a->accepted_request_sequencing_event_id = u->sequencing_id;
    a->accepted_request = u->admitted ? NULL : u->request;
    return event;
}

static void accept_bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)run;
    c->update->accepted_id = event_id;
}

static const char *accept_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "accept update id %s name %s", quoted(arena, c->update->id),
                        quoted(arena, c->update->name));
}

const struct command_def command_accept_update = {.name = "accept update",
                                                  .fits = accept_fits,
                                                  .event = accept_event,
                                                  .bind = accept_bind,
                                                  .describe = accept_describe};

static bool complete_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    if (event->type != EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
        return false;
    }
    const struct update_meta *meta = ev_workflow_execution_update_completed(event)->meta;
    return same_text(meta ? meta->update_id : NULL, c->update->id);
}

static struct event *complete_event(struct run *run, const struct command *c)
{
    (void)run;
    struct event *event = c->update->completion;
    ev_workflow_execution_update_completed(event)->accepted_event_id = c->update->accepted_id;
    return event;
}

static const char *complete_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "complete update id %s name %s", quoted(arena, c->update->id),
                        quoted(arena, c->update->name));
}

const struct command_def command_complete_update = {.name = "complete update",
                                                    .fits = complete_fits,
                                                    .event = complete_event,
                                                    .describe = complete_describe};

/* --- the list ----------------------------------------------------------------------------------
 */

static struct update *find(const struct run *run, const char *id)
{
    struct update *u = run->updates;

    while (u && strcmp(u->id, id) != 0) {
        u = u->next;
    }
    return u;
}

static struct update *add(struct run *run, const char *id, const char *name,
                          const struct payloads *args)
{
    struct update **at = &run->updates;
    struct update *u = arena_new_of(run->arena, struct update);

    u->id = run_strdup(run, id ? id : "");
    u->name = run_strdup(run, name ? name : "");
    u->input = result_text(run, args);
    while (*at) {
        at = &(*at)->next;
    }
    *at = u;
    return u;
}

static void forget(struct run *run, const struct update *u)
{
    struct update **at = &run->updates;

    while (*at != u) {
        at = &(*at)->next;
    }
    *at = u->next;
}

int updates_running(const struct run *run)
{
    int count = 0;

    for (const struct update *u = run->updates; u; u = u->next) {
        count += u->state == UPDATE_ACCEPTED;
    }
    return count;
}

static void reject(struct run *run, struct update *u, const struct failure *failure)
{
    must_move(&update_machine, &u->state, UPDATE_REJECTED, u);
    forget(run, u);
    struct run_rejection *grown =
        arena_array_of(run->task_arena, struct run_rejection, run->rejection_count + 1);
    if (run->rejection_count) {
        memcpy(grown, run->rejections, run->rejection_count * sizeof(*grown));
    }
    run->rejections = grown;
    run->rejections[run->rejection_count++] = (struct run_rejection){
        .update_id = u->id,
        .failure = failure_copy(failure, run->task_arena),
    };
}

/* --- the coroutine of one update ---------------------------------------------------------------
 */

/* Why the validator refuses, or NULL. */
static const struct failure *validate(dur_ctx *ctx, const struct update *u)
{
    struct run *run = ctx->run;

    if (!u->handler->validator) {
        return NULL;
    }
    aside_begin(run, run->task_arena);
    int code = u->handler->validator(ctx, u->input, u->handler->arg);
    aside_end(run);
    const struct failure *said = ctx->fresh_failure;
    ctx->failure = ctx->fresh_failure = run->current->failure = NULL;
    if (run->trespass.file) {
        return failure_application(run->task_arena, "ValidatorMayOnlyRead",
                                   arena_printf(run->task_arena,
                                                "the validator of update %s made a durable call "
                                                "(%s:%d)",
                                                u->name, run->trespass.file, run->trespass.line),
                                   true, NULL);
    }
    if (code == DUR_OK) {
        return NULL;
    }
    return said ? said
                : failure_application(run->task_arena, "Rejected",
                                      arena_printf(run->task_arena,
                                                   "update %s was rejected (code %d)", u->name,
                                                   code),
                                      true, NULL);
}

static struct update_outcome *outcome_of(dur_ctx *ctx, const struct update *u, int code,
                                         const char *result)
{
    struct arena *arena = ctx->run->task_arena;
    struct update_outcome *out = arena_new_of(arena, struct update_outcome);
    int checked = code == DUR_OK ? payload_check(result) : DUR_OK;

    if (checked != DUR_OK) {
        out->failure = failure_application(
            arena, "BadUpdateResult",
            arena_printf(arena, "the result of update %s is not JSON of at most %d bytes", u->name,
                         RUN_MAX_PAYLOAD),
            true, NULL);
    } else if (code == DUR_OK) {
        out->success = payloads_json(arena, result);
    } else if (code == DUR_CANCELLED) {
        out->failure = failure_canceled(arena, NULL);
    } else {
        const struct failure *said = ctx->fresh_failure ? ctx->fresh_failure : ctx->failure;
        out->failure = code == DUR_FAILED && said
                           ? failure_copy(said, arena)
                           : failure_application(
                                 arena, "UpdateFailed",
                                 arena_printf(arena, "the handler of update %s returned code %d",
                                              u->name, code),
                                 true, NULL);
    }
    return out;
}

static int complete(dur_ctx *ctx, struct update *u, int code, const char *result)
{
    struct run *run = ctx->run;
    struct command *c = command_add(run, &command_complete_update);

    if (!c) {
        return call_park(run);
    }
    c->update = u;
    must_move(&update_machine, &u->state, UPDATE_COMPLETED, u);
    forget(run, u);
    if (!run->replaying) {
        struct arena *arena = run->task_arena;
        u->completion = event_new(arena, EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
        struct ev_workflow_execution_update_completed *a =
            ev_workflow_execution_update_completed(u->completion);
        a->meta = arena_new_of(arena, struct update_meta);
        a->meta->update_id = u->id;
        a->outcome = outcome_of(ctx, u, code, result);
    }
    return DUR_OK;
}

static int handle_update(dur_ctx *ctx, void *arg, const char **ignored)
{
    struct run *run = ctx->run;
    struct update *u = arg;
    const char *result = NULL;

    (void)ignored;
    if (run->unwinding) { /* it never began */
        return DUR_UNWIND;
    }
    if (!handler_is_there(u->handler)) { /* its frame went meanwhile */
        u->started = false;
        return DUR_OK;
    }
    const struct failure *refusal = u->recorded ? NULL : validate(ctx, u);
    if (refusal) {
        reject(run, u, refusal);
        return DUR_OK;
    }
    run->stepped = true;
    struct command *c = command_add(run, &command_accept_update);
    if (!c) {
        return call_park(run);
    }
    c->update = u;
    must_move(&update_machine, &u->state, UPDATE_ACCEPTED, u);
    int code = u->handler->update(ctx, u->input, &result, u->handler->arg);
    if (run->unwinding) {
        return DUR_UNWIND;
    }
    return complete(ctx, u, code, result);
}

static void start(struct run *run, struct update *u, const struct handler *handler)
{
    u->handler = handler;
    struct coroutine *co = handler_start(run, handler, handle_update, u);
    if (co) {
        co->update = u;
        u->started = true;
    }
}

/* --- arriving ----------------------------------------------------------------------------------
 */

int update_apply_admitted(struct run *run, const struct event *event, struct err *err)
{
    const struct update_request *r = ev_workflow_execution_update_admitted(event)->request;

    if (!r || !r->meta || !r->meta->update_id || !r->input) {
        return bad_history(err, event, "has no request");
    }
    if (find(run, r->meta->update_id)) {
        return bad_history(err, event, "update id \"%.100s\" is in use", r->meta->update_id);
    }
    struct update *u = add(run, r->meta->update_id, r->input->name, r->input->args);
    u->admitted = true;
    u->sequencing_id = event->id;
    run->news = true;
    return 0;
}

/* Those that history accepts in this task. The others that were admitted in it are rejected ones:
 * nothing remains of them. */
static int deliver_recorded(struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->recorded_count; i++) {
        const struct event *event = run->recorded[i];
        if (event->type != EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
            continue;
        }
        const struct ev_workflow_execution_update_accepted *a =
            ev_workflow_execution_update_accepted(event);
        const struct update_request *r = a->accepted_request;
        const char *id = a->protocol_instance_id ? a->protocol_instance_id : "";
        struct update *u = find(run, id);
        if (u && (!u->admitted || u->recorded)) {
            return bad_history(err, event, "update \"%.100s\" was accepted before", id);
        }
        if (!u && (!r || !r->input)) {
            return bad_history(err, event, "update \"%.100s\" has no request", id);
        }
        u = u ? u : add(run, id, r->input->name, r->input->args);
        u->recorded = true;
    }
    for (struct update *u = run->updates, *next; u; u = next) {
        next = u->next;
        if (u->state == UPDATE_ARRIVED && !u->recorded) {
            must_move(&update_machine, &u->state, UPDATE_REJECTED, u);
            forget(run, u);
        }
    }
    return 0;
}

static struct update_request *request_of(struct run *run, const struct run_update *given)
{
    struct arena *arena = run->task_arena;
    struct update_request *r = arena_new_of(arena, struct update_request);

    r->meta = arena_new_of(arena, struct update_meta);
    r->meta->update_id = arena_strdup(arena, given->update_id);
    r->meta->identity = arena_strdup(arena, given->identity);
    r->input = arena_new_of(arena, struct update_input);
    r->input->name = arena_strdup(arena, given->name);
    r->input->args = given->input ? payloads_json(arena, given->input) : NULL;
    return r;
}

static void deliver_given(struct run *run, int64_t sequencing_id)
{
    for (size_t i = 0; i < run->given_count; i++) {
        const struct run_update *given = &run->given[i];
        if (find(run, given->update_id)) {
            continue; /* admitted in history as well, or it runs */
        }
        struct update_request *r = request_of(run, given);
        struct update *u = add(run, given->update_id, given->name, r->input->args);
        u->request = r;
        u->sequencing_id = sequencing_id;
    }
    run->given_count = 0;
}

int updates_deliver(struct run *run, int64_t sequencing_id, struct err *err)
{
    if (run->replaying) {
        int rc = deliver_recorded(run, err);
        if (rc) {
            return rc;
        }
    } else {
        deliver_given(run, sequencing_id);
    }
    for (struct update *u = run->updates; u && !run->outcome; u = u->next) {
        const struct handler *h = u->started ? NULL : handler_find(run, HANDLER_UPDATE, u->name);
        if (h) {
            start(run, u, h);
        }
    }
    return 0;
}

void updates_pump(struct run *run, const struct handler *handler)
{
    for (struct update *u = run->updates; u && !run->outcome; u = u->next) {
        if (!u->started && strcmp(u->name, handler->name) == 0) {
            start(run, u, handler);
        }
    }
}

void updates_end_task(struct run *run)
{
    for (struct update *u = run->updates, *next; u && !run->outcome; u = next) {
        next = u->next;
        if (u->state != UPDATE_ARRIVED || u->recorded) {
            continue; /* a recorded one without a handler: match.c misses its acceptance */
        }
        struct arena *arena = run->task_arena;
        reject(run, u,
               run->finished
                   ? failure_application(arena, "RunIsOver",
                                         "the run closed before its update could begin", true, NULL)
                   : failure_application(
                         arena, "UnknownUpdate",
                         arena_printf(arena, "no handler for update %s; there are: %s", u->name,
                                      handler_names(run, arena, HANDLER_UPDATE)),
                         true, NULL));
    }
}
