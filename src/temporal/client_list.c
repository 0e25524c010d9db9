/*
 * client_list.c - dur_list and dur_list_where on a server: its list filter language is ours.
 *
 * Owns: paging behind durable.h's tokens (list_pages.h), and the status as a part of the filter.
 * The order is the server's: open runs first, then by the time they closed or began, newest first.
 * A run may be missing for a moment after it began: a server's lists are not the truth of the hour.
 * Must not: ask the server for each row: what a list does not tell is left out (client_info).
 * Tests: tests/temporal/test_client.c
 */
#include <assert.h>
#include <string.h>

#include "temporal/client.h"
#include "temporal/list_pages.h"
#include "temporal/remote.h"

#define PAGE_ROWS 200 /* each may have a large memo */
static_assert(PAGE_ROWS <= PAGE_ROWS_MAX, "a token names a row of a page");

struct listing {
    struct remote *remote;
    const char *query;
    struct str token; /* the server's, of the page to come */
    int left;         /* rows still wanted */
    dur_list_fn row;
    void *user;
    bool is_over;
};

/* Names are Temporal's ExecutionStatus. A paused run counts among the running ones. */
static const char *status_query(struct arena *arena, dur_status status)
{
    static const char *const names[] = {
        [DUR_COMPLETED] = "Completed",
        [DUR_RUN_FAILED] = "Failed",
        [DUR_CANCELED] = "Canceled",
        [DUR_TERMINATED] = "Terminated",
        [DUR_CONTINUED_AS_NEW] = "ContinuedAsNew",
        [DUR_RUN_TIMED_OUT] = "TimedOut",
        [DUR_PAUSED] = "Paused",
    };

    if (status == DUR_RUNNING) {
        return "CloseTime IS NULL"; /* servers that cannot pause know no status Paused */
    }
    return arena_printf(arena, "ExecutionStatus = '%s'", names[status]);
}

static const char *query_of(struct arena *arena, const char *filter, dur_status status)
{
    bool has_filter = filter && filter[strspn(filter, " \t\r\n")] != '\0';

    if ((int)status == 0) {
        return has_filter ? filter : "";
    }
    const char *wanted = status_query(arena, status);
    return has_filter ? arena_printf(arena, "(%s) AND %s", filter, wanted) : wanted;
}

/* One page of at most `rows`. *behind is the server's token for what follows. */
static int fetch(struct listing *l, int rows, ProtobufCMessage **ret, struct str *behind,
                 struct err *err)
{
    Pb__ListWorkflowExecutionsRequest request;
    autorpcfailure struct rpc_failure failure = {0};

    pb__list_workflow_executions_request__init(&request);
    request.namespace_ = l->remote->name_space;
    request.page_size = rows;
    request.next_page_token = (ProtobufCBinaryData){l->token.len, (uint8_t *)l->token.ptr};
    request.query = value_chars(l->query);
    int rc = rpc_send(l->remote, &(struct rpc){.method = "ListWorkflowExecutions"}, &request.base,
                      &pb__list_workflow_executions_response__descriptor, NULL, ret, &failure, err);
    if (rc != DUR_OK) {
        return failure.code == CODE_INVALID_ARGUMENT && failure.message
                   ? client_refuse(err, DUR_INVALID, "filter: %s", failure.message)
                   : rc;
    }
    const Pb__ListWorkflowExecutionsResponse *page = (Pb__ListWorkflowExecutionsResponse *)*ret;
    str_addn(behind, page->next_page_token.data, page->next_page_token.len);
    return DUR_OK;
}

/* The rows of a page to the caller. */
static int give(struct listing *l, const Pb__ListWorkflowExecutionsResponse *page, int64_t token,
                struct err *err)
{
    autoarena struct arena *arena = arena_new();
    int rc = DUR_OK;

    for (size_t i = 0; i < page->n_executions && l->left > 0 && !l->is_over && rc == DUR_OK; i++) {
        dur_description d;
        arena_reset(arena);
        rc = client_info(l->remote, arena, page->executions[i], &d, err);
        if (rc == DUR_OK) {
            l->left--;
            l->is_over = l->row(l->user, token + (int64_t)i, &d) != 0;
        }
    }
    return rc;
}

/* Past the rows that the caller had of a page: the server's token behind them. */
static int skip(struct listing *l, int rows, struct err *err)
{
    autopb ProtobufCMessage *answer = NULL;
    autostr struct str behind = {0};

    if (rows == 0) {
        return DUR_OK;
    }
    int rc = fetch(l, rows, &answer, &behind, err);
    if (rc == DUR_OK) {
        str_reset(&l->token);
        str_addn(&l->token, str_c(&behind), behind.len);
        l->is_over = behind.len == 0;
    }
    return rc;
}

static int list(struct listing *l, struct err *err)
{
    while (l->left > 0 && !l->is_over) {
        autopb ProtobufCMessage *answer = NULL;
        autostr struct str behind = {0};
        int rc = fetch(l, l->left < PAGE_ROWS ? l->left : PAGE_ROWS, &answer, &behind, err);
        if (rc != DUR_OK) {
            return rc;
        }
        const Pb__ListWorkflowExecutionsResponse *page =
            (Pb__ListWorkflowExecutionsResponse *)answer;
        int64_t token =
            list_pages_add(l->remote->pages, l->query, &l->token, &behind, (int)page->n_executions);
        if ((rc = give(l, page, token, err)) != DUR_OK) {
            return rc;
        }
        str_reset(&l->token);
        str_addn(&l->token, str_c(&behind), behind.len);
        l->is_over = l->is_over || behind.len == 0;
    }
    return DUR_OK;
}

int client_list(struct remote *remote, const char *filter, dur_status status, int64_t after,
                int limit, dur_list_fn row, void *user, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct listing l = {.remote = remote, .left = limit, .row = row, .user = user};
    int skipped = 0;
    int rc = DUR_OK;

    l.query = query_of(arena, filter, status);
    if (after != 0 && !list_pages_find(remote->pages, l.query, after, &l.token, &skipped)) {
        rc = client_refuse(err, DUR_INVALID,
                           "the token %lld is of no list that this handle gave lately: begin anew",
                           (long long)after);
    }
    if (rc == DUR_OK && (rc = skip(&l, skipped, err)) == DUR_OK) {
        rc = list(&l, err);
    }
    str_free(&l.token);
    return rc;
}
