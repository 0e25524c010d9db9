/*
 * start.c - dur_start and dur_signal_with_start: may there be a new run of this id, and its birth.
 *
 * Owns: the policies for ids (an open run: conflict; a closed one: reuse), the dedupe of repeated
 * calls, and the checks of the options. Everything that a call decides is one transaction: the run
 * that is terminated to make room, the new one, and its first signal.
 *
 *   open run of this id    conflict  FAIL: DUR_EXISTS, USE_EXISTING: that one, TERMINATE_EXISTING
 *   closed                 reuse     ALLOW, FAILED_ONLY, REJECT
 *
 * On a connected engine the options are checked here and all else is the server's.
 * Must not: execute anything.
 * Tests: tests/unit/test_engine_start.c, tests/unit/test_engine_client.c
 */
#include <string.h>

#include "base/cron.h"
#include "engine/append.h"
#include "exec/options.h"
#include "history/attributes.h"
#include "history/map.h"
#include "journal/signal_request.h"
#include "worker/birth.h"

#define PRIORITY_LAST 5

/* One call: what was asked for, and the transaction. */
struct start {
    const char *type, *id, *input;
    dur_start_options o;
    struct payload_map *attributes;
    int64_t backoff_ns;
    const char *signal, *signal_input; /* signal NULL: a plain start */
    struct append a;
};

/* --- what was asked for -------------------------------------------------------------------------
 */

static int check_texts(dur_engine *engine, const dur_start_options *o)
{
    int rc = engine_check_payload(engine, "the memo", o->memo);
    if (rc ||
        (o->task_queue && (rc = engine_check_name(engine, "the task queue", o->task_queue))) ||
        (o->request_id && (rc = engine_check_name(engine, "the request id", o->request_id)))) {
        return rc;
    }
    if (o->memo && o->memo[strspn(o->memo, " \t\r\n")] != '{') {
        return engine_refuse(engine, DUR_INVALID, "the memo must be a JSON object");
    }
    return DUR_OK;
}

static int check_numbers(dur_engine *engine, const dur_start_options *o)
{
    if (!options_is_duration(o->execution_timeout_ms) || !options_is_duration(o->run_timeout_ms) ||
        !options_is_duration(o->task_timeout_ms) || !options_is_duration(o->start_delay_ms)) {
        return engine_refuse(engine, DUR_INVALID, "time-outs lie between 0 and 100 years");
    }
    if ((unsigned)o->reuse > DUR_REUSE_REJECT) {
        return engine_refuse(engine, DUR_INVALID, "%d is no reuse policy", (int)o->reuse);
    }
    if ((unsigned)o->conflict > DUR_CONFLICT_TERMINATE_EXISTING) {
        return engine_refuse(engine, DUR_INVALID, "%d is no conflict policy", (int)o->conflict);
    }
    if (o->retry && !options_is_policy(o->retry)) {
        return engine_refuse(engine, DUR_INVALID, "there is no such retry policy");
    }
    if ((unsigned)o->priority > PRIORITY_LAST) {
        return engine_refuse(engine, DUR_INVALID, "priorities go from 1 to %d", PRIORITY_LAST);
    }
    return DUR_OK;
}

/* How long its first task waits: for the cron text's first point, or as asked. */
static int set_backoff(struct start *s, dur_engine *engine)
{
    struct cron *cron autocron = NULL;
    struct err err = {0};
    s->backoff_ns = s->o.start_delay_ms * NS_PER_MS;
    if (!s->o.cron || !*s->o.cron) {
        s->o.cron = NULL;
        return DUR_OK;
    }
    if (s->backoff_ns > 0) {
        return engine_refuse(engine, DUR_INVALID, "a run has a start delay or a cron text");
    }
    if (cron_parse(s->o.cron, NULL, &cron, &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "the cron text: %s", err.text);
    }
    int64_t now_ns = engine_now_ns(engine);
    s->backoff_ns = cron_next(cron, now_ns) - now_ns;
    return DUR_OK;
}

static int check(struct start *s, dur_engine *engine, struct arena *arena)
{
    struct err err = {0};
    int rc = engine_ready(engine, true);
    if (rc || (rc = engine_check_name(engine, "the workflow type", s->type)) ||
        (rc = engine_check_name(engine, "the workflow id", s->id)) ||
        (rc = engine_check_payload(engine, "the input", s->input)) ||
        (rc = check_texts(engine, &s->o)) || (rc = check_numbers(engine, &s->o)) ||
        (rc = set_backoff(s, engine))) {
        return rc;
    }
    if (s->o.search_attributes && strlen(s->o.search_attributes) > ATTRIBUTES_BYTES_MAX) {
        return engine_refuse(engine, DUR_LIMIT, "the search attributes are longer than %d bytes",
                             ATTRIBUTES_BYTES_MAX);
    }
    if (attributes_parse(arena, s->o.search_attributes, &s->attributes, &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "%s", err.text);
    }
    return DUR_OK;
}

/* --- may it be? ---------------------------------------------------------------------------------
 */

/* A new run may be made; the run that is there will do; or, negative, the refusal. */
enum { MAKE_NEW = 0, USE_OLD = 1 };

static int check_room(struct append *a)
{
    struct err err = {0};
    return store_admits_new_runs(a->engine->store, &err) < 0 ? engine_fail(a->engine, &err)
                                                             : MAKE_NEW;
}

/* The newest run of the id is closed. */
static int judge_closed(struct start *s, const struct execution_row *old)
{
    bool ended_well = old->status == EXECUTION_COMPLETED;
    if (s->o.reuse == DUR_REUSE_REJECT || (s->o.reuse == DUR_REUSE_FAILED_ONLY && ended_well)) {
        return engine_refuse(s->a.engine, DUR_EXISTS,
                             "the id %s was used before and may not be reused", s->id);
    }
    return check_room(&s->a);
}

static int judge_open(struct start *s)
{
    bool uses = s->o.conflict == DUR_CONFLICT_USE_EXISTING ||
                (s->signal && s->o.conflict == DUR_CONFLICT_FAIL);
    if (uses) {
        return USE_OLD;
    }
    if (s->o.conflict == DUR_CONFLICT_FAIL) {
        return engine_refuse(s->a.engine, DUR_EXISTS, "a run with id %s is open", s->id);
    }
    return check_room(&s->a);
}

/* MAKE_NEW, USE_OLD, or the refusal. The newest run of this id, if any, is in s->a.row. */
static int judge(struct start *s, bool *ret_is_repeat)
{
    struct err err = {0};
    struct execution_row before;
    struct db *db = txn_db(s->a.txn);
    *ret_is_repeat = false;
    int rc = execution_find_newest(db, s->a.arena, s->id, &s->a.row, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(s->a.engine, &err) : check_room(&s->a);
    }
    rc = s->o.request_id
             ? execution_find_request(db, s->a.arena, s->id, s->o.request_id, &before, &err)
             : 1;
    if (rc <= 0) {
        *ret_is_repeat = rc == 0;
        return rc < 0 ? engine_fail(s->a.engine, &err) : USE_OLD;
    }
    return s->a.row.status == EXECUTION_RUNNING ? judge_open(s) : judge_closed(s, &s->a.row);
}

/* --- acting ------------------------------------------------------------------------------------
 */

static struct event *signal_event(struct start *s)
{
    struct event *event = append_event(&s->a, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    struct ev_workflow_execution_signaled *a = ev_workflow_execution_signaled(event);
    a->signal_name = s->signal;
    a->input = s->signal_input ? payloads_json(s->a.arena, s->signal_input) : NULL;
    a->identity = s->a.engine->identity;
    a->request_id = s->o.request_id;
    return event;
}

/* The open run makes room, in Temporal's words. */
static void terminate_open(struct start *s, const char *new_run_id)
{
    autostr struct str details = {0};
    const char *text = arena_printf(s->a.arena, "terminated by new runID: %s", new_run_id);
    str_addc(&details, '"');
    str_add(&details, text);
    str_addc(&details, '"');
    append_terminated(&s->a, "TerminateIfRunning WorkflowIdReusePolicy",
                      payloads_json(s->a.arena, str_c(&details)));
}

static int make_new(struct start *s)
{
    struct append *a = &s->a;
    struct birth birth = {
        .workflow_id = s->id,
        .run_id = birth_run_id(a->arena),
        .type = s->type,
        .task_queue = s->o.task_queue,
        .input = s->input ? payloads_json(a->arena, s->input) : NULL,
        .memo = map_parse(a->arena, s->o.memo),
        .search_attributes = s->attributes,
        .execution_timeout_ns = s->o.execution_timeout_ms * NS_PER_MS,
        .run_timeout_ns = s->o.run_timeout_ms * NS_PER_MS,
        .task_timeout_ns = s->o.task_timeout_ms * NS_PER_MS,
        .retry = s->o.retry ? options_policy(a->arena, s->o.retry, 0) : NULL,
        .cron = s->o.cron,
        .first_task_backoff_ns = s->backoff_ns,
        .priority = s->o.priority,
        .request_id = s->o.request_id,
        .identity = a->engine->identity,
    };
    if (a->row.id && a->row.status == EXECUTION_RUNNING) {
        terminate_open(s, birth.run_id);
    }
    const struct event *signal = s->signal ? signal_event(s) : NULL;
    if (signal) {
        birth.signals = &signal;
        birth.signal_count = 1;
    }
    birth_write(a->txn, a->arena, &birth, a->now_ns, &a->row);
    return append_commit(a);
}

/* The open run gets the signal, unless it had it. */
static int signal_old(struct start *s)
{
    if (s->o.request_id && !signal_request_put(s->a.txn, s->a.row.id, s->o.request_id) &&
        !txn_failed(s->a.txn)) {
        return append_rollback(&s->a, DUR_OK);
    }
    append_add(&s->a, signal_event(s));
    append_task(&s->a);
    append_write(&s->a, TASK_SIGNAL);
    return append_commit(&s->a);
}

static int act(struct start *s, dur_engine *engine)
{
    autoarena struct arena *arena = arena_new();
    bool is_repeat;
    int rc = check(s, engine, arena);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return engine_remote(engine, true, start, s->type, s->id, s->input, s->signal,
                             s->signal_input, &s->o);
    }
    if (rc || (rc = append_begin(&s->a, engine, arena))) {
        return rc;
    }
    rc = judge(s, &is_repeat);
    if (rc == MAKE_NEW) {
        return make_new(s);
    }
    if (rc == USE_OLD && s->signal && !is_repeat) {
        return signal_old(s);
    }
    return append_rollback(&s->a, rc == USE_OLD ? DUR_OK : rc);
}

static void take_options(struct start *s, const dur_start_options *options, size_t size)
{
    if (options) {
        memcpy(&s->o, options, size < sizeof(s->o) ? size : sizeof(s->o));
    }
}

int dur_start_at(dur_engine *engine, const char *type, const char *id, const char *input,
                 const dur_start_options *options, size_t options_size)
{
    struct start s = {.type = type, .id = id, .input = input};
    take_options(&s, options, options_size);
    return act(&s, engine);
}

int dur_signal_with_start_at(dur_engine *engine, const char *type, const char *id,
                             const char *input, const char *signal, const char *signal_input,
                             const dur_start_options *options, size_t options_size)
{
    struct start s = {.type = type, .id = id, .input = input};
    int rc = engine_check_name(engine, "the signal name", signal);
    if (rc || (rc = engine_check_payload(engine, "the signal's input", signal_input))) {
        return rc;
    }
    s.signal = signal;
    s.signal_input = signal_input;
    take_options(&s, options, options_size);
    return act(&s, engine);
}
