/*
 * poll.c - see poll.h.
 * Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/poll.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "temporal/crew.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/serving.h"
#include "temporal/value.h"

#define KIND_NORMAL 1
#define KIND_STICKY 2
#define POLLERS_PER_QUEUE 4 /* two of the queue, two of its sticky one */
#define FAREWELL_MS 1000
#define PAUSE_MS 1000 /* after an answer that no poll can bring */
#define KEY_BYTES 16  /* of chance in a sticky queue's name */

struct poller {
    struct polled *queue;
    pthread_t id;
    bool is_sticky;
};

struct polled {
    struct pollers *owner;
    char *name;   /* the server's */
    char *sticky; /* the same */
    struct poller pollers[POLLERS_PER_QUEUE];
    int count;
};

struct pollers {
    struct remote_serving *serving;
    char key[UUID_TEXT_BYTES]; /* worker_instance_key */
    struct polled *queues;
    size_t count;
    atomic_int running;
};

/* --- one poller ------------------------------------------------------------------------------- */

static void set_queue(const struct poller *poller, Pb__TaskQueue *ret)
{
    pb__task_queue__init(ret);
    ret->name = poller->is_sticky ? poller->queue->sticky : poller->queue->name;
    ret->kind = poller->is_sticky ? KIND_STICKY : KIND_NORMAL;
    if (poller->is_sticky) {
        ret->normal_name = poller->queue->name;
    }
}

/* One long poll: a task, or NULL. False: that was the last one. */
static bool poll_once(struct poller *poller, struct task **ret)
{
    struct pollers *owner = poller->queue->owner;
    struct remote_serving *s = owner->serving;
    Pb__PollWorkflowTaskQueueRequest request;
    Pb__TaskQueue queue;
    ProtobufCMessage *answer = NULL;
    struct err err = {0};

    set_queue(poller, &queue);
    pb__poll_workflow_task_queue_request__init(&request);
    request.namespace_ = s->remote->name_space;
    request.task_queue = &queue;
    request.identity = s->remote->identity;
    request.worker_instance_key = owner->key;
    *ret = NULL;
    int rc = rpc_send(s->remote, &(struct rpc){.method = "PollWorkflowTaskQueue", .kind = RPC_POLL},
                      &request.base, &pb__poll_workflow_task_queue_response__descriptor, &s->polls,
                      &answer, NULL, &err);
    if (rc == DUR_OK) {
        *ret = task_new(answer, (const Pb__PollWorkflowTaskQueueResponse *)answer);
        return true;
    }
    if (rc == DUR_INVALID || rc == DUR_NOT_FOUND) {
        serving_refuse(s, rc, &err);
        return false;
    }
    if (rc != DUR_CANCELLED) { /* an answer that cannot be read: the task comes again */
        remote_say(s->remote, 1, "a workflow task is lost: %s", err.text);
    }
    return rc != DUR_CANCELLED && !rpc_cancel_wait(&s->polls, PAUSE_MS);
}

static void *thread_main(void *arg)
{
    struct poller *poller = arg;
    struct pollers *owner = poller->queue->owner;
    struct remote_serving *s = owner->serving;
    struct task *task;

    while (serving_room(s) && poll_once(poller, &task)) {
        if (task) {
            serving_count(s, 1);
            task_read(s->remote, task, &s->answers);
            serving_hand(s, task);
        }
    }
    atomic_fetch_sub(&owner->running, 1);
    serving_wake(s);
    return NULL;
}

static void add_poller(struct polled *queue, bool is_sticky)
{
    struct pollers *owner = queue->owner;
    struct poller *poller = &queue->pollers[queue->count];

    *poller = (struct poller){.queue = queue, .is_sticky = is_sticky};
    atomic_fetch_add(&owner->running, 1);
    int rc = crew_thread(&poller->id, "poll", thread_main, poller);
    if (rc == 0) {
        queue->count++;
        return;
    }
    atomic_fetch_sub(&owner->running, 1);
    remote_say(owner->serving->remote, 1, "no thread to poll task queue %s: %s", queue->name,
               strerrordesc_np(rc));
}

/* --- all of them ------------------------------------------------------------------------------ */

static void add_queue(struct pollers *pollers, const char *task_queue)
{
    struct remote *remote = pollers->serving->remote;
    struct polled *queue = &pollers->queues[pollers->count++];
    autostr struct str name = {0};
    char chance[2 * KEY_BYTES + 1];

    remote_queue_name(remote, &name, task_queue);
    rng_hex(chance, KEY_BYTES);
    queue->owner = pollers;
    queue->name = str_take(&name);
    queue->sticky = mem_printf("%s-%s", remote->identity, chance);
}

struct pollers *pollers_new(struct remote_serving *serving)
{
    const struct remote_worker *worker = serving->worker;
    struct pollers *pollers = mem_alloc(sizeof(*pollers));

    pollers->serving = serving;
    rng_uuid(pollers->key);
    pollers->queues = mem_array(worker->lane_count + 1, sizeof(*pollers->queues));
    for (size_t i = 0; i < worker->lane_count && worker->registry->workflows; i++) {
        if (!str_eq(worker->lanes[i].task_queue, LOCAL_LANE)) {
            add_queue(pollers, worker->lanes[i].task_queue);
        }
    }
    for (size_t i = 0; i < pollers->count; i++) {
        add_poller(&pollers->queues[i], false);
    }
    return pollers;
}

static struct polled *find(const struct pollers *pollers, const char *name)
{
    for (size_t i = 0; i < pollers->count; i++) {
        if (str_eq(pollers->queues[i].name, name)) {
            return &pollers->queues[i];
        }
    }
    return NULL;
}

const char *pollers_sticky(const struct pollers *pollers, const char *queue)
{
    const struct polled *found = find(pollers, queue);

    return found ? found->sticky : NULL;
}

void pollers_more(struct pollers *pollers, const char *queue)
{
    struct polled *found = find(pollers, queue);

    if (found && found->count == 1) {
        add_poller(found, false);
        add_poller(found, true);
        add_poller(found, true);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

struct farewell { /* may be sent after the pollers are gone */
    struct errand errand;
    char *queue, *sticky, *key;
};

static void send_farewell(struct errand *errand, void *user)
{
    struct farewell *farewell = (struct farewell *)errand;
    struct remote_serving *s = user;
    Pb__ShutdownWorkerRequest request;
    struct err err = {0};

    pb__shutdown_worker_request__init(&request);
    request.namespace_ = s->remote->name_space;
    request.sticky_task_queue = farewell->sticky;
    request.identity = s->remote->identity;
    request.reason = value_chars("graceful shutdown");
    request.worker_instance_key = farewell->key;
    request.task_queue = farewell->queue;
    struct rpc rpc = {.method = "ShutdownWorker", .timeout_ms = FAREWELL_MS, .kind = RPC_ONCE};
    rpc_send(s->remote, &rpc, &request.base, NULL, &s->answers, NULL, NULL, &err);
    /* An old server does not know the call; a lost one finds out by itself. */
    free(farewell->queue);
    free(farewell->sticky);
    free(farewell->key);
    free(farewell);
}

void pollers_farewell(struct pollers *pollers)
{
    for (size_t i = 0; i < pollers->count; i++) {
        struct polled *queue = &pollers->queues[i];
        if (queue->count > 1) { /* its sticky queue was offered */
            struct farewell *farewell = mem_alloc(sizeof(*farewell));
            farewell->errand.go = send_farewell;
            farewell->queue = mem_strdup(queue->name);
            farewell->sticky = mem_strdup(queue->sticky);
            farewell->key = mem_strdup(pollers->key);
            errand_give(pollers->serving->errands, &farewell->errand);
        }
    }
}

bool pollers_home(struct pollers *pollers)
{
    return atomic_load(&pollers->running) == 0;
}

void pollers_free(struct pollers *pollers)
{
    if (!pollers) {
        return;
    }
    for (size_t i = 0; i < pollers->count; i++) {
        struct polled *queue = &pollers->queues[i];
        for (int k = 0; k < queue->count; k++) {
            pthread_join(queue->pollers[k].id, NULL);
        }
        free(queue->name);
        free(queue->sticky);
    }
    free(pollers->queues);
    free(pollers);
}
