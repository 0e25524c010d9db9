/*
 * reply.c - see reply.h.
 * Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/reply.h"

#include "base/clock.h"
#include "temporal/ask.h"
#include "temporal/command.h"
#include "temporal/keep.h"
#include "temporal/message.h"
#include "temporal/remote.h"
#include "temporal/serving.h"
#include "temporal/value.h"

#define STICKY_NS (5 * NS_PER_S) /* so long a task waits for this worker before any may take it */
#define KIND_STICKY 2            /* TaskQueueKind */

static void set_sticky(struct remote_serving *s, struct task *task, const struct cached *cached)
{
    const char *name = pollers_sticky(s->pollers, cached->queue);

    if (!name || keep_limit(s) == 0) {
        return;
    }
    Pb__StickyAttributes *sticky = arena_new_of(task->arena, Pb__StickyAttributes);
    Pb__TaskQueue *queue = arena_new_of(task->arena, Pb__TaskQueue);
    pb__sticky_attributes__init(sticky);
    pb__task_queue__init(queue);
    queue->name = value_chars(name);
    queue->kind = KIND_STICKY;
    queue->normal_name = arena_strdup(task->arena, cached->queue);
    sticky->worker_task_queue = queue;
    sticky->schedule_to_start_timeout = value_duration(task->arena, STICKY_NS);
    task->completed.sticky_attributes = sticky;
}

void reply_complete(struct remote_serving *s, struct task *task, struct cached *cached,
                    const struct run_output *out)
{
    Pb__RespondWorkflowTaskCompletedRequest *request = &task->completed;
    struct command_context context = {.remote = s->remote,
                                      .arena = task->arena,
                                      .started = cached->started,
                                      .next_retry = out->next_retry};
    bool is_closed = out->status != RUN_RUNNING;

    task->reply = REPLY_COMPLETED;
    pb__respond_workflow_task_completed_request__init(request);
    request->task_token = task->from->task_token;
    request->identity = s->remote->identity;
    request->namespace_ = s->remote->name_space;
    commands_put(&context, out, out->rejection_count, request);
    for (size_t i = 0; i < out->rejection_count; i++) {
        request->messages[request->n_messages++] =
            message_rejection(s->remote, task->arena, task->from, &out->rejections[i]);
    }
    if (out->no_trace) { /* whatever came with it will come again: the run goes back, too */
        request->capabilities = arena_new_of(task->arena, Pb__CompletionCapabilities);
        pb__completion_capabilities__init(request->capabilities);
        request->capabilities->discard_speculative_workflow_task_with_events = true;
    }
    task->left_count = out->signals_left_count;
    task->left = arena_dup(task->arena, out->signals_left,
                           out->signals_left_count * sizeof(*out->signals_left));
    ask_answer_all(s->remote, task, cached->run);
    request->force_create_new_workflow_task =
        !is_closed && locals_open(s->locals, cached->run_id) > 0;
    if (!is_closed && !atomic_load(&s->stopping)) {
        request->return_new_workflow_task = true;
        set_sticky(s, task, cached);
    }
    task->serial = cached->serial;
    task->closes = is_closed;
}
