/*
 * query.c - run_query: a question about a run's state, answered without any trace.
 *
 * Owns: calling a query's handler off every fiber, reading only; and the two queries that every run
 * answers: __stack_trace (where each coroutine stands) and __temporal_workflow_metadata (what it
 * offers), both in Temporal's form.
 * Must not: change anything that a replay could see.
 * Tests: tests/unit/test_exec_query.c
 */
#include "exec/handler.h"

#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "exec/failure_info.h"
#include "history/failure.h"

#define STACK_TRACE "__stack_trace"
#define METADATA "__temporal_workflow_metadata"

static int refuse(struct arena *arena, struct run_answer *ret, const char *type, const char *fmt,
                  ...) printf_like(4, 5);

static int refuse(struct arena *arena, struct run_answer *ret, const char *type, const char *fmt,
                  ...)
{
    va_list ap;

    va_start(ap, fmt);
    ret->message = arena_vprintf(arena, fmt, ap);
    va_end(ap);
    ret->type = type;
    return 1;
}

/* --- where everything stands -------------------------------------------------------------------
 */

static void add_coroutine(struct str *text, const struct run *run, const struct coroutine *co)
{
    if (co->update) {
        str_addf(text, "update %s (id %s)", co->update->name, co->update->id);
    } else if (co->handler) {
        str_addf(text, "signal %s", co->handler->name);
    } else if (co == run->main) {
        str_addf(text, "workflow %s", run->spec.type);
    } else {
        str_add(text, "coroutine");
    }
    if (co->site.file) {
        str_addf(text, "\n    at %s:%d\n", co->site.file, co->site.line);
    } else {
        str_add(text, "\n    at its beginning\n");
    }
}

static const char *stack_trace(struct run *run, struct arena *arena)
{
    autostr struct str text = {0};
    autostr struct str json = {0};
    const struct coroutine *co = run->all;

    while (co && co->all_next) {
        co = co->all_next;
    }
    if (run->finished) {
        str_addf(&text, "the run is closed (%s)\n", run_machine.state_names[run->state]);
    }
    for (; co && !run->finished; co = co->all_prev) { /* oldest first */
        add_coroutine(&text, run, co);
    }
    json_quote(&json, str_c(&text), text.len);
    return arena_strdup(arena, str_c(&json));
}

/* --- what it offers ----------------------------------------------------------------------------
 */

static void put_definition(struct json_out *w, const char *name, const char *description)
{
    json_begin_object(w);
    json_kv_str(w, "name", name);
    json_kv_str_opt(w, "description", description);
    json_end_object(w);
}

static void put_handlers(struct json_out *w, const struct run *run, enum handler_kind kind)
{
    for (const struct handler *h = run->handlers; h; h = h->next) {
        if (h->kind == kind && handler_is_there(h)) {
            put_definition(w, h->name, NULL);
        }
    }
}

static const char *metadata(struct run *run, struct arena *arena)
{
    autostr struct str text = {0};
    struct json_out w = json_writer(&text, 0);

    json_begin_object(&w);
    json_key(&w, "definition");
    json_begin_object(&w);
    json_kv_str(&w, "type", run->spec.type);
    json_key(&w, "queryDefinitions");
    json_begin_array(&w);
    put_definition(&w, STACK_TRACE, "Where each coroutine of the run stands.");
    put_definition(&w, METADATA, "What the run offers.");
    put_handlers(&w, run, HANDLER_QUERY);
    json_end_array(&w);
    json_key(&w, "signalDefinitions");
    json_begin_array(&w);
    put_handlers(&w, run, HANDLER_SIGNAL);
    for (const struct channel *ch = run->channels; ch; ch = ch->next) {
        if (ch->asked && !(ch->handler && handler_is_there(ch->handler))) {
            put_definition(&w, ch->name, NULL);
        }
    }
    json_end_array(&w);
    json_key(&w, "updateDefinitions");
    json_begin_array(&w);
    put_handlers(&w, run, HANDLER_UPDATE);
    json_end_array(&w);
    json_end_object(&w);
    json_end_object(&w);
    return arena_strdup(arena, str_c(&text));
}

/* --- the code's own ----------------------------------------------------------------------------
 */

static int ask(struct run *run, const struct handler *h, const char *input, struct arena *arena,
               struct run_answer *ret)
{
    struct dur_ctx ctx = {.run = run, .scope = &run->root};
    const char *result = NULL;

    aside_begin(run, arena);
    int code = h->query(&ctx, input ? input : "null", &result, h->arg);
    aside_end(run);
    if (run->trespass.file) {
        return refuse(arena, ret, "QueryMayOnlyRead",
                      "the handler of query %s made a durable call "
                      "(%s:%d)",
                      h->name, run->trespass.file, run->trespass.line);
    }
    if (code != DUR_OK) {
        const struct failure *said = code == DUR_FAILED ? ctx.fresh_failure : NULL;
        return said ? refuse(arena, ret, arena_strdup(arena, failure_type(said)), "%s",
                             said->message ? said->message : "")
                    : refuse(arena, ret, "QueryFailed", "the handler of query %s returned code %d",
                             h->name, code);
    }
    if (payload_check(result) != DUR_OK) {
        return refuse(arena, ret, "BadQueryResult",
                      "the answer of query %s is not JSON of at most %d bytes", h->name,
                      RUN_MAX_PAYLOAD);
    }
    ret->result = result ? arena_strdup(arena, result) : "null";
    return 0;
}

/* The handler was registered, but the memory that it would look at is gone. */
static bool lost_its_frame(const struct run *run, const char *name)
{
    for (const struct handler *h = run->handlers; h; h = h->next) {
        if (h->kind == HANDLER_QUERY && h->query && strcmp(h->name, name) == 0) {
            return !handler_is_there(h);
        }
    }
    return false;
}

int run_query(struct run *run, const char *name, const char *input, struct arena *arena,
              struct run_answer *ret)
{
    *ret = (struct run_answer){0};
    if (run->outcome) {
        return refuse(arena, ret, "RunFailed", "%s",
                      run->message ? run->message : "the run's history cannot be replayed");
    }
    if (run->state == RUN_STATE_NEW) {
        return refuse(arena, ret, "RunNotBegun",
                      "no workflow task of run %s has been completed yet", run->spec.workflow_id);
    }
    if (strcmp(name, STACK_TRACE) == 0) {
        ret->result = stack_trace(run, arena);
        return 0;
    }
    if (strcmp(name, METADATA) == 0) {
        ret->result = metadata(run, arena);
        return 0;
    }
    const struct handler *h = handler_find(run, HANDLER_QUERY, name);
    if (h) {
        return ask(run, h, input, arena, ret);
    }
    if (lost_its_frame(run, name)) {
        return refuse(arena, ret, "QueryStateGone",
                      "the state of query %s lay in the frame of a function that has returned: "
                      "allocate it with dur_ctx_alloc()",
                      name);
    }
    return refuse(arena, ret, "UnknownQuery", "no handler for query %s; there are: %s, %s, %s",
                  name, handler_names(run, arena, HANDLER_QUERY), STACK_TRACE, METADATA);
}
