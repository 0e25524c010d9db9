/*
 * local_marker.c - see local.h: the marker, its command, and how replay compares it.
 *
 * Compared is what Core compares: sequence number, activity id and type. Not compared: times,
 * results. Times are objects of seconds and nanoseconds; other forms are refused, as Core does.
 * Tests: tests/unit/test_exec_local.c
 */
#include "exec/local.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/failure.h"

#define MARKER "core_local_activity"

bool local_is_marker(const struct event *event)
{
    return event->type == EVENT_MARKER_RECORDED &&
           same_text(ev_marker_recorded(event)->marker_name, MARKER);
}

/* --- reading ------------------------------------------------------------------------------------
 */

/* {"seconds":S,"nanos":N}; null and absent are `otherwise`. */
static bool read_time(const struct json *data, const char *key, int64_t otherwise, int64_t *ret)
{
    const struct json *value = json_get(data, key);
    int64_t seconds, nanos;

    *ret = otherwise;
    if (!value || value->type == JSON_NULL) {
        return true;
    }
    return value->type == JSON_OBJECT && json_get_i64(value, "seconds", &seconds) &&
           json_get_i64(value, "nanos", &nanos) &&
           !__builtin_mul_overflow(seconds, NS_PER_S, ret) &&
           !__builtin_add_overflow(*ret, nanos, ret);
}

bool local_mark_read(struct arena *arena, const struct event *event, struct local_mark *ret)
{
    const struct json *data;
    size_t len = 0;
    int64_t seq, attempt;

    *ret = (struct local_mark){0};
    if (!local_is_marker(event) || !ev_marker_recorded(event)->details) {
        return false;
    }
    const struct payloads_map *details = ev_marker_recorded(event)->details;
    const char *text = payloads_first_json(payloads_map_get(details, "data"), &len);
    if (!text || json_parse(arena, text, len, &data, NULL) < 0 ||
        !json_get_i64(data, "seq", &seq) || !json_get_i64(data, "attempt", &attempt) ||
        attempt < 0 || attempt >= INT32_MAX ||
        !read_time(data, "complete_time", 0, &ret->completed_ns) ||
        !read_time(data, "original_schedule_time", 0, &ret->scheduled_ns) ||
        !read_time(data, "backoff", -1, &ret->backoff_ns)) {
        return false;
    }
    ret->seq = (uint64_t)seq;
    ret->attempt = (int)attempt;
    ret->id = json_get_str(data, "activity_id");
    ret->type = json_get_str(data, "activity_type");
    ret->failure = ev_marker_recorded(event)->failure;
    const char *result = payloads_first_json(payloads_map_get(details, "result"), &len);
    ret->result = result ? arena_strndup(arena, result, len) : "null";
    return ret->id && ret->type;
}

/* --- writing ------------------------------------------------------------------------------------
 */

static void put_time(struct json_out *w, const char *key, int64_t ns, bool is_there)
{
    json_key(w, key);
    if (!is_there) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    json_kv_i64(w, "seconds", ns / NS_PER_S);
    json_kv_i64(w, "nanos", ns % NS_PER_S);
    json_end_object(w);
}

static struct event *mark_event(struct arena *arena, const struct local_mark *mark)
{
    struct event *event = event_new(arena, EVENT_MARKER_RECORDED);
    struct ev_marker_recorded *a = ev_marker_recorded(event);
    autostr struct str data = {0};
    struct json_out w = json_writer(&data, 0);

    json_begin_object(&w);
    json_kv_i64(&w, "seq", (int64_t)mark->seq);
    json_kv_i64(&w, "attempt", mark->attempt);
    json_kv_str(&w, "activity_id", mark->id);
    json_kv_str(&w, "activity_type", mark->type);
    put_time(&w, "complete_time", mark->completed_ns, true);
    put_time(&w, "backoff", mark->backoff_ns, mark->backoff_ns >= 0);
    put_time(&w, "original_schedule_time", mark->scheduled_ns, true);
    json_end_object(&w);
    a->marker_name = MARKER;
    a->details = arena_new_of(arena, struct payloads_map);
    payloads_map_add(a->details, arena, "data", payloads_json(arena, str_c(&data)));
    if (mark->failure) {
        a->failure = failure_copy(mark->failure, arena);
    } else {
        payloads_map_add(a->details, arena, "result", payloads_json(arena, mark->result));
    }
    return event;
}

/* --- the command --------------------------------------------------------------------------------
 */

static const char *key_of(struct arena *arena, const struct local_mark *mark)
{
    return arena_printf(arena, "%" PRIu64 " id %s type %s", mark->seq, quoted(arena, mark->id),
                        quoted(arena, mark->type));
}

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    struct local_mark mark;

    return local_mark_read(run->task_arena, event, &mark) &&
           same_text(key_of(run->task_arena, &mark), c->marker->key);
}

static const char *describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "local activity %s", c->marker->key);
}

const struct command_def command_local = {
    .name = "local activity", .fits = fits, .bind = marker_bind, .describe = describe};

bool local_mark_add(struct run *run, const struct local_mark *mark)
{
    struct command *c = command_add(run, &command_local);

    if (!c) {
        return false;
    }
    c->marker = arena_new_of(run->task_arena, struct marker);
    c->marker->name = MARKER;
    c->marker->key = key_of(run->task_arena, mark);
    if (!run->replaying) {
        c->event = mark_event(run->task_arena, mark);
    }
    return true;
}

const struct failure *local_failure(struct arena *arena, const struct local_mark *mark)
{
    return failure_activity(arena, 0, 0, mark->id, mark->type, NULL,
                            RETRY_STATE_NON_RETRYABLE_FAILURE, failure_copy(mark->failure, arena));
}
