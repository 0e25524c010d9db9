/*
 * client_result.c - dur_result on a server: waiting until a chain of runs has closed.
 *
 * Owns: the long poll for the closing event, and what follows a run: continued as new, retried,
 * cron, or reset. The server holds a poll for some 20 s; a server that is lost is waited for, too.
 * Must not: leave the chain of the run that it began with.
 * Tests: tests/temporal/test_asking.c
 */
#include <string.h>

#include "base/mem.h"
#include "history/failure.h"
#include "temporal/client.h"
#include "temporal/remote.h"

struct waiting {
    struct client_wait wait;
    struct remote *remote;
    const char *id; /* as the caller wrote it */
    Pb__WorkflowExecution run;
    struct arena *arena; /* of run's texts */
    struct str token;    /* of the poll that is under way */
    bool only_look;      /* no time to wait */
};

/* One poll. 0 with *ret in arena, 1: nothing yet; else final. */
static int poll(struct waiting *w, struct arena *arena, const struct event **ret, struct err *err)
{
    Pb__GetWorkflowExecutionHistoryRequest request;
    autorpcfailure struct rpc_failure failure = {0};
    autopb ProtobufCMessage *answer = NULL;
    struct history history = {0};

    pb__get_workflow_execution_history_request__init(&request);
    request.namespace_ = w->remote->name_space;
    request.execution = &w->run;
    request.next_page_token = (ProtobufCBinaryData){w->token.len, (uint8_t *)w->token.ptr};
    request.wait_new_event = true;
    request.history_event_filter_type = 2;
    request.skip_archival = true;
    int rc = client_poll(&w->wait, "GetWorkflowExecutionHistory", RPC_POLL_TIMEOUT_MS,
                         &request.base, &pb__get_workflow_execution_history_response__descriptor,
                         &answer, &failure, err);
    if (rc == DUR_NOT_FOUND && failure.detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return client_refuse(err, rc, "no run has the id %s", w->id);
    }
    if (rc != DUR_OK) {
        return rc;
    }
    const Pb__GetWorkflowExecutionHistoryResponse *page =
        (Pb__GetWorkflowExecutionHistoryResponse *)answer;
    ProtobufCBinaryData bytes =
        page->n_raw_history > 0 ? page->raw_history[page->n_raw_history - 1]->data : page->history;
    if (value_show_history(w->remote, arena, bytes, &history, err) < 0) {
        return client_bad(err, "the run's closing event");
    }
    *ret = history.count > 0 ? &history.items[history.count - 1] : NULL;
    str_reset(&w->token);
    str_addn(&w->token, page->next_page_token.data, page->next_page_token.len);
    return *ret && event_is_close((*ret)->type) ? DUR_OK : 1;
}

/* The run that took over from one which was terminated: by a reset, or none. */
static int reset_run(struct waiting *w, const char **ret, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    int rc = client_look(w->remote, w->id, &w->run, &look, err);

    *ret = NULL;
    if (rc == DUR_OK && look->workflow_extended_info &&
        *look->workflow_extended_info->reset_run_id) {
        *ret = arena_strdup(w->arena, look->workflow_extended_info->reset_run_id);
    }
    return rc;
}

/* DUR_OK etc. of the last run; 1: another run follows, which w names now. */
static int conclude(struct waiting *w, struct arena *arena, const struct event *closing,
                    char **result, struct err *err)
{
    const char *next = client_next_run(closing);
    int rc = DUR_OK;

    if (closing->type == EVENT_WORKFLOW_EXECUTION_TERMINATED &&
        (rc = reset_run(w, &next, err)) != DUR_OK) {
        return rc;
    }
    if (next) {
        w->run.run_id = arena_strdup(w->arena, next);
        str_reset(&w->token);
        return 1;
    }
    const char *text = client_result_of(arena, closing);
    const char *key_id =
        text ? value_sealed(ev_workflow_execution_completed(closing)->result) : NULL;
    if (key_id) {
        return client_refuse(err, DUR_INVALID,
                             "the result of run %s is sealed with the key \"%s\": connect with a "
                             "keyring that holds it",
                             w->run.workflow_id, key_id);
    }
    if (text) {
        if (result) {
            *result = mem_strdup(text);
        }
        return DUR_OK;
    }
    if (closing->type == EVENT_WORKFLOW_EXECUTION_CANCELED) {
        return client_refuse(err, DUR_CANCELLED, "run %s was cancelled", w->run.workflow_id);
    }
    const struct failure *failure = client_failure_of(arena, closing);
    return client_refuse(err, DUR_FAILED, "run %s ended as %s%s%s", w->run.workflow_id,
                         event_type_title(closing->type) + strlen("WorkflowExecution"),
                         failure ? ": " : "",
                         failure ? value_failure_line(arena, failure_root(failure)) : "");
}

/* Is it closed? Then its closing event; 1: no. (Asked for the closing event of an open run, the
 * server waits for it.) */
static int look(struct waiting *w, struct arena *arena, const struct event **ret, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    int rc = client_look(w->remote, w->id, &w->run, &look, err);

    if (rc != DUR_OK || client_is_open(look)) {
        return rc != DUR_OK ? rc : 1;
    }
    return client_closing(w->remote, arena, w->id, &w->run, ret, err);
}

static int time_out(const struct waiting *w, struct err *err)
{
    if (w->wait.lost_ns != 0) {
        err_wrap(err, "it is not known whether run %s is open", w->id);
        return DUR_TIMED_OUT;
    }
    return client_refuse(err, DUR_TIMED_OUT, "run %s is still open", w->id);
}

/* The run as it is now: later runs of the id are not followed. */
static int pin(struct waiting *w, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    Pb__WorkflowExecution *run;
    int rc = client_target(w->arena, w->id, &run, err);

    if (rc != DUR_OK) {
        return rc;
    }
    rc = w->only_look ? client_look(w->remote, w->id, run, &look, err)
                      : client_wait_look(&w->wait, w->id, run, &look, err);
    if (rc != DUR_OK) {
        return rc;
    }
    w->run = *run;
    w->run.run_id = arena_strdup(w->arena, look->workflow_execution_info->execution->run_id);
    return DUR_OK;
}

int client_result(struct remote *remote, const char *id, int64_t timeout_ms, char **result,
                  struct err *err)
{
    autoarena struct arena *names = arena_new();
    struct waiting w = {.remote = remote, .id = id, .arena = names, .only_look = timeout_ms == 0};
    int rc;

    client_wait_begin(&w.wait, remote, timeout_ms);
    rc = pin(&w, err);
    while (rc == DUR_OK || rc == 1) {
        autoarena struct arena *arena = arena_new();
        const struct event *closing = NULL;
        rc = w.only_look ? look(&w, arena, &closing, err) : poll(&w, arena, &closing, err);
        if (rc == DUR_OK) {
            rc = conclude(&w, arena, closing, result, err);
            if (rc <= 0) {
                break;
            }
        } else if (rc == 1 && (w.only_look || client_wait_is_over(&w.wait))) {
            rc = DUR_TIMED_OUT;
        }
    }
    str_free(&w.token);
    return rc == DUR_TIMED_OUT ? time_out(&w, err) : rc;
}
