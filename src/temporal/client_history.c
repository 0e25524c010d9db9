/*
 * client_history.c - the whole history of a run, a page at a time.
 *
 * Owns: paging, both forms that a server may answer in, and the check that no event is missing.
 * Memory: one page of events. Must not: wait for events to come.
 * Tests: tests/temporal/test_client.c
 */
#include "temporal/client.h"
#include "temporal/remote.h"

#define PAGE_EVENTS 256

struct reading {
    struct remote *remote;
    struct arena *arena; /* of one page */
    const char *id;
    remote_events_fn each;
    void *user;
    int64_t next; /* id of the next event */
    bool is_over; /* the caller wants no more */
};

/* The events of one piece of a page. */
static int give(struct reading *r, ProtobufCBinaryData bytes, struct err *err)
{
    struct history history;

    if (r->is_over || bytes.len == 0) {
        return DUR_OK;
    }
    if (value_show_history(r->remote, r->arena, bytes, &history, err) < 0) {
        return client_bad(err, "the run's history");
    }
    for (size_t i = 0; i < history.count; i++, r->next++) {
        if (history.items[i].id != r->next) {
            return client_refuse(err, DUR_IO,
                                 "the history of run %s has event %lld where %lld should be", r->id,
                                 (long long)history.items[i].id, (long long)r->next);
        }
    }
    r->is_over = history.count > 0 && r->each(r->user, history.items, history.count) != 0;
    return DUR_OK;
}

static int give_page(struct reading *r, const Pb__GetWorkflowExecutionHistoryResponse *page,
                     struct err *err)
{
    int rc = give(r, page->history, err);

    for (size_t i = 0; i < page->n_raw_history && rc == DUR_OK; i++) {
        rc = give(r, page->raw_history[i]->data, err);
    }
    arena_reset(r->arena);
    return rc;
}

int client_history(struct remote *remote, const char *id, remote_events_fn each, void *user,
                   struct err *err)
{
    autoarena struct arena *names = arena_new();
    autoarena struct arena *arena = arena_new();
    autostr struct str token = {0};
    struct reading r = {remote, arena, id, each, user, .next = 1};
    Pb__GetWorkflowExecutionHistoryRequest request;

    pb__get_workflow_execution_history_request__init(&request);
    int rc = client_target(names, id, &request.execution, err);
    request.namespace_ = remote->name_space;
    request.maximum_page_size = PAGE_EVENTS;
    request.skip_archival = true;
    while (rc == DUR_OK && !r.is_over) {
        autopb ProtobufCMessage *answer = NULL;
        rc = client_call(remote, "GetWorkflowExecutionHistory", &request.base,
                         &pb__get_workflow_execution_history_response__descriptor, "run", id,
                         &answer, NULL, err);
        if (rc != DUR_OK) {
            return rc;
        }
        const Pb__GetWorkflowExecutionHistoryResponse *page =
            (Pb__GetWorkflowExecutionHistoryResponse *)answer;
        rc = give_page(&r, page, err);
        str_reset(&token);
        str_addn(&token, page->next_page_token.data, page->next_page_token.len);
        request.next_page_token = (ProtobufCBinaryData){token.len, (uint8_t *)token.ptr};
        if (token.len == 0) {
            break;
        }
    }
    return rc;
}
