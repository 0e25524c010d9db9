/*
 * store.c - the journal's form of events: what is usual, and the envelope.
 *
 * Owns: the defaults of every event type (predict) and how the context advances. Must not: know
 * how fields are spelled (codec_*.c) or where rows live.
 * Invariant: predict sees only the context, the event's type and fields that have no default
 * themselves, so that the decoder computes the same defaults as the encoder did.
 * Tests: tests/unit/test_history_store.c
 */
#include "history/store.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "history/codec.h"
#include "history/sealing.h"

#define TASK_TIMEOUT_NS (10 * NS_PER_S)
#define SERIAL_BYTES 24

/* Room for any event's attributes. */
union any_event {
#define ANY_EVENT_(number, upper, c_name, title, json, oneof) struct ev_##c_name c_name;
    EVENT_LIST(ANY_EVENT_)
#undef ANY_EVENT_
    struct message_head head;
};

/* A predicted message and the values that it points to. */
struct prediction {
    union any_event of;
    struct task_queue queue;
    struct retry_policy retry;
    char serial[SERIAL_BYTES];
};

static void remember(char to[STORE_NAME_BYTES], const char *name)
{
    if (!name || strlen(name) >= STORE_NAME_BYTES) {
        to[0] = '\0';
    } else {
        memcpy(to, name, strlen(name) + 1);
    }
}

static const char *recall(const char from[STORE_NAME_BYTES])
{
    return from[0] ? from : NULL;
}

void store_context_init(struct store_context *ctx, const struct sealer *sealer,
                        const char *task_queue, const char *identity, const char *workflow_id,
                        const char *run_id)
{
    *ctx = (struct store_context){.sealer = sealer};
    remember(ctx->task_queue, task_queue);
    remember(ctx->identity, identity);
    remember(ctx->workflow_id, workflow_id);
    remember(ctx->run_id, run_id);
}

/* A plain decimal number of at most 15 digits, or -1. */
static int64_t serial_of(const char *id)
{
    int64_t number = 0;
    size_t len = id ? strlen(id) : 0;

    if (len == 0 || len > 15 || (id[0] == '0' && len > 1)) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        if (id[i] < '0' || id[i] > '9') {
            return -1;
        }
        number = number * 10 + (id[i] - '0');
    }
    return number;
}

static const char *serial_text(struct prediction *to, int64_t serial)
{
    char digits[SERIAL_BYTES];
    size_t at = sizeof(digits) - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + serial % 10);
        serial /= 10;
    } while (serial > 0);
    memcpy(to->serial, digits + at, sizeof(digits) - at);
    return to->serial;
}

static struct task_queue *usual_queue(const struct store_context *ctx, struct prediction *to)
{
    if (!ctx->task_queue[0]) {
        return NULL;
    }
    to->queue.name = ctx->task_queue;
    to->queue.kind = TASK_QUEUE_KIND_NORMAL;
    return &to->queue;
}

static struct retry_policy *usual_retry(struct prediction *to)
{
    to->retry.initial_interval = NS_PER_S;
    to->retry.backoff_coefficient = 2.0;
    to->retry.maximum_interval = 100 * NS_PER_S;
    return &to->retry;
}

/* --- what is usual, by group of types --- */

static void predict_started(const struct store_context *ctx, struct prediction *to)
{
    struct ev_workflow_execution_started *d = &to->of.workflow_execution_started;

    d->task_queue = usual_queue(ctx, to);
    d->workflow_task_timeout = TASK_TIMEOUT_NS;
    d->attempt = 1;
    d->workflow_id = recall(ctx->workflow_id);
    d->original_execution_run_id = recall(ctx->run_id);
    d->first_execution_run_id = recall(ctx->run_id);
}

static void predict_task(const struct store_context *ctx, enum event_type type,
                         struct prediction *to)
{
    if (type == EVENT_WORKFLOW_TASK_SCHEDULED) {
        to->of.workflow_task_scheduled.task_queue = usual_queue(ctx, to);
        to->of.workflow_task_scheduled.start_to_close_timeout = TASK_TIMEOUT_NS;
        to->of.workflow_task_scheduled.attempt = 1;
    } else if (type == EVENT_WORKFLOW_TASK_STARTED) {
        to->of.workflow_task_started.scheduled_event_id = ctx->task_scheduled;
        to->of.workflow_task_started.identity = recall(ctx->identity);
    } else if (type == EVENT_WORKFLOW_TASK_COMPLETED) {
        to->of.workflow_task_completed.scheduled_event_id = ctx->task_scheduled;
        to->of.workflow_task_completed.started_event_id = ctx->task_started;
        to->of.workflow_task_completed.identity = recall(ctx->identity);
    } else if (type == EVENT_WORKFLOW_TASK_FAILED) {
        to->of.workflow_task_failed.scheduled_event_id = ctx->task_scheduled;
        to->of.workflow_task_failed.started_event_id = ctx->task_started;
        to->of.workflow_task_failed.identity = recall(ctx->identity);
    } else {
        to->of.workflow_task_timed_out.scheduled_event_id = ctx->task_scheduled;
        to->of.workflow_task_timed_out.started_event_id = ctx->task_started;
    }
}

static void predict_scheduled(const struct store_context *ctx, const void *attributes,
                              struct prediction *to)
{
    const struct ev_activity_task_scheduled *source = attributes;
    struct ev_activity_task_scheduled *d = &to->of.activity_task_scheduled;

    d->activity_id = serial_text(to, ctx->activity_serial + 1);
    d->task_queue = usual_queue(ctx, to);
    d->schedule_to_start_timeout = source->schedule_to_close_timeout;
    d->start_to_close_timeout = source->schedule_to_close_timeout;
    d->retry_policy = usual_retry(to);
}

static void predict_activity(const struct store_context *ctx, enum event_type type,
                             struct prediction *to)
{
    int64_t closing = ctx->activity_running ? ctx->activity_running : ctx->activity_scheduled;
    const char *identity = recall(ctx->identity);

    if (type == EVENT_ACTIVITY_TASK_STARTED) {
        to->of.activity_task_started.scheduled_event_id = ctx->activity_scheduled;
        to->of.activity_task_started.identity = identity;
        to->of.activity_task_started.attempt = 1;
    } else if (type == EVENT_ACTIVITY_TASK_COMPLETED) {
        to->of.activity_task_completed.scheduled_event_id = closing;
        to->of.activity_task_completed.started_event_id = ctx->activity_started;
        to->of.activity_task_completed.identity = identity;
    } else if (type == EVENT_ACTIVITY_TASK_FAILED) {
        to->of.activity_task_failed.scheduled_event_id = closing;
        to->of.activity_task_failed.started_event_id = ctx->activity_started;
        to->of.activity_task_failed.identity = identity;
    } else if (type == EVENT_ACTIVITY_TASK_TIMED_OUT) {
        to->of.activity_task_timed_out.scheduled_event_id = closing;
        to->of.activity_task_timed_out.started_event_id = ctx->activity_started;
    } else if (type == EVENT_ACTIVITY_TASK_CANCELED) {
        to->of.activity_task_canceled.scheduled_event_id = closing;
        to->of.activity_task_canceled.started_event_id = ctx->activity_started;
        to->of.activity_task_canceled.latest_cancel_requested_event_id = ctx->activity_cancel;
        to->of.activity_task_canceled.identity = identity;
    } else {
        to->of.activity_task_cancel_requested.scheduled_event_id = ctx->activity_scheduled;
    }
}

static void predict_timer(const struct store_context *ctx, enum event_type type,
                          struct prediction *to)
{
    if (type == EVENT_TIMER_STARTED) {
        to->of.timer_started.timer_id = serial_text(to, ctx->timer_serial + 1);
    } else if (type == EVENT_TIMER_FIRED) {
        to->of.timer_fired.timer_id = recall(ctx->timer_id);
        to->of.timer_fired.started_event_id = ctx->timer_started;
    } else {
        to->of.timer_canceled.timer_id = recall(ctx->timer_id);
        to->of.timer_canceled.started_event_id = ctx->timer_started;
        to->of.timer_canceled.identity = recall(ctx->identity);
    }
}

static void set_member(const struct event_desc *desc, void *message, const char *snake,
                       int64_t value)
{
    size_t len = strlen(snake);

    for (size_t i = 0; i < desc->message.count; i++) {
        const struct field_desc *field = &desc->message.fields[i];
        if (field->kind == FIELD_I64 && field->snake_len == len &&
            memcmp(field->snake, snake, len) == 0) {
            *(int64_t *)field_at(message, field) = value;
        }
    }
}

static void predict_relations(const struct store_context *ctx, const struct event_desc *desc,
                              struct prediction *to)
{
    enum event_type type = desc->type;

    if (type >= EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED &&
        type <= EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED) {
        set_member(desc, &to->of, "initiated_event_id", ctx->child_running);
        set_member(desc, &to->of, "started_event_id", ctx->child_started);
    } else if (type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
        to->of.workflow_execution_update_completed.accepted_event_id = ctx->accepted;
    } else {
        set_member(desc, &to->of, "initiated_event_id", ctx->initiated);
    }
}

/* Fill the zeroed prediction for an event of this type, whose attributes (so far) are given. */
static void predict(const struct store_context *ctx, const struct event_desc *desc,
                    const void *attributes, struct prediction *to)
{
    enum event_type type = desc->type;

    if (event_is_command(type)) {
        set_member(desc, &to->of, "workflow_task_completed_event_id", ctx->task_completed);
    }
    if (type == EVENT_WORKFLOW_EXECUTION_STARTED) {
        predict_started(ctx, to);
    } else if (event_is_workflow_task(type)) {
        predict_task(ctx, type, to);
    } else if (type == EVENT_ACTIVITY_TASK_SCHEDULED) {
        predict_scheduled(ctx, attributes, to);
    } else if (type >= EVENT_ACTIVITY_TASK_STARTED && type <= EVENT_ACTIVITY_TASK_CANCELED) {
        predict_activity(ctx, type, to);
    } else if (type >= EVENT_TIMER_STARTED && type <= EVENT_TIMER_CANCELED) {
        predict_timer(ctx, type, to);
    } else {
        predict_relations(ctx, desc, to);
    }
}

/* --- how the context advances --- */

static void advance_activity(struct store_context *ctx, const struct event *event)
{
    if (event->type == EVENT_ACTIVITY_TASK_SCHEDULED) {
        int64_t serial = serial_of(ev_activity_task_scheduled(event)->activity_id);
        ctx->activity_scheduled = event->id;
        ctx->activity_serial = serial >= 0 ? serial : ctx->activity_serial;
    } else if (event->type == EVENT_ACTIVITY_TASK_STARTED) {
        const struct ev_activity_task_started *a = ev_activity_task_started(event);
        ctx->activity_running = a->scheduled_event_id;
        ctx->activity_started = event->id;
        remember(ctx->identity, a->identity);
    } else if (event->type == EVENT_ACTIVITY_TASK_CANCEL_REQUESTED) {
        ctx->activity_cancel = event->id;
    } else {
        ctx->activity_running = 0;
        ctx->activity_started = 0;
    }
}

static void advance_timer(struct store_context *ctx, const struct event *event)
{
    if (event->type == EVENT_TIMER_STARTED) {
        const char *id = ev_timer_started(event)->timer_id;
        int64_t serial = serial_of(id);
        remember(ctx->timer_id, id);
        ctx->timer_started = event->id;
        ctx->timer_serial = serial >= 0 ? serial : ctx->timer_serial;
    }
}

static void advance_task(struct store_context *ctx, const struct event *event)
{
    if (event->type == EVENT_WORKFLOW_TASK_SCHEDULED) {
        ctx->task_scheduled = event->id;
        ctx->task_started = 0;
    } else if (event->type == EVENT_WORKFLOW_TASK_STARTED) {
        ctx->task_started = event->id;
        remember(ctx->identity, ev_workflow_task_started(event)->identity);
    } else if (event->type == EVENT_WORKFLOW_TASK_COMPLETED) {
        ctx->task_completed = event->id;
    }
}

static void advance_started(struct store_context *ctx, const struct event *event)
{
    const struct task_queue *queue = ev_workflow_execution_started(event)->task_queue;

    if (queue && queue->name) {
        remember(ctx->task_queue, queue->name);
    }
}

/* A time that needs its digits says nothing of the source's habit. */
static uint8_t usual_digits(const struct store_context *ctx, int64_t time_ns)
{
    return wire_time_digits(time_ns, (uint8_t)ctx->time_digits);
}

static void advance(struct store_context *ctx, const struct event *event)
{
    enum event_type type = event->type;
    uint8_t digits = wire_time_digits(event->time_ns, event->time_digits);

    ctx->task_id = event->task_id;
    if (digits != usual_digits(ctx, event->time_ns)) {
        ctx->time_digits = digits;
    }
    if (type == EVENT_WORKFLOW_EXECUTION_STARTED) {
        advance_started(ctx, event);
    } else if (event_is_workflow_task(type)) {
        advance_task(ctx, event);
    } else if (type >= EVENT_ACTIVITY_TASK_SCHEDULED && type <= EVENT_ACTIVITY_TASK_CANCELED) {
        advance_activity(ctx, event);
    } else if (type >= EVENT_TIMER_STARTED && type <= EVENT_TIMER_CANCELED) {
        advance_timer(ctx, event);
    } else if (type == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED) {
        ctx->child_running = ev_child_workflow_execution_started(event)->initiated_event_id;
        ctx->child_started = event->id;
    } else if (type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED ||
               type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED ||
               type == EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED) {
        ctx->initiated = event->id;
    } else if (type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
        ctx->accepted = event->id;
    }
}

static int64_t usual_task_id(const struct store_context *ctx)
{
    return ctx->task_id > 0 && ctx->task_id < INT64_MAX ? ctx->task_id + 1 : 0;
}

/* --- encoding --- */

static bool envelope_is_usual(const struct store_context *ctx, const struct event *event)
{
    return event->task_id == usual_task_id(ctx) &&
           wire_time_digits(event->time_ns, event->time_digits) ==
               usual_digits(ctx, event->time_ns) &&
           event->version == 0 && !event->worker_may_ignore && !event->no_attributes &&
           !event->no_time && !event->user_metadata && !event->unknown;
}

static void envelope_print(struct printer *p, const struct store_context *ctx,
                           const struct event *event)
{
    uint8_t digits = wire_time_digits(event->time_ns, event->time_digits);

    json_key(&p->w, "$event");
    json_begin_object(&p->w);
    if (event->task_id != usual_task_id(ctx)) {
        json_kv_i64(&p->w, "taskId", event->task_id);
    }
    if (digits != usual_digits(ctx, event->time_ns)) {
        json_kv_i64(&p->w, "timeDigits", digits);
    }
    json_kv_i64_opt(&p->w, "version", event->version);
    if (event->worker_may_ignore) {
        json_kv_bool(&p->w, "workerMayIgnore", true);
    }
    if (event->no_attributes) {
        json_kv_bool(&p->w, "noAttributes", true);
    }
    if (event->no_time) {
        json_kv_bool(&p->w, "noTime", true);
    }
    if (event->user_metadata) {
        json_key(&p->w, "userMetadata");
        json_put_raw(&p->w, event->user_metadata, strlen(event->user_metadata));
    }
    if (event->unknown) {
        json_key(&p->w, "unknown");
        json_begin_object(&p->w);
        unknown_print(p, event->unknown);
        json_end_object(&p->w);
    }
    json_end_object(&p->w);
}

static void encode(struct store_context *ctx, const struct event *event, struct str *out)
{
    struct printer p = printer_new(out, CODEC_STORE);
    const struct event_desc *desc = event_desc(event->type);
    struct prediction usual = {0};
    size_t start = out->len;

    json_begin_object(&p.w);
    if (desc) {
        predict(ctx, desc, event->attributes, &usual);
        message_print_members(&p, &desc->message, event->attributes, &usual.of);
    }
    if (!envelope_is_usual(ctx, event)) {
        envelope_print(&p, ctx, event);
    }
    json_end_object(&p.w);
    if (out->len - start == 2) { /* {} */
        str_cut(out, start);
    }
    advance(ctx, event);
}

void store_encode(struct store_context *ctx, const struct event *event, struct str *out)
{
    if (!ctx->sealer) {
        encode(ctx, event, out);
        return;
    }
    autoarena struct arena *arena = arena_new();
    struct event sealed = event_seal(ctx->sealer, arena, event);
    encode(ctx, &sealed, out);
}

/* --- decoding --- */

static int bad_stored(struct err *err, int64_t id, const char *what)
{
    return err_set(err, ERR_PERMANENT, "BadStoredEvent", "stored event %lld: %s", (long long)id,
                   what);
}

static bool envelope_member(struct reader *r, const struct json *member, struct event *event)
{
    autostr struct str text = {0};
    int64_t number = 0;

    if (member_is(member, "taskId")) {
        return json_i64(member, &event->task_id);
    }
    if (member_is(member, "timeDigits")) {
        bool good = json_i64(member, &number) && number >= 0 && number <= 9;
        event->time_digits = (uint8_t)number;
        return good;
    }
    if (member_is(member, "version")) {
        return json_i64(member, &event->version);
    }
    if (member_is(member, "userMetadata")) {
        json_print(&text, member, 0);
        event->user_metadata = arena_strndup(r->arena, str_c(&text), text.len);
        return true;
    }
    if (member_is(member, "unknown") && member->type == JSON_OBJECT) {
        json_each (inner, member) {
            unknown_add(r, &text, inner);
        }
        event->unknown = arena_strndup(r->arena, str_c(&text), text.len);
        return true;
    }
    if (member->type != JSON_BOOL) {
        return false;
    }
    event->worker_may_ignore |= member_is(member, "workerMayIgnore");
    event->no_attributes |= member_is(member, "noAttributes");
    event->no_time |= member_is(member, "noTime");
    return true;
}

static int envelope_read(struct reader *r, const struct json *root, struct event *event)
{
    const struct json *envelope = json_get(root, "$event");

    json_each (member, envelope) {
        if (!envelope_member(r, member, event)) {
            return bad_stored(r->err, event->id, "$event has a member that is not known");
        }
    }
    return 0;
}

/* Fields that were not mentioned get their usual value, with memory of the event's own. */
static void fill_usual(struct arena *arena, const struct event_desc *desc, uint64_t seen,
                       const struct prediction *usual, void *attributes)
{
    for (size_t i = 0; i < desc->message.count; i++) {
        const struct field_desc *field = &desc->message.fields[i];
        if (seen >> i & 1 || field_is_zero(&usual->of, field)) {
            continue;
        }
        const void *from = field_in(&usual->of, field);
        void *to = field_at(attributes, field);
        if (field->kind == FIELD_STR) {
            *(char **)to = arena_strdup(arena, *(const char *const *)from);
        } else if (field->kind == FIELD_I32) {
            *(int32_t *)to = *(const int32_t *)from;
        } else if (field->message == &message_desc_task_queue) {
            *(struct task_queue **)to = task_queue_new(arena, usual->queue.name);
        } else if (field->kind == FIELD_MSG) {
            assert(field->message == &message_desc_retry_policy);
            struct retry_policy *retry = arena_new_of(arena, struct retry_policy);
            *retry = usual->retry;
            *(struct retry_policy **)to = retry;
        } else {
            assert(field->kind == FIELD_I64 || field->kind == FIELD_DUR);
            *(int64_t *)to = *(const int64_t *)from;
        }
    }
}

static int text_decode(struct reader *r, const struct event_desc *desc, const char *text,
                       size_t len, struct event *event, uint64_t *ret_seen)
{
    autoarena struct arena *tree = arena_new();
    const struct json *root = NULL;

    if (json_parse(tree, text, len, &root, r->err) < 0 || root->type != JSON_OBJECT) {
        return bad_stored(r->err, event->id, "is no JSON object");
    }
    if (envelope_read(r, root, event) < 0) {
        return -1;
    }
    if (desc && message_read(r, &desc->message, root, event->attributes, ret_seen) < 0) {
        return err_wrap(r->err, "stored event %lld", (long long)event->id);
    }
    return 0;
}

int store_decode(struct store_context *ctx, struct arena *arena, int64_t id, int64_t type,
                 int64_t time_ns, const char *text, size_t len, struct event *ret_event,
                 struct err *err)
{
    struct reader r = {.arena = arena, .err = err, .form = CODEC_STORE};
    struct prediction usual = {0};
    struct event event = {0};
    uint64_t seen = 0;

    if (type < 0 || type > EVENT_TYPE_MAX) {
        return bad_stored(err, id, "has a type that only a newer release knows");
    }
    event_init(&event, arena, (enum event_type)type);
    event.id = id;
    event.time_ns = time_ns;
    event.task_id = usual_task_id(ctx);
    event.time_digits = usual_digits(ctx, time_ns);
    const struct event_desc *desc = event_desc(event.type);
    if (text) {
        int rc = text_decode(&r, desc, text, len, &event, &seen);
        reader_close(&r);
        if (rc < 0) {
            return rc;
        }
    }
    if (desc) {
        predict(ctx, desc, event.attributes, &usual);
        fill_usual(arena, desc, seen, &usual, event.attributes);
    }
    if (ctx->sealer && event_open(ctx->sealer, arena, &event, &event, err) < 0 &&
        !ctx->shows_sealed) {
        return err_wrap(err, "stored");
    }
    advance(ctx, &event);
    *ret_event = event;
    return 0;
}

/* --- single values --- */

void store_failure_encode(const struct failure *failure, struct str *out)
{
    struct printer p = printer_new(out, CODEC_STORE);

    message_print(&p, &message_desc_failure, failure);
}

int store_failure_decode(struct arena *arena, const char *text, size_t len,
                         struct failure **ret_failure, struct err *err)
{
    autoarena struct arena *tree = arena_new();
    struct reader r = {.arena = arena, .err = err, .form = CODEC_STORE};
    struct failure *failure = arena_new_of(arena, struct failure);
    const struct json *root = NULL;

    if (json_parse(tree, text, len, &root, err) < 0) {
        return err_wrap(err, "stored failure");
    }
    int rc = message_read(&r, &message_desc_failure, root, failure, NULL);
    reader_close(&r);
    if (rc < 0) {
        return err_wrap(err, "stored failure");
    }
    *ret_failure = failure;
    return 0;
}

void store_payloads_encode(const struct payloads *payloads, struct str *out)
{
    struct printer p = printer_new(out, CODEC_STORE);

    if (payloads) {
        payloads_print(&p, payloads);
    }
}

int store_payloads_decode(struct arena *arena, const char *text, size_t len,
                          struct payloads **ret_payloads, struct err *err)
{
    autoarena struct arena *tree = arena_new();
    struct reader r = {.arena = arena, .err = err, .form = CODEC_STORE};
    const struct json *root = NULL;

    if (!text) {
        *ret_payloads = NULL;
        return 0;
    }
    if (json_parse(tree, text, len, &root, err) < 0) {
        return err_wrap(err, "stored payloads");
    }
    struct payloads *payloads = arena_new_of(arena, struct payloads);
    int rc = payloads_read(&r, root, payloads);
    reader_close(&r);
    if (rc < 0) {
        return err_wrap(err, "stored payloads");
    }
    *ret_payloads = payloads;
    return 0;
}
