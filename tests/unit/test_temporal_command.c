/*
 * test_temporal_command.c - the commands made of events ask for exactly those events.
 *
 * Every command event of every golden scenario history becomes a command; then the two are compared
 * field by field, by the names that both have in the protocol. A field of an event that its command
 * has no place for must be one that the server fills in (SERVERS).
 */
#include "temporal/command.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "history/field.h"
#include "history/json.h"
#include "history/value_proto.h"
#include "temporal/message.h"
#include "temporal/remote.h"
#include "temporal/value.h"

static char prefix[] = "site-";
static struct remote remote = {.queue_prefix = prefix};

/* What a server writes into an event of its own accord, or takes from the connection. */
static const char *const SERVERS[] = {
    "workflow_task_completed_event_id",
    "namespace",
    "namespace_id",
    "retry_state",
    "new_execution_run_id",
    "started_event_id",
    "identity",
};

static const ProtobufCMessage *attributes_of(const Pb__Command *c)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(c->base.descriptor, (unsigned)c->attributes_case);

    cr_assert_not_null(f);
    return *(ProtobufCMessage *const *)((const char *)c + f->offset);
}

static bool has_member(const ProtobufCMessage *m, const char *name)
{
    return protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name) != NULL;
}

static const char *name_of(const ProtobufCMessage *m)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(m->descriptor, "name");

    cr_assert_not_null(f);
    return f ? *(char *const *)((const char *)m + f->offset) : NULL;
}

static bool is_servers(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(SERVERS); i++) {
        if (strcmp(SERVERS[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The bytes of an event's value. */
static void value_bytes(struct str *out, const struct field_desc *f, const void *at)
{
    switch (f->kind) {
    case FIELD_PAYLOADS:
        payloads_to_proto(out, *(struct payloads *const *)at);
        break;
    case FIELD_PAYLOAD_MAP:
        payload_map_to_proto(
            out, strcmp(f->detail, "indexedFields") == 0 ? MAP_SEARCH_ATTRIBUTES : MAP_MEMO,
            *(struct payload_map *const *)at);
        break;
    case FIELD_MSG:
        value_to_proto(out, f->message, *(const void *const *)at);
        break;
    default:
        cr_assert_fail("%s is no value of bytes", f->snake);
    }
}

static void same_text(const char *where, const char *a, const char *b)
{
    cr_assert_str_eq(a ? a : "", b ? b : "", "%s: %s, not %s", where, b, a);
}

static void same_message(const char *where, const struct field_desc *f, const void *at,
                         const ProtobufCMessage *m)
{
    if (f->kind == FIELD_DUR) {
        cr_assert_eq(value_span_ns((const Pb__Duration *)m), *(const int64_t *)at, "%s", where);
    } else if (f->kind == FIELD_NAME) {
        same_text(where, *(const char *const *)at, name_of(m));
    } else if (f->message == &message_desc_task_queue) {
        autostr struct str name = {0};
        remote_queue_name(&remote, &name, (*(struct task_queue *const *)at)->name);
        same_text(where, str_c(&name), name_of(m));
    } else if (f->message == &message_desc_priority) {
        const struct priority *p = *(struct priority *const *)at;
        cr_assert_eq(p->priority_key, ((const Pb__Priority *)m)->priority_key);
        same_text(where, p->fairness_key, ((const Pb__Priority *)m)->fairness_key);
    } else if (f->message == &message_desc_workflow_execution) {
        const struct workflow_execution *e = *(struct workflow_execution *const *)at;
        same_text(where, e->workflow_id, ((const Pb__WorkflowExecution *)m)->workflow_id);
        same_text(where, e->run_id, ((const Pb__WorkflowExecution *)m)->run_id);
    } else {
        cr_assert_fail("%s: a message that this test does not know", where);
    }
}

static void same_details(const char *where, const struct payloads_map *map,
                         const Pb__RecordMarkerCommand *c)
{
    cr_assert_eq(map->count, c->n_details, "%s", where);
    for (size_t i = 0; i < map->count; i++) {
        autostr struct str bytes = {0};
        same_text(where, map->items[i].key, c->details[i]->key);
        payloads_to_proto(&bytes, &map->items[i].payloads);
        cr_assert_eq(bytes.len, c->details[i]->value.len, "%s", where);
        cr_assert_arr_eq(bytes.ptr, c->details[i]->value.data, bytes.len);
    }
}

static void same_field(const char *where, const struct field_desc *f, const void *at,
                       const ProtobufCMessage *command)
{
    const ProtobufCFieldDescriptor *to =
        protobuf_c_message_descriptor_get_field_by_name(command->descriptor, f->snake);
    const void *in = (const char *)command + to->offset;
    autostr struct str bytes = {0};

    if (f->kind == FIELD_PAYLOADS_MAP) {
        same_details(where, *(struct payloads_map *const *)at,
                     (const Pb__RecordMarkerCommand *)command);
        return;
    }
    switch (to->type) {
    case PROTOBUF_C_TYPE_STRING:
        same_text(where, *(const char *const *)at, *(char *const *)in);
        break;
    case PROTOBUF_C_TYPE_INT64:
        cr_assert_eq(*(const int64_t *)at, *(const int64_t *)in, "%s", where);
        break;
    case PROTOBUF_C_TYPE_INT32:
        cr_assert_eq(*(const int32_t *)at, *(const int32_t *)in, "%s", where);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        cr_assert_eq(*(const bool *)at, *(const protobuf_c_boolean *)in != 0, "%s", where);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        value_bytes(&bytes, f, at);
        cr_assert_eq(((const ProtobufCBinaryData *)in)->len, bytes.len, "%s", where);
        cr_assert_arr_eq(((const ProtobufCBinaryData *)in)->data, str_c(&bytes), bytes.len);
        break;
    default:
        cr_assert_eq(to->type, PROTOBUF_C_TYPE_MESSAGE);
        same_message(where, f, at, *(ProtobufCMessage *const *)in);
    }
}

/* The target of requests to other runs has another shape in one of the two commands. */
static bool compare_target(const char *where, const struct event *event,
                           const ProtobufCMessage *command)
{
    const struct workflow_execution *e;

    if (event->type == EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED) {
        const Pb__RequestCancelExternalCommand *c =
            (const Pb__RequestCancelExternalCommand *)command;
        e = ev_request_cancel_external_workflow_execution_initiated(event)->workflow_execution;
        same_text(where, e->workflow_id, c->workflow_id);
        same_text(where, e->run_id, c->run_id);
        return true;
    }
    if (event->type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED) {
        const Pb__SignalExternalCommand *c = (const Pb__SignalExternalCommand *)command;
        e = ev_signal_external_workflow_execution_initiated(event)->workflow_execution;
        same_text(where, e->workflow_id, c->execution->workflow_id);
        same_text(where, e->run_id, c->execution->run_id);
        return true;
    }
    return false;
}

static void compare(const char *file, const struct event *event, const Pb__Command *c)
{
    const struct event_desc *desc = event_desc(event->type);
    const ProtobufCMessage *command = attributes_of(c);

    for (size_t i = 0; i < desc->message.count; i++) {
        const struct field_desc *f = &desc->message.fields[i];
        autostr struct str where = {0};
        str_addf(&where, "%s event %lld %s.%s", file, (long long)event->id, desc->title, f->snake);
        if (field_is_zero(event->attributes, f) || is_servers(f->snake)) {
            continue;
        }
        if (strcmp(f->snake, "workflow_execution") == 0 &&
            compare_target(str_c(&where), event, command)) {
            continue;
        }
        cr_assert(has_member(command, f->snake), "%s: the command has no place for it",
                  str_c(&where));
        same_field(str_c(&where), f, field_in(event->attributes, f), command);
    }
}

static void check_message(const char *file, const struct event *event, const Pb__Command *c)
{
    autoarena struct arena *arena = arena_new();
    Pb__ProtocolMessage *m = message_of(&remote, arena, event);

    cr_assert_str_eq(c->protocol_message->message_id, m->id, "%s", file);
    if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
        const struct ev_workflow_execution_update_accepted *a =
            ev_workflow_execution_update_accepted(event);
        Pb__UpdateAcceptance *body =
            pb__update_acceptance__unpack(NULL, m->body->value.len, m->body->value.data);
        cr_assert_not_null(body);
        cr_assert_str_eq(m->body->type_url,
                         "type.googleapis.com/temporal.api.update.v1.Acceptance");
        cr_assert_str_eq(m->protocol_instance_id, a->protocol_instance_id);
        cr_assert_str_eq(body->accepted_request_message_id, a->accepted_request_message_id);
        cr_assert_eq(body->accepted_request_sequencing_event_id,
                     a->accepted_request_sequencing_event_id);
        cr_assert_str_eq(body->accepted_request->input->name, a->accepted_request->input->name);
        pb__update_acceptance__free_unpacked(body, NULL);
    } else {
        Pb__UpdateResponse *body =
            pb__update_response__unpack(NULL, m->body->value.len, m->body->value.data);
        cr_assert_not_null(body);
        cr_assert_str_eq(body->meta->update_id,
                         ev_workflow_execution_update_completed(event)->meta->update_id);
        cr_assert_neq(body->outcome->value_case, PB__UPDATE_OUTCOME__VALUE__NOT_SET);
        pb__update_response__free_unpacked(body, NULL);
    }
}

static size_t check_file(const char *path)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct history history = {0};
    struct err err = {0};
    size_t count = 0;

    cr_assert_eq(fs_read_file(path, 64 << 20, &text, &err), 0, "%s", err.text);
    cr_assert_eq(history_from_json(arena, text.ptr, text.len, &history, &err), 0, "%s", err.text);
    struct ev_workflow_execution_started *started =
        ev_workflow_execution_started(&history.items[0]);
    struct command_context context = {.remote = &remote, .arena = arena, .started = started};
    for (size_t i = 0; i < history.count; i++) {
        const struct event *event = &history.items[i];
        Pb__Command *c = command_of(&context, event);
        cr_assert_eq(c != NULL, event_is_command(event->type), "%s: event %zu %s", path, i + 1,
                     event_type_title(event->type));
        if (!c) {
            continue;
        }
        cr_assert_gt(protobuf_c_message_get_packed_size(&c->base), 0);
        count++;
        if (c->attributes_case == PB__COMMAND__ATTRIBUTES_PROTOCOL_MESSAGE) {
            check_message(path, event, c);
        } else {
            compare(path, event, c);
        }
    }
    return count;
}

Test(command, of_every_event_that_scenarios_write, .timeout = 120)
{
    const char *top = getenv("abs_top_srcdir");
    autofree char *folder = mem_printf("%s/tests/golden/scenario/", top ? top : ".");
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    cr_assert_not_null(dir, "%s", folder);
    while ((entry = readdir(dir)) != NULL) {
        if (str_ends(entry->d_name, ".json")) {
            autofree char *path = mem_printf("%s%s", folder, entry->d_name);
            count += check_file(path);
        }
    }
    closedir(dir);
    cr_assert_gt(count, 200, "only %zu commands were seen", count);
}

/* --- what a golden history cannot show -------------------------------------------------------- */

static Pb__ContinueAsNewCommand *continued(struct arena *arena,
                                           const struct ev_workflow_execution_started *started,
                                           const struct retry_policy *next_retry,
                                           const struct event *event)
{
    struct command_context context = {
        .remote = &remote, .arena = arena, .started = started, .next_retry = next_retry};

    return command_of(&context, event)->continue_as_new;
}

Test(command, continue_as_new_passes_on_what_the_code_left)
{
    autoarena struct arena *arena = arena_new();
    struct retry_policy mine = {.initial_interval = NS_PER_S, .maximum_attempts = 3};
    struct retry_policy other = {.initial_interval = NS_PER_S, .maximum_attempts = 7};
    struct ev_workflow_execution_started started = {.workflow_run_timeout = 5 * NS_PER_S,
                                                    .workflow_task_timeout = 2 * NS_PER_S,
                                                    .cron_schedule = "@every 1h",
                                                    .retry_policy = &mine};
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW);
    struct ev_workflow_execution_continued_as_new *a =
        ev_workflow_execution_continued_as_new(event);
    started.last_completion_result = payloads_json(arena, "41");
    a->workflow_type = "T";

    Pb__ContinueAsNewCommand *c = continued(arena, &started, NULL, event);
    cr_assert_eq(value_span_ns(c->workflow_run_timeout), 5 * NS_PER_S);
    cr_assert_eq(value_span_ns(c->workflow_task_timeout), 2 * NS_PER_S);
    cr_assert_str_eq(c->cron_schedule, "@every 1h");
    cr_assert_gt(c->last_completion_result.len, 0);
    struct retry_policy *policy;
    cr_assert_eq(
        retry_policy_from_proto(arena, c->retry_policy.data, c->retry_policy.len, &policy, NULL),
        0);
    cr_assert_eq(policy->maximum_attempts, 3);

    a->workflow_run_timeout = 9 * NS_PER_S;
    c = continued(arena, &started, &other, event);
    cr_assert_eq(value_span_ns(c->workflow_run_timeout), 9 * NS_PER_S);
    cr_assert_eq(
        retry_policy_from_proto(arena, c->retry_policy.data, c->retry_policy.len, &policy, NULL),
        0);
    cr_assert_eq(policy->maximum_attempts, 7);
}

Test(command, all_of_an_output_in_its_order)
{
    autoarena struct arena *arena = arena_new();
    struct ev_workflow_execution_started started = {0};
    struct command_context context = {.remote = &remote, .arena = arena, .started = &started};
    const struct event *events[4];
    struct event *completed = event_new(arena, EVENT_WORKFLOW_TASK_COMPLETED);
    struct event *timer = event_new(arena, EVENT_TIMER_STARTED);
    struct event *accepted = event_new(arena, EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    struct event *last = event_new(arena, EVENT_WORKFLOW_EXECUTION_COMPLETED);
    struct sdk_metadata sdk = {.sdk_name = "libdurable"};
    ev_workflow_task_completed(completed)->sdk_metadata = &sdk;
    ev_workflow_execution_update_accepted(accepted)->protocol_instance_id = "u";
    events[0] = completed;
    events[1] = timer;
    events[2] = accepted;
    events[3] = last;
    struct run_output out = {.events = events, .count = 4};
    Pb__RespondWorkflowTaskCompletedRequest request;

    pb__respond_workflow_task_completed_request__init(&request);
    commands_put(&context, &out, 2, &request);
    cr_assert_str_eq(request.sdk_metadata->sdk_name, "libdurable");
    cr_assert_eq(request.n_commands, 3);
    cr_assert_eq(request.commands[0]->command_type, 3);
    cr_assert_eq(request.commands[1]->command_type, 14);
    cr_assert_str_eq(request.commands[1]->protocol_message->message_id, "u/accept");
    cr_assert_eq(request.commands[2]->command_type, 4);
    cr_assert_eq(request.n_messages, 1);
    cr_assert_str_eq(request.messages[0]->id, "u/accept");
}

/* --- updates ---------------------------------------------------------------------------------- */

Test(message, requests_come_in_and_nonsense_is_left_out)
{
    autoarena struct arena *arena = arena_new();
    uint8_t bytes[256];
    Pb__UpdateRequest body;
    Pb__UpdateMeta meta;
    Pb__UpdateInput input;
    Pb__Any any, other;
    Pb__ProtocolMessage good, bad, empty;
    Pb__ProtocolMessage *list[] = {&bad, &good, &empty};
    Pb__PollWorkflowTaskQueueResponse task;
    struct run_update *updates;
    struct err err = {0};
    size_t skipped;

    pb__update_request__init(&body);
    pb__update_meta__init(&meta);
    pb__update_input__init(&input);
    pb__any__init(&any);
    pb__any__init(&other);
    pb__protocol_message__init(&good);
    pb__protocol_message__init(&bad);
    pb__protocol_message__init(&empty);
    meta.update_id = value_chars("u1");
    meta.identity = value_chars("me");
    input.name = value_chars("set");
    input.args = value_json(&remote, arena, "[1]");
    body.meta = &meta;
    body.input = &input;
    any.type_url = value_chars("type.googleapis.com/temporal.api.update.v1.Request");
    any.value.data = bytes;
    any.value.len = pb__update_request__pack(&body, bytes);
    other.type_url = value_chars("type.googleapis.com/temporal.api.update.v1.Surprise");
    good.id = value_chars("u1/request");
    good.protocol_instance_id = value_chars("u1");
    good.body = &any;
    good.sequencing_id_case = PB__PROTOCOL_MESSAGE__SEQUENCING_ID_EVENT_ID;
    good.event_id = 12;
    bad.body = &other;
    pb__poll_workflow_task_queue_response__init(&task);
    task.messages = list;
    task.n_messages = ARRAY_LEN(list);

    cr_assert_eq(messages_read(&remote, arena, &task, &updates, &skipped, &err), 1);
    cr_assert_eq(skipped, 2);
    cr_assert_str_eq(updates[0].update_id, "u1");
    cr_assert_str_eq(updates[0].name, "set");
    cr_assert_str_eq(updates[0].input, "[1]");
    cr_assert_str_eq(updates[0].identity, "me");

    struct failure failure = {.message = "no"};
    struct run_rejection rejection = {.update_id = "u1", .failure = &failure};
    Pb__ProtocolMessage *m = message_rejection(&remote, arena, &task, &rejection);
    Pb__UpdateRejection *back =
        pb__update_rejection__unpack(NULL, m->body->value.len, m->body->value.data);
    cr_assert_str_eq(m->id, "u1/reject");
    cr_assert_str_eq(back->rejected_request_message_id, "u1/request");
    cr_assert_eq(back->rejected_request_sequencing_event_id, 12);
    cr_assert_gt(back->failure.len, 0);
    pb__update_rejection__free_unpacked(back, NULL);
}
