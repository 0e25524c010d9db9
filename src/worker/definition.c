/*
 * definition.c - see definition.h.
 * Tests: tests/unit/test_worker_calendar.c
 */
#include "worker/definition.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"

static const char *const overlap_names[] = {
    "Skip", "BufferOne", "BufferAll", "CancelOther", "TerminateOther", "AllowAll",
};

const char *definition_overlap_name(dur_overlap overlap)
{
    return (unsigned)overlap < ARRAY_LEN(overlap_names) ? overlap_names[overlap] : "Own";
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_list(struct json_out *w, const char *key, const char *const *texts)
{
    if (!texts || !texts[0]) {
        return;
    }
    json_key(w, key);
    json_begin_array(w);
    for (; *texts; texts++) {
        json_put_str(w, *texts);
    }
    json_end_array(w);
}

static void put_time(struct json_out *w, const char *key, int64_t ns)
{
    autostr struct str text = {0};
    if (ns) {
        time_format_rfc3339(&text, ns);
        json_kv_str(w, key, str_c(&text));
    }
}

static void put_raw(struct json_out *w, const char *key, const char *json)
{
    if (json) {
        json_kv_raw(w, key, json, strlen(json));
    }
}

static void put_spec(struct json_out *w, const dur_schedule *s)
{
    json_begin_object(w);
    put_list(w, "cron", s->cron);
    if (s->intervals && s->intervals[0].every_ms) {
        json_key(w, "intervals");
        json_begin_array(w);
        for (const dur_interval *i = s->intervals; i->every_ms; i++) {
            json_begin_object(w);
            json_kv_i64(w, "everyMs", i->every_ms);
            json_kv_i64_opt(w, "phaseMs", i->phase_ms);
            json_end_object(w);
        }
        json_end_array(w);
    }
    put_list(w, "except", s->except);
    json_kv_str_opt(w, "timeZone", s->time_zone);
    put_time(w, "start", s->start_ns);
    put_time(w, "end", s->end_ns);
    json_kv_i64_opt(w, "jitterMs", s->jitter_ms);
    json_end_object(w);
}

static void put_retry(struct json_out *w, const dur_retry_policy *retry)
{
    json_key(w, "retry");
    json_begin_object(w);
    json_kv_i64_opt(w, "initialIntervalMs", retry->initial_interval_ms);
    if (retry->backoff_coefficient != 0) {
        json_kv_double(w, "backoffCoefficient", retry->backoff_coefficient);
    }
    json_kv_i64_opt(w, "maximumIntervalMs", retry->maximum_interval_ms);
    json_kv_i64_opt(w, "maximumAttempts", retry->maximum_attempts);
    put_list(w, "nonRetryableTypes", retry->non_retryable_types);
    json_end_object(w);
}

static void put_action(struct json_out *w, const dur_schedule *s)
{
    json_begin_object(w);
    json_kv_str_opt(w, "workflowType", s->workflow_type);
    json_kv_str_opt(w, "idPrefix", s->id_prefix);
    put_raw(w, "input", s->input);
    json_kv_str_opt(w, "taskQueue", s->task_queue);
    json_kv_i64_opt(w, "executionTimeoutMs", s->execution_timeout_ms);
    json_kv_i64_opt(w, "runTimeoutMs", s->run_timeout_ms);
    json_kv_i64_opt(w, "taskTimeoutMs", s->task_timeout_ms);
    if (s->retry) {
        put_retry(w, s->retry);
    }
    put_raw(w, "memo", s->memo);
    put_raw(w, "searchAttributes", s->search_attributes);
    json_kv_i64_opt(w, "priority", s->priority);
    json_end_object(w);
}

void definition_print(struct str *out, const dur_schedule *s)
{
    struct json_out w = json_writer(out, 0);
    json_begin_object(&w);
    json_key(&w, "spec");
    put_spec(&w, s);
    json_key(&w, "action");
    put_action(&w, s);
    json_key(&w, "policy");
    json_begin_object(&w);
    json_kv_str(&w, "overlap", definition_overlap_name(s->overlap));
    json_kv_i64_opt(&w, "catchupWindowMs", s->catchup_window_ms);
    json_kv_bool_opt(&w, "pauseOnFailure", s->pause_on_failure != 0);
    json_end_object(&w);
    json_end_object(&w);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *const *get_list(struct arena *arena, const struct json *object, const char *key)
{
    const struct json *list = json_get(object, key);
    if (!list || list->type != JSON_ARRAY) {
        return NULL;
    }
    const char **texts = arena_array_of(arena, const char *, list->count + 1);
    size_t count = 0;
    json_each (item, list) {
        const char *text = json_str(item);
        if (text) {
            texts[count++] = text;
        }
    }
    return texts;
}

static int64_t get_i64(const struct json *object, const char *key)
{
    int64_t value = 0;
    json_get_i64(object, key, &value);
    return value;
}

static int64_t get_time(const struct json *object, const char *key)
{
    const char *text = json_get_str(object, key);
    int64_t ns = 0;
    return text && time_parse_rfc3339(text, strlen(text), &ns) ? ns : 0;
}

static const char *get_raw(struct arena *arena, const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);
    return value ? arena_strndup(arena, value->raw, value->raw_len) : NULL;
}

static const dur_interval *get_intervals(struct arena *arena, const struct json *spec)
{
    const struct json *list = json_get(spec, "intervals");
    if (!list || list->type != JSON_ARRAY) {
        return NULL;
    }
    dur_interval *intervals = arena_array_of(arena, dur_interval, list->count + 1);
    size_t count = 0;
    json_each (item, list) {
        intervals[count].every_ms = get_i64(item, "everyMs");
        intervals[count].phase_ms = get_i64(item, "phaseMs");
        count++;
    }
    return intervals;
}

static const dur_retry_policy *get_retry(struct arena *arena, const struct json *action)
{
    const struct json *object = json_get(action, "retry");
    if (!object) {
        return NULL;
    }
    dur_retry_policy *retry = arena_new_of(arena, dur_retry_policy);
    retry->initial_interval_ms = get_i64(object, "initialIntervalMs");
    json_get_double(object, "backoffCoefficient", &retry->backoff_coefficient);
    retry->maximum_interval_ms = get_i64(object, "maximumIntervalMs");
    retry->maximum_attempts = (int)get_i64(object, "maximumAttempts");
    retry->non_retryable_types = get_list(arena, object, "nonRetryableTypes");
    return retry;
}

static dur_overlap get_overlap(const struct json *policy)
{
    const char *name = json_get_str(policy, "overlap");
    for (size_t i = 0; i < ARRAY_LEN(overlap_names); i++) {
        if (str_eq(name, overlap_names[i])) {
            return (dur_overlap)i;
        }
    }
    return DUR_OVERLAP_SKIP;
}

int definition_read(struct arena *arena, const char *text, dur_schedule *ret, struct err *err)
{
    const struct json *root;
    const char *copy = arena_strdup(arena, text); /* what is read points into it */
    if (json_parse(arena, copy, strlen(copy), &root, err)) {
        return err_wrap(err, "the schedule's definition");
    }
    const struct json *spec = json_get(root, "spec");
    const struct json *action = json_get(root, "action");
    const struct json *policy = json_get(root, "policy");
    bool pause = false;
    json_get_bool(policy, "pauseOnFailure", &pause);
    *ret = (dur_schedule){
        .cron = get_list(arena, spec, "cron"),
        .intervals = get_intervals(arena, spec),
        .except = get_list(arena, spec, "except"),
        .time_zone = json_get_str(spec, "timeZone"),
        .start_ns = get_time(spec, "start"),
        .end_ns = get_time(spec, "end"),
        .jitter_ms = get_i64(spec, "jitterMs"),
        .workflow_type = json_get_str(action, "workflowType"),
        .id_prefix = json_get_str(action, "idPrefix"),
        .input = get_raw(arena, action, "input"),
        .task_queue = json_get_str(action, "taskQueue"),
        .execution_timeout_ms = get_i64(action, "executionTimeoutMs"),
        .run_timeout_ms = get_i64(action, "runTimeoutMs"),
        .task_timeout_ms = get_i64(action, "taskTimeoutMs"),
        .retry = get_retry(arena, action),
        .memo = get_raw(arena, action, "memo"),
        .search_attributes = get_raw(arena, action, "searchAttributes"),
        .priority = (int)get_i64(action, "priority"),
        .overlap = get_overlap(policy),
        .catchup_window_ms = get_i64(policy, "catchupWindowMs"),
        .pause_on_failure = pause,
    };
    if (!ret->workflow_type) {
        return err_set(err, ERR_PERMANENT, "BadSchedule",
                       "the schedule's definition names no workflow type");
    }
    return 0;
}
