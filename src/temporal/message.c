/*
 * message.c - see message.h.
 * Tests: tests/unit/test_temporal_command.c
 */
#include "temporal/message.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "temporal/remote.h"
#include "temporal/value.h"

#define TYPE_URL "type.googleapis.com/temporal.api.update.v1."

/* --- coming in -------------------------------------------------------------------------------- */

static int read_request(struct remote *remote, struct arena *arena,
                        const Pb__ProtocolMessage *message, struct run_update *ret, struct err *err)
{
    if (!message->body || !str_eq(message->body->type_url, TYPE_URL "Request")) {
        return err_set(err, ERR_PERMANENT, "UnknownMessage", "message %.100s is no update: %.100s",
                       message->id, message->body ? message->body->type_url : "empty");
    }
    Pb__UpdateRequest *request =
        pb__update_request__unpack(NULL, message->body->value.len, message->body->value.data);
    if (!request || !request->meta || !request->input) {
        pb__update_request__free_unpacked(request, NULL);
        return err_set(err, ERR_PERMANENT, "BadMessage", "update %.100s has no request",
                       message->protocol_instance_id);
    }
    const char *id = request->meta->update_id;
    ret->update_id = arena_strdup(arena, *id ? id : message->protocol_instance_id);
    ret->identity = arena_strdup(arena, request->meta->identity);
    ret->name = arena_strdup(arena, request->input->name);
    int rc = value_read_json(remote, arena, request->input->args, &ret->input, err);
    pb__update_request__free_unpacked(request, NULL);
    return rc < 0 ? err_wrap(err, "update %.100s", ret->update_id) : 0;
}

size_t messages_read(struct remote *remote, struct arena *arena,
                     const Pb__PollWorkflowTaskQueueResponse *task, struct run_update **ret,
                     size_t *ret_skipped, struct err *err)
{
    size_t count = 0;

    *ret = arena_array_of(arena, struct run_update, task->n_messages + 1);
    *ret_skipped = 0;
    for (size_t i = 0; i < task->n_messages; i++) {
        if (read_request(remote, arena, task->messages[i], &(*ret)[count], err) == 0) {
            count++;
        } else {
            (*ret)[count] = (struct run_update){0};
            ++*ret_skipped;
        }
    }
    return count;
}

/* --- going out -------------------------------------------------------------------------------- */

static char *text(struct arena *arena, const char *from)
{
    return value_chars(arena_strdup(arena, from));
}

static char *id_of(struct arena *arena, const char *update_id, const char *what)
{
    return arena_printf(arena, "%s/%s", update_id, what);
}

char *message_id(struct arena *arena, const struct event *event)
{
    return event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
               ? id_of(arena, ev_workflow_execution_update_accepted(event)->protocol_instance_id,
                       "accept")
               : id_of(arena, ev_workflow_execution_update_completed(event)->meta->update_id,
                       "complete");
}

/* body is packed into the message. */
static Pb__ProtocolMessage *wrap(struct arena *arena, const char *update_id, const char *what,
                                 const char *type, const ProtobufCMessage *body)
{
    Pb__ProtocolMessage *message = arena_new_of(arena, Pb__ProtocolMessage);
    size_t len = protobuf_c_message_get_packed_size(body);

    pb__protocol_message__init(message);
    message->id = id_of(arena, update_id, what);
    message->protocol_instance_id = text(arena, update_id);
    message->body = arena_new_of(arena, Pb__Any);
    pb__any__init(message->body);
    message->body->type_url = arena_printf(arena, TYPE_URL "%s", type);
    message->body->value.data = arena_alloc(arena, len + 1);
    message->body->value.len = protobuf_c_message_pack(body, message->body->value.data);
    return message;
}

static Pb__UpdateMeta *meta_of(struct arena *arena, const struct update_meta *from)
{
    Pb__UpdateMeta *to = arena_new_of(arena, Pb__UpdateMeta);

    pb__update_meta__init(to);
    if (from) {
        to->update_id = text(arena, from->update_id);
        to->identity = text(arena, from->identity);
    }
    return to;
}

static Pb__UpdateRequest *request_of(struct remote *remote, struct arena *arena,
                                     const struct update_request *from)
{
    if (!from) {
        return NULL;
    }
    Pb__UpdateRequest *to = arena_new_of(arena, Pb__UpdateRequest);
    pb__update_request__init(to);
    to->meta = meta_of(arena, from->meta);
    to->request_id = text(arena, from->request_id);
    if (from->input) {
        to->input = arena_new_of(arena, Pb__UpdateInput);
        pb__update_input__init(to->input);
        to->input->name = text(arena, from->input->name);
        to->input->header = value_header(arena, from->input->header);
        to->input->args = value_payloads(remote, arena, from->input->args);
    }
    return to;
}

static Pb__ProtocolMessage *acceptance(struct remote *remote, struct arena *arena,
                                       const struct ev_workflow_execution_update_accepted *a)
{
    Pb__UpdateAcceptance body;

    pb__update_acceptance__init(&body);
    body.accepted_request_message_id = text(arena, a->accepted_request_message_id);
    body.accepted_request_sequencing_event_id = a->accepted_request_sequencing_event_id;
    body.accepted_request = request_of(remote, arena, a->accepted_request);
    return wrap(arena, a->protocol_instance_id, "accept", "Acceptance", &body.base);
}

static Pb__ProtocolMessage *outcome(struct remote *remote, struct arena *arena,
                                    const struct ev_workflow_execution_update_completed *a)
{
    Pb__UpdateResponse body;

    pb__update_response__init(&body);
    body.meta = meta_of(arena, a->meta);
    body.outcome = arena_new_of(arena, Pb__UpdateOutcome);
    pb__update_outcome__init(body.outcome);
    if (a->outcome->failure) {
        body.outcome->value_case = PB__UPDATE_OUTCOME__VALUE_FAILURE;
        body.outcome->failure = value_failure(remote, arena, a->outcome->failure);
    } else {
        body.outcome->value_case = PB__UPDATE_OUTCOME__VALUE_SUCCESS;
        body.outcome->success = value_payloads(remote, arena, a->outcome->success);
    }
    return wrap(arena, a->meta->update_id, "complete", "Response", &body.base);
}

Pb__ProtocolMessage *message_of(struct remote *remote, struct arena *arena,
                                const struct event *event)
{
    if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
        return acceptance(remote, arena, ev_workflow_execution_update_accepted(event));
    }
    return outcome(remote, arena, ev_workflow_execution_update_completed(event));
}

Pb__ProtocolMessage *message_rejection(struct remote *remote, struct arena *arena,
                                       const Pb__PollWorkflowTaskQueueResponse *task,
                                       const struct run_rejection *rejection)
{
    Pb__UpdateRejection body;

    pb__update_rejection__init(&body);
    body.rejected_request_message_id = id_of(arena, rejection->update_id, "request");
    for (size_t i = 0; i < task->n_messages; i++) {
        const Pb__ProtocolMessage *message = task->messages[i];
        if (strcmp(message->protocol_instance_id, rejection->update_id) == 0) {
            body.rejected_request_message_id = message->id;
            if (message->sequencing_id_case == PB__PROTOCOL_MESSAGE__SEQUENCING_ID_EVENT_ID) {
                body.rejected_request_sequencing_event_id = message->event_id;
            }
        }
    }
    body.failure = value_failure(remote, arena, rejection->failure);
    return wrap(arena, rejection->update_id, "reject", "Rejection", &body.base);
}
