/*
 * mutable_side_effect.c - dur_mutable_side_effect: a value that is recorded when it changes.
 *
 * Owns: the last value of each id, and the marker "MutableSideEffect" in Go's form: details
 * {"side-effect-id": ["<id>_<call>"], "data": [id, {"payloads": [value]}],
 * "mutable-side-effect-call-counter": [call]}, call being the ordinal of the call that made it
 * among the id's calls in the run. The ordinal is what replay goes by: the value of call n is that
 * of the marker of call n, else the one before. Markers of old Go workers have none: they are given
 * out in their order. match.c skips these markers, as Go does.
 *
 *   live     fn runs; the first value, and each that is not equal to the last, is recorded
 *   replay   fn does not run
 *
 * An fn that fails changes nothing when there is a value; before the first one it stops the task:
 * a replay could not know that it failed.
 * Tests: tests/unit/test_exec_mutable.c
 */
#include "exec/state.h"

#include <string.h>

#include "base/digest.h"
#include "base/json.h"

#define MARKER "MutableSideEffect"

static struct mutable_value *value_of(struct run *run, const char *id)
{
    for (struct mutable_value *m = run->mutables; m; m = m->next) {
        if (strcmp(m->id, id) == 0) {
            return m;
        }
    }
    struct mutable_value *m = arena_new_of(run->arena, struct mutable_value);
    m->id = run_strdup(run, id);
    m->next = run->mutables;
    run->mutables = m;
    return m;
}

/* --- the marker ---------------------------------------------------------------------------------
 */

/* Two payloads: the id, and a message Payloads that holds the value. */
static struct payloads *data_payloads(struct arena *arena, const char *id, const char *value)
{
    struct payloads *data = arena_new_of(arena, struct payloads);
    struct payload_meta *meta = arena_new_of(arena, struct payload_meta);
    autostr struct str text = {0};

    data->items = arena_array_of(arena, struct payload, 2);
    data->count = 2;
    json_quote(&text, id, strlen(id));
    payload_set(&data->items[0], arena, "json/plain", str_c(&text), text.len);
    str_reset(&text);
    str_add(&text, "{\"payloads\":[{\"metadata\":{\"encoding\":\"anNvbi9wbGFpbg==\"},\"data\":\"");
    base64_encode(&text, value, strlen(value));
    str_add(&text, "\"}]}");
    payload_set(&data->items[1], arena, "json/protobuf", str_c(&text), text.len);
    meta->key = "messageType";
    meta->value = "temporal.api.common.v1.Payloads";
    meta->len = strlen(meta->value);
    data->items[1].meta = meta;
    return data;
}

static struct event *marker_event(struct arena *arena, const struct mutable_value *m,
                                  const char *value)
{
    struct event *event = event_new(arena, EVENT_MARKER_RECORDED);
    struct ev_marker_recorded *a = ev_marker_recorded(event);
    const char *ordinal = arena_printf(arena, "%llu", (unsigned long long)m->calls);
    const char *name = arena_printf(arena, "%s_%s", m->id, ordinal);
    autostr struct str id = {0};

    json_quote(&id, name, strlen(name));
    a->marker_name = MARKER;
    a->details = arena_new_of(arena, struct payloads_map);
    payloads_map_add(a->details, arena, "data", data_payloads(arena, m->id, value));
    payloads_map_add(a->details, arena, "mutable-side-effect-call-counter",
                     payloads_json(arena, ordinal));
    payloads_map_add(a->details, arena, "side-effect-id", payloads_json(arena, str_c(&id)));
    return event;
}

bool is_mutable_side_effect(const struct event *event)
{
    return event->type == EVENT_MARKER_RECORDED &&
           same_text(ev_marker_recorded(event)->marker_name, MARKER);
}

/* The JSON value within {"payloads":[...]}, in arena; NULL when there is none. */
static const char *nested_value(struct arena *arena, const struct payload *payload)
{
    const struct json *root;
    autostr struct str text = {0};

    if (!same_text(payload->encoding, "json/protobuf") ||
        json_parse(arena, payload->data, payload->len, &root, NULL) != 0) {
        return NULL;
    }
    const struct json *data = json_pointer(root, "/payloads/0/data");
    if (!data || data->type != JSON_STRING || !base64_decode(&text, data->text, data->text_len) ||
        json_check(str_c(&text), text.len, NULL) != 0) {
        return NULL;
    }
    return arena_strndup(arena, str_c(&text), text.len);
}

/* Is this the marker of the id's current call? */
static bool is_of_call(struct run *run, const struct mutable_value *m, const struct event *event)
{
    const struct payloads_map *details = ev_marker_recorded(event)->details;
    const struct payloads *data = details ? payloads_map_get(details, "data") : NULL;
    autostr struct str id = {0};

    json_quote(&id, m->id, strlen(m->id));
    if (!data || data->count < 2 || !same_text(data->items[0].data, str_c(&id))) {
        return false;
    }
    const char *ordinal = marker_detail(run->task_arena, event, "mutable-side-effect-call-counter");
    return ordinal ? strcmp(ordinal, arena_printf(run->task_arena, "%llu",
                                                  (unsigned long long)m->calls)) == 0
                   : event->id > m->last_event;
}

/* --- the call -----------------------------------------------------------------------------------
 */

static void replayed(struct run *run, struct mutable_value *m)
{
    for (size_t i = 0; i < run->recorded_count; i++) {
        const struct event *event = run->recorded[i];
        if (is_mutable_side_effect(event) && is_of_call(run, m, event)) {
            const struct payloads *data =
                payloads_map_get(ev_marker_recorded(event)->details, "data");
            m->value = nested_value(run->arena, &data->items[1]);
            m->last_event = event->id;
            break;
        }
    }
    if (!m->value) {
        struct command *c = command_add(run, &command_mutable_side_effect);
        if (c) {
            c->marker = arena_new_of(run->task_arena, struct marker);
            *c->marker = (struct marker){.name = MARKER, .key = m->id};
            fault_mismatch(run, MISMATCH_EXTRA, run->completed, c);
        }
    }
}

static void made(struct run *run, struct mutable_value *m, dur_side_effect_fn fn, void *arg,
                 dur_equal_fn equal)
{
    const char *value = NULL;

    run->in_callback = true;
    int code = fn(arg, &value);
    value = value ? value : "null";
    code = code == DUR_OK ? payload_check(value) : code;
    bool same = code == DUR_OK && m->value &&
                (equal ? equal(m->value, value, arg) != 0 : strcmp(m->value, value) == 0);
    run->in_callback = false;
    if (code != DUR_OK && !m->value) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                   "the mutable side effect %s failed with %d before it had a value",
                   quoted(run->task_arena, m->id), code);
    }
    if (code != DUR_OK || same) {
        return;
    }
    struct command *c = command_add(run, &command_mutable_side_effect);
    if (c) {
        c->marker = arena_new_of(run->task_arena, struct marker);
        *c->marker = (struct marker){.name = MARKER, .key = m->id};
        m->value = run_strdup(run, value);
        c->event = marker_event(run->task_arena, m, m->value);
    }
}

int dur_mutable_side_effect_at(dur_ctx *ctx, const char *id, dur_side_effect_fn fn, void *arg,
                               dur_equal_fn equal, const char **result, const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!fn || !id || !*id || strlen(id) > RUN_MAX_ID_BYTES) {
        return DUR_INVALID;
    }
    struct mutable_value *m = value_of(run, id);
    m->calls++;
    if (run->replaying) {
        replayed(run, m);
    } else {
        made(run, m, fn, arg, equal);
    }
    if (run->outcome) {
        return call_park(run);
    }
    if (result) {
        *result = m->value;
    }
    return DUR_OK;
}

static const char *describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "record mutable side effect %s", quoted(arena, c->marker->key));
}

/* Never compared (match.c). */
const struct command_def command_mutable_side_effect = {
    .name = "record mutable side effect", .bind = marker_bind, .describe = describe};
