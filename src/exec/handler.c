/*
 * handler.c - dur_on_query, dur_on_signal, dur_on_update and the coroutines of signal handlers.
 *
 * Owns: the table of handlers, the rule that a handler ends with the stack that its argument lies
 * on, and the read-only way in which queries and validators are called. A signal with a handler is
 * handled in a coroutine of its own, in order of arrival, at most SIGNALS_AT_ONCE at a time; the
 * others wait in their channel.
 * Must not: know what an update is beyond starting it (update.c).
 * Tests: tests/unit/test_exec_handler.c
 */
#include "exec/handler.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

#define SIGNALS_AT_ONCE 256 /* coroutines: a flood of signals must not take all stacks */

/* --- the table ---------------------------------------------------------------------------------
 */

bool handler_is_there(const struct handler *h)
{
    return (h->query || h->signal || h->update) && !(h->frame_of && h->frame_of->returned);
}

static struct handler *find(struct run *run, enum handler_kind kind, const char *name)
{
    struct handler *h = run->handlers;

    while (h && (h->kind != kind || strcmp(h->name, name) != 0)) {
        h = h->next;
    }
    return h;
}

struct handler *handler_find(struct run *run, enum handler_kind kind, const char *name)
{
    struct handler *h = find(run, kind, name);

    return h && handler_is_there(h) ? h : NULL;
}

const char *handler_names(struct run *run, struct arena *arena, enum handler_kind kind)
{
    autostr struct str text = {0};

    for (const struct handler *h = run->handlers; h; h = h->next) {
        if (h->kind == kind && handler_is_there(h)) {
            str_addf(&text, "%s%s", text.len ? ", " : "", h->name);
        }
    }
    return text.len ? arena_strdup(arena, str_c(&text)) : "none";
}

static const struct coroutine *owner_of(const struct run *run, const void *p)
{
    for (const struct coroutine *co = run->all; p && co; co = co->all_next) {
        if (fiber_holds(co->fiber, p)) {
            return co;
        }
    }
    return NULL;
}

/* Names that begin with two underscores are the engine's own. */
static int set(dur_ctx *ctx, struct handler made, struct handler **ret)
{
    struct run *run = ctx->run;
    struct handler **at = &run->handlers;

    if (!run->current || run->in_callback) {
        return DUR_INVALID;
    }
    if (run->unwinding) {
        return DUR_UNWIND;
    }
    if (!made.name || !*made.name || strlen(made.name) > RUN_MAX_ID_BYTES ||
        str_starts(made.name, "__")) {
        return DUR_INVALID;
    }
    made.frame_of = owner_of(run, made.arg);
    while (*at && ((*at)->kind != made.kind || strcmp((*at)->name, made.name) != 0)) {
        at = &(*at)->next;
    }
    struct handler *h = arena_new_of(run->arena, struct handler);
    made.name = *at ? (*at)->name : run_strdup(run, made.name);
    made.next = *at ? (*at)->next : NULL;
    *h = made; /* a new one: coroutines may still be about to run the old */
    *at = h;
    *ret = h;
    return DUR_OK;
}

int dur_on_query(dur_ctx *ctx, const char *name, dur_query_fn fn, void *arg)
{
    struct handler *h;

    return set(ctx, (struct handler){.kind = HANDLER_QUERY, .name = name, .query = fn, .arg = arg},
               &h);
}

int dur_on_signal(dur_ctx *ctx, const char *name, dur_signal_fn fn, void *arg)
{
    struct handler *h;
    int code = set(
        ctx, (struct handler){.kind = HANDLER_SIGNAL, .name = name, .signal = fn, .arg = arg}, &h);

    if (code == DUR_OK) {
        struct channel *ch = channel_get(ctx->run, name);
        ch->handler = h;
        signals_pump(ctx->run, ch);
    }
    return ctx->run->outcome ? call_park(ctx->run) : code;
}

int dur_on_update(dur_ctx *ctx, const char *name, dur_validator_fn validator, dur_update_fn fn,
                  void *arg)
{
    struct handler *h;
    int code = set(
        ctx,
        (struct handler){
            .kind = HANDLER_UPDATE, .name = name, .update = fn, .validator = validator, .arg = arg},
        &h);

    if (code == DUR_OK && fn) {
        updates_pump(ctx->run, h);
    }
    return ctx->run->outcome ? call_park(ctx->run) : code;
}

int dur_all_handlers_finished(dur_ctx *ctx)
{
    return ctx->run->signal_handlers == 0 && updates_running(ctx->run) == 0;
}

/* --- running them ------------------------------------------------------------------------------
 */

struct coroutine *handler_start(struct run *run, const struct handler *handler, dur_coroutine_fn fn,
                                void *arg)
{
    struct coroutine *co =
        run->fibers < RUN_MAX_FIBERS ? coroutine_new(run, &run->root, fn, arg) : NULL;

    if (!co) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                   "no room for the coroutine of handler %s (%d are alive, the limit is %d)",
                   quoted(run->task_arena, handler->name), run->fibers, RUN_MAX_FIBERS);
        return NULL;
    }
    co->handler = handler;
    return co;
}

/* The coroutine of one signal. */
static int handle_signal(dur_ctx *ctx, void *arg, const char **result)
{
    struct run *run = ctx->run;
    struct signal *s = arg;
    const struct handler *h = run->current->handler;

    (void)result;
    if (run->unwinding) { /* it never began */
        return DUR_UNWIND;
    }
    if (!handler_is_there(h)) {
        run->signal_handlers--;
        signal_put_back(run, h->name, s);
        return DUR_OK;
    }
    must_move(&signal_machine, &s->state, SIGNAL_RECEIVED, s);
    int code = h->signal(ctx, s->input, h->arg);
    if (run->unwinding) {
        return DUR_UNWIND;
    }
    run->signal_handlers--;
    if (code != DUR_OK && code != DUR_CANCELLED) {
        dur_log(ctx, "the handler of signal %s returned code %d", h->name, code);
    }
    signals_pump(run, channel_get(run, h->name));
    return code;
}

const struct signal *handler_signal_of(const struct coroutine *co)
{
    /* Not by its function: that has two addresses when a module has a copy of this room. */
    return co->handler && !co->update ? co->arg : NULL;
}

void signals_pump(struct run *run, struct channel *ch)
{
    while (ch->first && ch->handler && handler_is_there(ch->handler) &&
           run->signal_handlers < SIGNALS_AT_ONCE) {
        struct signal *s = ch->first;
        if (!handler_start(run, ch->handler, handle_signal, s)) {
            return;
        }
        ch->first = s->next;
        if (!ch->first) {
            ch->last = NULL;
        }
        s->next = NULL;
        run->signal_handlers++;
    }
}

/* --- reading only ------------------------------------------------------------------------------
 */

void aside_begin(struct run *run, struct arena *memory)
{
    assert(!run->aside && !run->in_callback);
    run->aside = memory;
    run->in_callback = true;
    run->trespass = (struct run_site){0};
}

void aside_end(struct run *run)
{
    run->aside = NULL;
    run->in_callback = false;
}
