/*
 * view.c - see view.h.
 * Tests: tests/cli/t0615-status.sh, t0625-get.sh
 */
#include "cli/view.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/format.h"
#include "cli/past.h"

#define COMMIT_SHOWN 7

static const struct json *parse(struct arena *arena, const char *text)
{
    const struct json *root = NULL;
    if (!text || json_parse(arena, text, strlen(text), &root, NULL) < 0 ||
        root->type != JSON_OBJECT) {
        return NULL;
    }
    return root;
}

static const char *text_of(const struct json *first, const char *key, const struct json *second,
                           const char *other_key)
{
    const char *text = json_get_str(first, key);
    text = text ? text : json_get_str(second, other_key);
    return text ? text : "";
}

/* A run that the engine closed without the factory's verdict: "TERMINATED", "TIMEDOUT" ... */
static const char *engine_state(struct arena *arena, dur_status status)
{
    char *name = arena_strdup(arena, dur_status_name(status));
    for (char *c = name; *c; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    return name;
}

static const char *failure_text(struct arena *arena, const char *failure)
{
    const struct json *root = parse(arena, failure);
    const char *text = NULL;
    for (const struct json *f = root; f; f = json_get(f, "cause")) {
        const char *message = json_get_str(f, "message");
        text = message && *message ? message : text;
    }
    return text;
}

static void read_verdict(struct arena *arena, const dur_description *d, struct view *v)
{
    enum outcome cleanup = OUTCOME_SKIPPED;
    const char *result = json_get_str(v->manifest, "factory_result");
    if (!v->manifest && d->status == DUR_COMPLETED) { /* a server's lists leave results out */
        result = json_get_str(v->memo, "state");
    }
    v->cleanup_result = json_get_str(v->manifest, "cleanup_result");
    if (result && run_state_parse(result, &v->state)) {
        v->has_verdict = true;
        v->state_name = run_state_name(v->state);
        outcome_parse(v->cleanup_result, &cleanup);
        v->exit_status = run_state_exit_status(v->state, cleanup == OUTCOME_ERROR);
        return;
    }
    v->state = STATE_INFRASTRUCTURE_FAILED;
    v->state_name = engine_state(arena, d->status);
    v->error = v->error ? v->error : failure_text(arena, d->failure);
    v->exit_status = run_state_exit_status(v->state, false);
}

void view_read(struct arena *arena, const dur_description *d, struct view *v)
{
    *v = (struct view){
        .workflow_id = arena_strdup(arena, d->workflow_id),
        .is_over = d->closed_ns != 0,
        .started_ns = d->started_ns,
        .ended_ns = d->closed_ns,
        .events = d->history_events,
        .history_bytes = d->history_bytes,
        .state = STATE_RUNNING,
        .state_name = run_state_name(STATE_RUNNING),
        .parked = arena_strdup(arena, d->parked),
        .memo = parse(arena, arena_strdup(arena, d->memo)),
        .manifest = parse(arena, arena_strdup(arena, d->result)),
        .exit_status = EXIT_ERROR,
    };
    v->run_id = find_run_id(v->workflow_id);
    v->step = text_of(v->memo, "step", NULL, "");
    v->agent = text_of(v->manifest, "agent_harness", v->memo, "agent");
    v->model = text_of(v->manifest, "model", v->memo, "model");
    v->repository = text_of(v->manifest, "repository", v->memo, "repository");
    v->revision = text_of(v->manifest, "requested_revision", v->memo, "revision");
    v->profile = text_of(v->manifest, "verification_profile", v->memo, "profile");
    v->commit = text_of(v->manifest, "baseline_sha", NULL, "");
    if (!*v->commit) {
        const char *message = json_get_str(json_get(v->memo, "condition.Validated"), "message");
        v->commit = message && str_starts(message, "commit=")
                        ? arena_strndup(arena, message + 7, strcspn(message + 7, " "))
                        : "";
    }
    const struct json *facts = v->manifest ? v->manifest : v->memo;
    v->error = json_get_str(facts, "error");
    v->agent_result = json_get_str(facts, "agent_result");
    v->verification_result = json_get_str(facts, "verification_result");
    if (v->is_over) {
        read_verdict(arena, d, v);
    }
}

static int ask_run(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret)
{
    dur_description *d = NULL;
    int rc = dur_describe(cli->engine, workflow_id, &d);
    if (rc == DUR_OK) {
        view_read(arena, d, ret);
        dur_description_free(d);
    }
    if (rc == DUR_NOT_FOUND && past_view(cli, arena, workflow_id, ret)) {
        return DUR_OK;
    }
    return rc;
}

int view_load(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret)
{
    int rc = ask_run(cli, arena, workflow_id, ret);
    return rc == DUR_OK ? EXIT_OK
                        : cli_error(rc == DUR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_ERROR, "%s",
                                    dur_error(cli->engine));
}

const struct json *view_next_condition(const struct view *view, const struct json *before)
{
    const struct json *list = json_get(view->manifest, "conditions");
    if (list) {
        return before ? before->next : list->first;
    }
    const struct json *next = before ? before->next : view->memo ? view->memo->first : NULL;
    while (next && !str_starts(next->key, "condition.")) {
        next = next->next;
    }
    return next;
}

void view_source(struct str *out, const struct view *v)
{
    format_repository(out, v->repository);
    str_addc(out, '@');
    if (*v->commit) {
        str_addn(out, v->commit, strnlen(v->commit, COMMIT_SHOWN));
    } else {
        format_clean(out, v->revision, strlen(v->revision));
    }
}

static int ask_engine(struct cli *cli, struct arena *arena, const struct view *view,
                      struct view_engine *ret)
{
    *ret = (struct view_engine){0};
    int rc = admin_server(cli->engine, arena, &ret->server);
    if (rc == DUR_OK && !view->is_over) {
        rc = admin_activities(cli->engine, arena, view->workflow_id, &ret->pending);
    }
    if (rc == DUR_OK && ret->pending.count) {
        const char *lane = ret->pending.rows[0].lane;
        rc = admin_lane(cli->engine, lane, &ret->lane);
        bool is_agents = str_eq(lane, "agent") || str_eq(lane, "gate");
        bool is_known = !cli->config_is_guess && ret->lane.running != ADMIN_UNKNOWN;
        ret->slots = is_agents && is_known ? cli->config->worker_concurrency : 0;
    }
    return rc;
}

int view_load_engine(struct cli *cli, struct arena *arena, const struct view *view,
                     struct view_engine *ret)
{
    int rc = ask_engine(cli, arena, view, ret);
    return rc == DUR_OK ? EXIT_OK : cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
}

int view_ask(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret,
             struct view_engine *ret_engine)
{
    int rc = ask_run(cli, arena, workflow_id, ret);
    return rc == DUR_OK ? ask_engine(cli, arena, ret, ret_engine) : rc;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_time(struct json_out *w, const char *key, int64_t ns)
{
    autostr struct str text = {0};
    if (ns) {
        time_format_rfc3339(&text, ns);
        json_kv_str(w, key, str_c(&text));
    } else {
        json_kv_str(w, key, NULL);
    }
}

static void print_pending(struct json_out *w, const struct view_engine *engine)
{
    json_key(w, "pending");
    json_begin_array(w);
    for (size_t i = 0; i < engine->pending.count; i++) {
        const struct admin_activity *a = &engine->pending.rows[i];
        json_begin_object(w);
        json_kv_str(w, "activity", a->type);
        json_kv_str(w, "lane", a->lane);
        json_kv_str(w, "state", admin_state_name(a->state));
        json_kv_i64(w, "attempt", a->attempt);
        json_key(w, "ahead");
        if (a->ahead == ADMIN_UNKNOWN) {
            json_put_null(w);
        } else {
            json_put_i64(w, a->ahead);
        }
        put_time(w, "scheduled_at", a->scheduled_ns);
        put_time(w, "started_at", a->started_ns);
        put_time(w, "last_heartbeat_at", a->heartbeat_ns);
        put_time(w, "next_attempt_at", a->next_attempt_ns);
        put_time(w, "deadline_at", a->deadline_ns);
        json_kv_str(w, "last_failure", a->last_failure);
        json_kv_bool(w, "cancel_requested", a->cancel_requested);
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_engine(struct json_out *w, const struct view_engine *engine)
{
    json_key(w, "engine");
    json_begin_object(w);
    json_kv_bool(w, "running", engine->server.is_serving);
    json_kv_i64(w, "pid", engine->server.is_serving ? engine->server.pid : 0);
    json_end_object(w);
    print_pending(w, engine);
}

void view_print_json(struct str *out, const struct view *v, const struct view_engine *engine,
                     int indent)
{
    struct json_out w = json_writer(out, indent);
    json_begin_object(&w);
    json_kv_i64(&w, "schema", 1);
    json_kv_str(&w, "run_id", v->run_id);
    json_kv_str(&w, "workflow_id", v->workflow_id);
    json_kv_str(&w, "state", v->state_name);
    json_kv_bool(&w, "finished", v->is_over);
    json_kv_str(&w, "step", v->step);
    put_time(&w, "started_at", v->started_ns);
    put_time(&w, "finished_at", v->ended_ns);
    json_kv_str(&w, "agent", v->agent);
    json_kv_str(&w, "model", *v->model ? v->model : NULL);
    json_kv_str(&w, "repository", v->repository);
    json_kv_str(&w, "revision", v->revision);
    json_kv_str(&w, "commit", *v->commit ? v->commit : NULL);
    json_kv_str(&w, "verification", v->profile);
    json_kv_str(&w, "agent_result", v->agent_result);
    json_kv_str(&w, "verification_result", v->verification_result);
    json_kv_str(&w, "cleanup_result", v->cleanup_result);
    json_kv_str(&w, "error", v->error);
    json_kv_str(&w, "parked", v->parked);
    json_kv_i64(&w, "events", v->events);
    json_key(&w, "conditions");
    json_begin_array(&w);
    for (const struct json *c = NULL; (c = view_next_condition(v, c));) {
        json_put(&w, c);
    }
    json_end_array(&w);
    if (engine && !v->is_over) {
        print_engine(&w, engine);
    }
    json_key(&w, "exit_status");
    if (v->is_over) {
        json_put_i64(&w, v->exit_status);
    } else {
        json_put_null(&w);
    }
    json_key(&w, "manifest");
    if (v->manifest) {
        json_put(&w, v->manifest);
    } else {
        json_put_null(&w);
    }
    json_end_object(&w);
    str_addc(out, '\n');
}
