/*
 * level.c - what a server's histories cannot share with ours, by a rule of Temporal, made the same.
 *
 * Owns: the rules that hold for every run; docs/histories.md ("On a server") gives each its reason.
 * Must not: know any scenario; what is a single scenario's own is in tests/scenario/pins.tsv.
 */
#include "harness.h"

#include <string.h>

#include "base/clock.h"
#include "history/field.h"

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

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Every namespace is called "default" and has no id; and where a command of ours leaves it out, its
 * run's own is meant. */
static void level_namespace(const struct event *event)
{
    static const char *const ids[] = {"namespaceId", "parentWorkflowNamespaceId", NULL};
    const struct event_desc *desc = event_desc(event->type);
    for (size_t i = 0; desc && i < desc->message.count; i++) {
        const struct field_desc *field = &desc->message.fields[i];
        const char **name = field_at(event->attributes, field);
        if (strcmp(field->json, "namespace") == 0 ||
            (strcmp(field->json, "parentWorkflowNamespace") == 0 && *name)) {
            *name = "default";
        } else if (is_one_of(field->json, ids)) {
            *name = NULL;
        }
    }
}

/* A server keeps the runs of a chain a second apart. */
static void level_spacing(struct ev_workflow_execution_started *a)
{
    if (a->initiator != CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED &&
        a->first_workflow_task_backoff < NS_PER_S) {
        a->first_workflow_task_backoff = 0;
    }
}

/* The server knows of which type an attribute is that is taken away, and says so. */
static void level_attributes(struct payload_map *attributes)
{
    for (size_t i = 0; attributes && i < attributes->count; i++) {
        struct payload *payload = &attributes->items[i].payload;
        if (payload->encoding && strcmp(payload->encoding, "binary/null") == 0) {
            payload->meta = NULL;
        }
    }
}

/* The words name the run that came instead. */
static void level_terminated(struct ev_workflow_execution_terminated *a)
{
    if (a->reason && strncmp(a->reason, "TerminateIfRunning", strlen("TerminateIfRunning")) == 0) {
        a->details = NULL;
    }
}

static void level_event(struct event *event)
{
    level_namespace(event);
    switch ((int)event->type) {
    case EVENT_WORKFLOW_EXECUTION_STARTED:
        level_spacing(ev_workflow_execution_started(event));
        break;
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        level_attributes(ev_upsert_workflow_search_attributes(event)->search_attributes);
        break;
    case EVENT_WORKFLOW_EXECUTION_TERMINATED:
        level_terminated(ev_workflow_execution_terminated(event));
        break;
    default:
        break;
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
        level_event(&history->items[i]);
    }
}
