/*
 * value.c - see value.h. Owns: where payloads are sealed and opened.
 * Must not: know which call a value belongs to.
 * Tests: tests/unit/test_temporal_value.c
 */
#include "temporal/value.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"
#include "history/attributes.h"
#include "history/failure.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/sealing.h"
#include "history/value_proto.h"
#include "temporal/remote.h"

/* --- going out ------------------------------------------------------------------------------- */

/* The text's bytes, moved into the arena. */
static ProtobufCBinaryData give(struct arena *arena, const struct str *bytes)
{
    ProtobufCBinaryData data = {.len = bytes->len};

    data.data = bytes->len > 0 ? arena_dup(arena, bytes->ptr, bytes->len) : NULL;
    return data;
}

ProtobufCBinaryData value_payloads(struct remote *remote, struct arena *arena,
                                   const struct payloads *payloads)
{
    autostr struct str bytes = {0};

    payloads_to_proto(&bytes, payloads_seal(remote->sealer, arena, payloads));
    return give(arena, &bytes);
}

ProtobufCBinaryData value_json(struct remote *remote, struct arena *arena, const char *json)
{
    return value_payloads(remote, arena, json ? payloads_json(arena, json) : NULL);
}

ProtobufCBinaryData value_failure(struct remote *remote, struct arena *arena,
                                  const struct failure *failure)
{
    autostr struct str bytes = {0};

    failure_to_proto(&bytes, failure_seal(remote->sealer, arena, failure));
    return give(arena, &bytes);
}

ProtobufCBinaryData value_memo(struct remote *remote, struct arena *arena,
                               const struct payload_map *memo)
{
    autostr struct str bytes = {0};

    payload_map_to_proto(&bytes, MAP_MEMO, memo_seal(remote->sealer, arena, memo));
    return give(arena, &bytes);
}

ProtobufCBinaryData value_attributes(struct arena *arena, const struct payload_map *attributes)
{
    autostr struct str bytes = {0};

    payload_map_to_proto(&bytes, MAP_SEARCH_ATTRIBUTES, attributes);
    return give(arena, &bytes);
}

ProtobufCBinaryData value_header(struct arena *arena, const struct payload_map *header)
{
    autostr struct str bytes = {0};

    payload_map_to_proto(&bytes, MAP_HEADER, header);
    return give(arena, &bytes);
}

ProtobufCBinaryData value_retry(struct arena *arena, const struct retry_policy *policy)
{
    autostr struct str bytes = {0};

    retry_policy_to_proto(&bytes, policy);
    return give(arena, &bytes);
}

ProtobufCBinaryData value_user_metadata(struct remote *remote, struct arena *arena,
                                        const char *json)
{
    autostr struct str bytes = {0};

    user_metadata_to_proto(&bytes, user_metadata_seal(remote->sealer, arena, json));
    return give(arena, &bytes);
}

/* --- coming in -------------------------------------------------------------------------------- */

static int refuse_to_open(void *user, const char *key_id, const void *bytes, size_t len,
                          struct str *out, struct err *err)
{
    (void)user;
    (void)bytes;
    (void)len;
    (void)out;
    return err_set(err, ERR_PERMANENT, "UnknownSealingKey",
                   "it is sealed with the key \"%s\": connect with a keyring that holds it",
                   key_id);
}

/* Who opens what comes in. Without a keyring sealed values must not pass for plain ones. */
static const struct sealer *opener(const struct remote *remote)
{
    static const struct sealer nobody = {.open = refuse_to_open};

    return remote->sealer ? remote->sealer : &nobody;
}

int value_read_payloads(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                        struct payloads **ret, struct err *err)
{
    if (payloads_from_proto(arena, bytes.data, bytes.len, ret, err) < 0) {
        return -1;
    }
    return payloads_open(opener(remote), arena, *ret, ret, err);
}

int value_read_json(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                    const char **ret, struct err *err)
{
    struct payloads *payloads;

    *ret = NULL;
    if (value_read_payloads(remote, arena, bytes, &payloads, err) < 0) {
        return -1;
    }
    *ret = value_text(arena, payloads);
    return 0;
}

int value_show_failure(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                       struct failure **ret, struct err *err)
{
    if (failure_from_proto(arena, bytes.data, bytes.len, ret, err) < 0) {
        return -1;
    }
    (void)failure_open(opener(remote), arena, *ret, ret, NULL);
    return 0;
}

int value_show_memo(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                    const char **ret, struct err *err)
{
    autostr struct str text = {0};
    struct payload_map *map;

    if (payload_map_from_proto(arena, MAP_MEMO, bytes.data, bytes.len, &map, err) < 0) {
        return -1;
    }
    (void)memo_open(opener(remote), arena, map, &map, NULL);
    struct json_out w = json_writer(&text, 0);
    json_begin_object(&w);
    for (size_t i = 0; map && i < map->count; i++) {
        struct payloads one = {.items = &map->items[i].payload, .count = 1};
        const char *value = value_text(arena, &one);
        json_key(&w, map->items[i].key);
        json_put_raw(&w, value, strlen(value));
    }
    json_end_object(&w);
    *ret = arena_strdup(arena, str_c(&text));
    return 0;
}

/* What the server notes there by itself, about workers. */
static bool is_of_server(const char *name)
{
    static const char *const names[] = {"BuildIds",
                                        "TemporalReportedProblems",
                                        "TemporalUsedWorkerDeploymentVersions",
                                        "TemporalWorkerDeployment",
                                        "TemporalWorkerDeploymentVersion",
                                        "TemporalWorkflowVersioningBehavior"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i])) {
            return true;
        }
    }
    return false;
}

int value_read_attributes(struct arena *arena, ProtobufCBinaryData bytes, const char **ret,
                          struct err *err)
{
    struct payload_map *map;
    size_t kept = 0;

    if (payload_map_from_proto(arena, MAP_SEARCH_ATTRIBUTES, bytes.data, bytes.len, &map, err) <
        0) {
        return -1;
    }
    for (size_t i = 0; map && i < map->count; i++) {
        if (!is_of_server(map->items[i].key)) {
            map->items[kept++] = map->items[i];
        }
    }
    if (map) {
        map->count = kept;
    }
    const char *text = attributes_text(arena, map);
    *ret = text ? text : "{}";
    return 0;
}

static int read_history(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                        bool is_shown, struct history *ret, struct err *err)
{
    *ret = (struct history){0};
    if (bytes.len == 0) {
        return 0;
    }
    if (history_from_proto(arena, bytes.data, bytes.len, ret, err) < 0) {
        return -1;
    }
    if (!memmem(bytes.data, bytes.len, SEALED_ENCODING, strlen(SEALED_ENCODING))) {
        return 0; /* nothing to open */
    }
    for (size_t i = 0; i < ret->count; i++) {
        if (event_open(opener(remote), arena, &ret->items[i], &ret->items[i], err) < 0 &&
            !is_shown) {
            return err_wrap(err, "event %lld", (long long)ret->items[i].id);
        }
    }
    return 0;
}

int value_read_history(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                       struct history *ret, struct err *err)
{
    return read_history(remote, arena, bytes, false, ret, err);
}

int value_show_history(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                       struct history *ret, struct err *err)
{
    return read_history(remote, arena, bytes, true, ret, err);
}

int value_code(const struct err *err)
{
    return str_eq(err->name, "BadHistory") ? DUR_IO : DUR_INVALID;
}

/* --- structs ---------------------------------------------------------------------------------- */

const char *value_sealed(const struct payloads *payloads)
{
    const char *key_id = NULL;

    return payloads && payloads->count > 0 && payload_is_sealed(&payloads->items[0], &key_id)
               ? key_id
               : NULL;
}

const char *value_text(struct arena *arena, const struct payloads *payloads)
{
    const char *key_id = value_sealed(payloads);
    size_t len = 0;

    if (!payloads || payloads->count == 0) {
        return NULL;
    }
    const char *json = payloads_first_json(payloads, &len);
    if (json && json_check(json, len, NULL) == 0) {
        return arena_strndup(arena, json, len);
    }
    autostr struct str text = {0};
    if (key_id) {
        struct json_out w = json_writer(&text, 0);
        json_begin_object(&w);
        json_kv_str(&w, "$sealed", arena_printf(arena, "(sealed with the key %s)", key_id));
        json_end_object(&w);
    } else {
        payload_to_json(&text, &payloads->items[0]);
    }
    return arena_strndup(arena, text.ptr, text.len);
}

const char *value_failure_json(struct arena *arena, const struct failure *failure)
{
    autostr struct str text = {0};

    if (!failure) {
        return NULL;
    }
    failure_to_json(&text, failure);
    return arena_strndup(arena, text.ptr, text.len);
}

const char *value_failure_line(struct arena *arena, const struct failure *failure)
{
    autostr struct str text = {0};

    if (failure) {
        failure_describe(failure, &text);
    }
    return arena_strdup(arena, str_c(&text));
}

/* --- small things ------------------------------------------------------------------------------
 */

char *value_chars(const char *text)
{
    return text ? (char *)(uintptr_t)text : (char *)(uintptr_t)protobuf_c_empty_string;
}

static int64_t join(int64_t seconds, int32_t nanos)
{
    int64_t ns;

    if (__builtin_mul_overflow(seconds, NS_PER_S, &ns) || __builtin_add_overflow(ns, nanos, &ns)) {
        return seconds < 0 ? INT64_MIN : INT64_MAX;
    }
    return ns;
}

int64_t value_ns(const Pb__Timestamp *time)
{
    int64_t ns = time ? join(time->seconds, time->nanos) : 0;

    return ns > 0 ? ns : 0; /* Go's zero time, of the year 1, is none */
}

int64_t value_span_ns(const Pb__Duration *duration)
{
    return duration ? join(duration->seconds, duration->nanos) : 0;
}

Pb__Duration *value_duration(struct arena *arena, int64_t ns)
{
    if (ns == 0) {
        return NULL;
    }
    Pb__Duration *duration = arena_new_of(arena, Pb__Duration);
    pb__duration__init(duration);
    duration->seconds = ns / NS_PER_S;
    duration->nanos = (int32_t)(ns % NS_PER_S);
    return duration;
}

#define HEX_DIGITS "0123456789abcdefABCDEF"

static bool is_uuid(const char *text)
{
    size_t i = 0;

    for (; text[i]; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (i >= UUID_TEXT_BYTES - 1 || (is_dash ? text[i] != '-' : !strchr(HEX_DIGITS, text[i]))) {
            return false;
        }
    }
    return i == UUID_TEXT_BYTES - 1;
}

Pb__WorkflowExecution *value_execution(struct arena *arena, const char *id)
{
    Pb__WorkflowExecution *execution = arena_new_of(arena, Pb__WorkflowExecution);
    const char *at = strrchr(id, '@');

    pb__workflow_execution__init(execution);
    if (at && is_uuid(at + 1)) {
        execution->workflow_id = arena_strndup(arena, id, (size_t)(at - id));
        execution->run_id = arena_strdup(arena, at + 1);
    } else {
        execution->workflow_id = arena_strdup(arena, id);
    }
    return execution;
}

const char *value_queue(const struct remote *remote, struct arena *arena, const char *name)
{
    autostr struct str text = {0};

    remote_queue_name(remote, &text, name ? name : "default");
    return arena_strdup(arena, str_c(&text));
}

Pb__TaskQueue *value_task_queue(const struct remote *remote, struct arena *arena, const char *name)
{
    Pb__TaskQueue *queue = arena_new_of(arena, Pb__TaskQueue);

    pb__task_queue__init(queue);
    queue->name = value_chars(value_queue(remote, arena, name));
    queue->kind = TASK_QUEUE_KIND_NORMAL;
    return queue;
}
