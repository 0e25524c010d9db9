/*
 * level.c - what a server's histories cannot share with ours, by a rule of Temporal, made the same.
 *
 * Owns: the rules that hold for every run; docs/histories.md ("On a server") gives each its reason.
 * Must not: know any scenario; what is a single scenario's own is in tests/scenario/pins.tsv.
 */
#include "harness.h"

#include <string.h>

#include "base/mem.h"

/* A program's queues have a prefix there; and a worker that has a run in its cache is asked for by
 * a queue of its own, which names the one that it stands for. */
static void level_queue(struct task_queue *queue, const char *prefix)
{
    if (!queue) {
        return;
    }
    if (queue->normal_name) {
        queue->name = queue->normal_name;
        queue->normal_name = NULL;
        queue->kind = TASK_QUEUE_KIND_NORMAL;
    }
    if (queue->name && strncmp(queue->name, prefix, strlen(prefix)) == 0) {
        queue->name += strlen(prefix);
    }
}

static struct task_queue *queue_of(const struct event *event)
{
    switch ((int)event->type) {
    case EVENT_WORKFLOW_EXECUTION_STARTED:
        return ev_workflow_execution_started(event)->task_queue;
    case EVENT_WORKFLOW_TASK_SCHEDULED:
        return ev_workflow_task_scheduled(event)->task_queue;
    case EVENT_ACTIVITY_TASK_SCHEDULED:
        return ev_activity_task_scheduled(event)->task_queue;
    case EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return ev_workflow_execution_continued_as_new(event)->task_queue;
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        return ev_start_child_workflow_execution_initiated(event)->task_queue;
    default:
        return NULL;
    }
}

void harness_level(struct history *history, const char *queue_prefix)
{
    for (size_t i = 0; i < history->count; i++) {
        level_queue(queue_of(&history->items[i]), queue_prefix);
    }
}
