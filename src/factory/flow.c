/*
 * flow.c - see flow.h. Owns the memo's form and the activity classes.
 * Tests: tests/unit/test_factory_workflow.c
 */
#include "factory/flow.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

/* job.c beats every 10 s. A server takes so long to find that a worker died, or that it never got
 * an attempt; an agent or gate that goes on meanwhile is only followed again. */
#define BEATS_MS (40 * DUR_SECONDS)

void flow_step(struct flow *f, const char *step)
{
    f->step = step;
    f->memo_dirty = true;
}

void flow_condition(struct flow *f, const char *type, const char *status, const char *reason,
                    const char *fmt, ...)
{
    struct condition *c = f->conditions;
    while (c < f->conditions + f->condition_count && !str_eq(c->type, type)) {
        c++;
    }
    if (c == f->conditions + FLOW_CONDITIONS_MAX) {
        return;
    }
    if (c == f->conditions + f->condition_count) {
        f->condition_count++;
    }
    if (!str_eq(c->status, status)) {
        c->at_ns = dur_now_ns(f->ctx);
    }
    c->type = type;
    c->status = status;
    c->reason = reason;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->message, sizeof(c->message), fmt, ap);
    va_end(ap);
    c->fresh = f->memo_dirty = true;
}

void flow_error(struct flow *f, const char *fmt, ...)
{
    if (f->error[0]) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->error, sizeof(f->error), fmt, ap);
    va_end(ap);
    f->memo_dirty = true;
}

static void print_condition(struct json_out *out, const struct condition *c)
{
    autostr struct str at = {0};
    time_format_rfc3339(&at, c->at_ns);
    json_begin_object(out);
    json_kv_str(out, "type", c->type);
    json_kv_str(out, "status", c->status);
    json_kv_str(out, "reason", c->reason);
    json_kv_str_opt(out, "message", c->message[0] ? c->message : NULL);
    json_kv_str(out, "last_transition_time", str_c(&at));
    json_end_object(out);
}

static void put_raw(struct json_out *out, const char *key, const char *json)
{
    if (json) {
        json_key(out, key);
        json_put_raw(out, json, strlen(json));
    }
}

/* Everything noted since the last memo event. state NULL: the run goes on. */
static void note(struct flow *f, const char *state)
{
    autostr struct str memo = {0};
    struct json_out out = json_writer(&memo, 0);
    if (!f->memo_dirty && !state) {
        return;
    }
    json_begin_object(&out);
    json_kv_str(&out, "step", f->step);
    json_kv_str(&out, "state", state ? state : "RUNNING");
    json_kv_str_opt(&out, "error", f->error[0] ? f->error : NULL);
    json_kv_str_opt(&out, "sandbox_id", f->sandbox_id);
    json_kv_str(&out, "agent_result", outcome_name(f->facts.agent));
    json_kv_str(&out, "verification_result", outcome_name(f->facts.verification));
    for (int i = 0; i < f->condition_count; i++) {
        struct condition *c = &f->conditions[i];
        if (c->fresh) {
            char key[64];
            snprintf(key, sizeof(key), "condition.%s", c->type);
            json_key(&out, key);
            print_condition(&out, c);
            c->fresh = false;
        }
    }
    json_end_object(&out);
    f->memo_dirty = false;
    dur_upsert_memo(f->ctx, str_c(&memo));
}

void flow_finish(struct flow *f, enum run_state state)
{
    flow_step(f, "done");
    note(f, run_state_name(state));
}

int flow_run(struct flow *f, enum flow_class class, const char *activity, const char *input,
             const char **result, int64_t timeout_ms)
{
    static const struct {
        const char *lane;
        int64_t start_to_close_ms;
        int attempts; /* 0: as long as schedule-to-close allows */
        int64_t first_retry_ms, longest_retry_ms;
        int64_t heartbeat_ms;
    } classes[] = {
        [CLASS_VALIDATE] = {"control", 20 * DUR_MINUTES, 4, 500, 30 * DUR_SECONDS, BEATS_MS},
        [CLASS_CONTROL] = {"control", 20 * DUR_MINUTES, 8, 500, 30 * DUR_SECONDS, BEATS_MS},
        [CLASS_AGENT] = {"agent", 0, 0, 500, 30 * DUR_SECONDS, BEATS_MS},
        [CLASS_GATE] = {"gate", 0, 0, 500, 30 * DUR_SECONDS, BEATS_MS},
        [CLASS_CLEANUP] = {"cleanup", 10 * DUR_MINUTES, 12, 500, 60 * DUR_SECONDS, BEATS_MS},
        [CLASS_FINAL] = {"cleanup", 2 * DUR_MINUTES, 0, 500, 60 * DUR_SECONDS, BEATS_MS},
    };
    int64_t one = timeout_ms ? timeout_ms : classes[class].start_to_close_ms;
    dur_activity_options options = {
        .task_queue = classes[class].lane,
        .start_to_close_ms = one,
        .schedule_to_close_ms = class == CLASS_FINAL ? 7 * DUR_DAYS : 2 * one + 10 * DUR_MINUTES,
        .heartbeat_ms = classes[class].heartbeat_ms,
        .max_attempts = classes[class].attempts,
        .retry = {.initial_interval_ms = classes[class].first_retry_ms,
                  .maximum_interval_ms = classes[class].longest_retry_ms},
        .cancellation = DUR_WAIT_CANCEL,
    };
    note(f, NULL);
    return dur_run(f->ctx, activity, input, result, &options);
}

static const dur_failure_info *innermost(const struct flow *f)
{
    const dur_failure_info *failure = dur_failure(f->ctx);
    while (failure && failure->cause) {
        failure = failure->cause;
    }
    return failure;
}

const char *flow_failure(const struct flow *f)
{
    const dur_failure_info *failure = innermost(f);
    return failure && failure->message ? failure->message : "unknown failure";
}

bool flow_failure_is_of_host(const struct flow *f)
{
    const dur_failure_info *failure = innermost(f);
    return failure && (failure->kind != DUR_PERMANENT || failure->timeout_type ||
                       str_eq(failure->type, "ProgramMissing") ||
                       str_eq(failure->type, "NamespacesForbidden"));
}

static void print_facts(struct json_out *out, const struct facts *facts)
{
    json_kv_str(out, "agent_result", outcome_name(facts->agent));
    json_kv_str(out, "verification_result", outcome_name(facts->verification));
    json_kv_str(out, "cleanup_result", outcome_name(facts->cleanup));
    json_kv_bool(out, "invalid_request", facts->invalid_request);
    json_kv_bool(out, "cancelled", facts->cancelled);
    json_kv_bool(out, "total_timed_out", facts->total_timed_out);
    json_kv_bool(out, "infrastructure_failed", facts->infrastructure_failed);
    json_kv_bool(out, "gate_tampered", facts->gate_tampered);
    json_kv_bool(out, "blocked", facts->blocked);
    json_kv_bool(out, "evidence_missing", facts->evidence_missing);
}

const char *flow_facts(struct flow *f)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);
    json_begin_object(&out);
    json_kv_str(&out, "run_id", f->run_id);
    json_kv_str(&out, "factory_result", run_state_name(verdict_of(&f->facts)));
    print_facts(&out, &f->facts);
    json_kv_str_opt(&out, "error", f->error[0] ? f->error : NULL);
    json_kv_str_opt(&out, "sandbox_id", f->sandbox_id);
    json_kv_str_opt(&out, "verify_sandbox_id", f->verify_sandbox_id);
    json_kv_i64(&out, "started_ns", f->started_ns);
    json_kv_i64(&out, "completed_ns", dur_now_ns(f->ctx));
    put_raw(&out, "sandbox", f->sandbox);
    put_raw(&out, "prepared", f->prepared);
    put_raw(&out, "agent", f->agent);
    put_raw(&out, "collected", f->collected);
    put_raw(&out, "integrity", f->integrity);
    put_raw(&out, "drift", f->drift);
    put_raw(&out, "cleanup", f->cleanup);
    json_key(&out, "gates");
    autostr struct str gates = {0};
    str_addf(&gates, "[%s]", str_c(&f->gates));
    json_put_raw(&out, str_c(&gates), gates.len);
    json_key(&out, "conditions");
    json_begin_array(&out);
    for (int i = 0; i < f->condition_count; i++) {
        print_condition(&out, &f->conditions[i]);
    }
    json_end_array(&out);
    json_end_object(&out);
    return dur_ctx_jsonf(f->ctx, "%j", str_c(&text));
}
