/*
 * ask.c - see ask.h.
 * Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/ask.h"

#include "exec/run.h"
#include "history/failure.h"
#include "temporal/remote.h"
#include "temporal/task.h"
#include "temporal/value.h"

enum { ANSWERED = 1, FAILED = 2 }; /* QueryResultType */

struct reply {
    int32_t type;
    ProtobufCBinaryData answer;
    char *message;
    ProtobufCBinaryData failure;
};

static struct reply refusal(struct remote *remote, struct arena *arena, const char *type,
                            const char *message)
{
    struct failure *failure = failure_application(arena, type, message, true, NULL);

    return (struct reply){.type = FAILED,
                          .message = value_chars(arena_strdup(arena, message)),
                          .failure = value_failure(remote, arena, failure)};
}

static struct reply ask(struct remote *remote, struct arena *arena, const Pb__WorkflowQuery *query,
                        struct run *run)
{
    struct run_answer answer = {0};
    struct err err = {0};
    const char *input;

    if (value_read_json(remote, arena, query->query_args, &input, &err) < 0) {
        return refusal(remote, arena, "BadQueryInput", err.text);
    }
    if (run_query(run, query->query_type, input, arena, &answer) != 0) {
        return refusal(remote, arena, answer.type, answer.message);
    }
    return (struct reply){.type = ANSWERED,
                          .message = value_chars(NULL),
                          .answer = value_json(remote, arena, answer.result)};
}

static void set(struct remote *remote, struct task *task, const struct reply *reply)
{
    Pb__RespondQueryTaskCompletedRequest *request = &task->query;

    task->reply = REPLY_QUERY;
    pb__respond_query_task_completed_request__init(request);
    request->task_token = task->from->task_token;
    request->namespace_ = remote->name_space;
    request->completed_type = reply->type;
    request->query_result = reply->answer;
    request->error_message = reply->message;
    request->failure = reply->failure;
}

void ask_answer(struct remote *remote, struct task *task, struct run *run)
{
    struct reply reply = ask(remote, task->arena, task->from->query, run);

    set(remote, task, &reply);
}

void ask_refuse(struct remote *remote, struct task *task, const char *type, const char *message,
                int cause)
{
    struct reply reply = refusal(remote, task->arena, type, message);

    set(remote, task, &reply);
    task->query.cause = cause;
}

void ask_answer_all(struct remote *remote, struct task *task, struct run *run)
{
    const Pb__PollWorkflowTaskQueueResponse *from = task->from;
    Pb__QueryResultEntry **entries =
        arena_array_of(task->arena, Pb__QueryResultEntry *, from->n_queries + 1);

    for (size_t i = 0; i < from->n_queries; i++) {
        struct reply reply = ask(remote, task->arena, from->queries[i]->value, run);
        Pb__QueryResultEntry *entry = arena_new_of(task->arena, Pb__QueryResultEntry);
        pb__query_result_entry__init(entry);
        entry->key = from->queries[i]->key;
        entry->value = arena_new_of(task->arena, Pb__WorkflowQueryResult);
        pb__workflow_query_result__init(entry->value);
        entry->value->result_type = reply.type;
        entry->value->answer = reply.answer;
        entry->value->error_message = reply.message;
        entry->value->failure = reply.failure;
        entries[i] = entry;
    }
    task->completed.query_results = entries;
    task->completed.n_query_results = from->n_queries;
}
