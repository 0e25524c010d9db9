/*
 * complete.c - see complete.h. No state.
 * Tests: tests/temporal/t8300-activities.sh (test_async.c)
 */
#include "temporal/complete.h"

#include "base/mem.h"
#include "exec/failure_info.h"
#include "temporal/client.h"
#include "temporal/remote.h"
#include "temporal/report.h"
#include "temporal/token.h"

/* PendingActivityState: those in which an attempt runs. */
enum { STATE_STARTED = 2, STATE_CANCEL_REQUESTED = 3, STATE_PAUSE_REQUESTED = 5 };

static const struct report_way way = {.kind = RPC_CALL};

static int gone(const struct token *token, struct err *err)
{
    if (!token->workflow_id) {
        return client_refuse(err, DUR_NOT_FOUND,
                             "no attempt of this token is awaited: it has ended, was completed "
                             "before, or its run is closed");
    }
    return client_refuse(err, DUR_NOT_FOUND,
                         "attempt %d of activity %s of run %s is not awaited: it has ended, was "
                         "completed before, or its run is closed",
                         token->attempt, token->activity_id, token->workflow_id);
}

static int parse(struct arena *arena, const char *text, struct token *ret, struct err *err)
{
    if (!token_parse(arena, text, ret)) {
        return client_refuse(err, DUR_INVALID, "this is no activity token");
    }
    return DUR_OK;
}

static struct report_target target_of(const struct token *token)
{
    return (struct report_target){.task_token = token->task_token,
                                  .workflow_id = token->workflow_id,
                                  .run_id = token->run_id,
                                  .activity_id = token->activity_id};
}

/* --- looking ------------------------------------------------------------------------------------
 */

static bool runs(const Pb__PendingActivityInfo *activity)
{
    return activity->state == STATE_STARTED || activity->state == STATE_CANCEL_REQUESTED ||
           activity->state == STATE_PAUSE_REQUESTED;
}

static const Pb__PendingActivityInfo *find(const Pb__DescribeWorkflowExecutionResponse *run,
                                           const char *activity_id)
{
    for (size_t i = 0; i < run->n_pending_activities; i++) {
        if (str_eq(run->pending_activities[i]->activity_id, activity_id)) {
            return run->pending_activities[i];
        }
    }
    return NULL;
}

/* The token's attempt as the server sees it; its memory is in *ret_run. */
static int look(struct remote *remote, const struct token *token,
                Pb__DescribeWorkflowExecutionResponse **ret_run,
                const Pb__PendingActivityInfo **ret, struct err *err)
{
    Pb__WorkflowExecution run;
    pb__workflow_execution__init(&run);
    run.workflow_id = value_chars(token->workflow_id);
    run.run_id = value_chars(token->run_id);
    int rc = client_look(remote, token->workflow_id, &run, ret_run, err);
    if (rc != DUR_OK) {
        return rc;
    }
    *ret = find(*ret_run, token->activity_id);
    if (!*ret || !runs(*ret) || (*ret)->attempt != token->attempt) {
        return gone(token, err);
    }
    return DUR_OK;
}

/* A token without a task's: is that attempt still the one that runs? */
static int check(struct remote *remote, const struct token *token, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *run = NULL;
    const Pb__PendingActivityInfo *activity;
    return token->task_token.len > 0 ? DUR_OK : look(remote, token, &run, &activity, err);
}

/* --- the table's entries ------------------------------------------------------------------------
 */

static struct answer answer_from(struct arena *arena, const struct remote_end *end)
{
    switch (end->how) {
    case REMOTE_COMPLETED:
        return (struct answer){.kind = ANSWER_COMPLETED, .result = end->result};
    case REMOTE_CANCELLED:
        return (struct answer){.kind = ANSWER_CANCELED};
    default:
        return (struct answer){
            .kind = ANSWER_FAILED,
            .failure = failure_of_kind(arena, end->kind, end->type, end->message, NULL)};
    }
}

int complete_end(struct remote *remote, const char *text, const struct remote_end *end,
                 struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct token token;
    int rc = parse(arena, text, &token, err);
    if (rc || (rc = check(remote, &token, err))) {
        return rc;
    }
    struct report_target target = target_of(&token);
    struct answer answer = answer_from(arena, end);
    rc = report_answer(remote, &target, &way, &answer, NULL, err);
    return rc == DUR_NOT_FOUND ? gone(&token, err) : rc;
}

int complete_beat(struct remote *remote, const char *text, const char *details, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autolook Pb__DescribeWorkflowExecutionResponse *run = NULL;
    const Pb__PendingActivityInfo *activity = NULL;
    struct server_word word = {0};
    struct token token;
    int rc = parse(arena, text, &token, err);
    if (rc == DUR_OK && token.workflow_id && (!details || token.task_token.len == 0)) {
        rc = look(remote, &token, &run, &activity, err);
    }
    if (rc != DUR_OK) {
        return rc;
    }
    struct report_target target = target_of(&token);
    if (details || !activity) {
        rc = report_beat(remote, &target, &way, details, &word, NULL, err);
    } else { /* a server keeps what the last heartbeat said: say what it has */
        rc = report_beat_raw(remote, &target, &way, activity->heartbeat_details, &word, NULL, err);
    }
    if (rc != DUR_OK) {
        return rc == DUR_NOT_FOUND ? gone(&token, err) : rc;
    }
    if (word.cancel_requested || word.is_paused || word.is_reset) {
        return client_refuse(err, DUR_CANCELLED, "the activity should stop");
    }
    return DUR_OK;
}

int complete_token_of(struct remote *remote, const char *id, const char *activity_id, char **token,
                      struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autolook Pb__DescribeWorkflowExecutionResponse *run = NULL;
    Pb__WorkflowExecution *target;
    int rc = client_target(arena, id, &target, err);
    if (rc || (rc = client_look(remote, id, target, &run, err))) {
        return rc;
    }
    const Pb__PendingActivityInfo *activity = find(run, activity_id);
    if (!activity) {
        return client_refuse(err, DUR_NOT_FOUND, "no activity %s of %s is pending",
                             activity_id ? activity_id : "", id);
    }
    if (!runs(activity)) {
        return client_refuse(err, DUR_BUSY, "no attempt of activity %s of %s runs now", activity_id,
                             id);
    }
    const Pb__WorkflowExecution *execution = run->workflow_execution_info->execution;
    *token = mem_strdup(token_text(arena, &(struct token){.workflow_id = execution->workflow_id,
                                                          .run_id = execution->run_id,
                                                          .activity_id = activity_id,
                                                          .attempt = activity->attempt}));
    return DUR_OK;
}
