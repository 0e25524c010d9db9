/*
 * slot.c - see slot.h.
 *
 * Owns: struct lane (a task queue that is polled), its threads, and struct slot: the attempt that
 * one of them is at. One mutex for all; it is never held over a call or a callback.
 *
 *   thread: [wait until fewer than LANE_POLLS are open] poll --nothing--> again
 *                                                          `--task--> attempt.c makes it, runs it,
 *                                                                     answers --> again
 *   A thread that got a task while no other one of its lane waits or polls starts the next.
 *
 * The end: a poll that is cancelled may have a task on its way, which then waits for its time-out.
 * So the server is asked to end the polls (ShutdownWorker), by a thread that cancels what is left
 * of them after a moment: a server of before 2026 ends none, one that is lost hears nothing.
 * Tests: tests/temporal/t8300-activities.sh
 */
#include "temporal/slot.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "activity/attempt.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "temporal/crew.h"
#include "temporal/local.h"
#include "temporal/remote.h"
#include "temporal/slot_task.h"

#define FAREWELL_MS 1000 /* for the server to be told that a lane polls no more */
#define FAREWELL_WAIT_MS 200
#define FAREWELLS 5  /* so often, then polls are cancelled */
#define LANE_POLLS 8 /* open at once of one lane: enough to be fed, however many slots it has */

struct lane {
    struct slots *slots;
    const char *task_queue; /* as the program names it */
    char *queue;            /* on the server */
    double rate_per_s;
    int most; /* threads */
    bool is_inline;
    pthread_t *ids;
    int threads; /* under the mutex, as all below */
    int polling;
    int waiting;
};

struct slots {
    struct remote *remote;
    const struct registry *registry;
    int64_t stop_grace_ms;
    void (*wake)(void *user);
    void *wake_user;
    struct pulse *pulse;
    struct lane *lanes;
    size_t lane_count;
    char key[UUID_TEXT_BYTES]; /* worker_instance_key */
    pthread_t farewell;
    bool says_farewell;
    struct rpc_cancel polls;   /* thrown: no more polls */
    struct rpc_cancel answers; /* thrown: no more waiting for the server */
    bool *is_outside;          /* the loop's: an activity runs on its thread */
    bool is_outside_here;      /* where nobody asks */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct slot *running; /* under the mutex, as all below */
    struct slot *inline_first;
    int out; /* threads that are not done */
    bool stopping;
    bool is_late; /* stopping, and the grace is over */
    int64_t late_ns;
    int refused; /* DUR_OK, or why a poll was refused */
    struct err refusal;
};

/* --- polling ------------------------------------------------------------------------------------
 */

static void *thread_main(void *arg);

/* Under the mutex. False when it cannot be started. */
static bool start_thread(struct lane *lane)
{
    char *name = mem_printf("lane %s", lane->task_queue);
    int rc = crew_thread(&lane->ids[lane->threads], name, thread_main, lane);
    free(name);
    if (rc == 0) {
        lane->threads++;
        lane->slots->out++;
    }
    return rc == 0;
}

/* False: no more. */
static bool begin_poll(struct lane *lane)
{
    struct slots *slots = lane->slots;
    pthread_mutex_lock(&slots->mutex);
    lane->waiting++;
    while (!slots->stopping && !slots->refused && lane->polling >= LANE_POLLS) {
        pthread_cond_wait(&slots->changed, &slots->mutex);
    }
    lane->waiting--;
    bool may_poll = !slots->stopping && !slots->refused;
    lane->polling += may_poll;
    pthread_mutex_unlock(&slots->mutex);
    return may_poll;
}

static void end_poll(struct lane *lane, bool got_task)
{
    struct slots *slots = lane->slots;
    pthread_mutex_lock(&slots->mutex);
    lane->polling--;
    if (got_task && !slots->stopping && lane->waiting == 0 && lane->polling == 0 &&
        lane->threads < lane->most && !start_thread(lane)) {
        remote_say(slots->remote, 1, "lane %s: no further thread can be started", lane->task_queue);
    }
    pthread_cond_broadcast(&slots->changed);
    pthread_mutex_unlock(&slots->mutex);
}

static int poll_task(struct lane *lane, Pb__PollActivityTaskQueueResponse **ret, struct err *err)
{
    struct remote *remote = lane->slots->remote;
    ProtobufCMessage *answer = NULL;
    Pb__PollActivityTaskQueueRequest request;
    Pb__TaskQueue queue;
    Pb__TaskQueueMetadata limits;
    Pb__DoubleValue rate;
    pb__poll_activity_task_queue_request__init(&request);
    pb__task_queue__init(&queue);
    queue.name = lane->queue;
    queue.kind = 1; /* normal */
    request.namespace_ = remote->name_space;
    request.identity = remote->identity;
    request.task_queue = &queue;
    request.worker_instance_key = lane->slots->key;
    if (lane->rate_per_s > 0) {
        pb__task_queue_metadata__init(&limits);
        pb__double_value__init(&rate);
        rate.value = lane->rate_per_s;
        limits.max_tasks_per_second = &rate;
        request.task_queue_metadata = &limits;
    }
    int rc = rpc_send(remote, &(struct rpc){.method = "PollActivityTaskQueue", .kind = RPC_POLL},
                      &request.base, &pb__poll_activity_task_queue_response__descriptor,
                      &lane->slots->polls, &answer, NULL, err);
    *ret = (Pb__PollActivityTaskQueueResponse *)answer;
    return rc;
}

static void refuse(struct slots *slots, int rc, const struct err *err)
{
    pthread_mutex_lock(&slots->mutex);
    if (!slots->refused) {
        slots->refused = rc;
        slots->refusal = *err;
    }
    pthread_cond_broadcast(&slots->changed);
    pthread_mutex_unlock(&slots->mutex);
    slots->wake(slots->wake_user);
}

/* --- one task -----------------------------------------------------------------------------------
 */

static void enlist(struct slots *slots, struct slot *slot)
{
    pthread_mutex_lock(&slots->mutex);
    slot->next = slots->running;
    slots->running = slot;
    bool is_stopping = slots->stopping;
    pthread_mutex_unlock(&slots->mutex);
    if (is_stopping) {
        attempt_cancel(slot->attempt, "stopping");
    }
}

static bool delist(struct slots *slots, struct slot *slot)
{
    struct slot **link = &slots->running;
    pthread_mutex_lock(&slots->mutex);
    while (*link != slot) {
        link = &(*link)->next;
    }
    *link = slot->next;
    bool is_late = slots->is_late;
    pthread_mutex_unlock(&slots->mutex);
    return is_late;
}

/* The callback: here, or by the loop when the lane has no threads for it. */
static void run(struct lane *lane, struct slot *slot)
{
    struct slots *slots = lane->slots;
    struct slot **link = &slots->inline_first;
    if (!lane->is_inline) {
        attempt_run(slot->attempt);
        return;
    }
    pthread_mutex_lock(&slots->mutex);
    slot->has_run = false;
    slot->next_inline = NULL;
    while (*link) {
        link = &(*link)->next_inline;
    }
    *link = slot;
    pthread_mutex_unlock(&slots->mutex);
    slots->wake(slots->wake_user);
    pthread_mutex_lock(&slots->mutex);
    while (!slot->has_run) {
        pthread_cond_wait(&slots->changed, &slots->mutex);
    }
    pthread_mutex_unlock(&slots->mutex);
}

bool slots_pass(struct slots *slots)
{
    pthread_mutex_lock(&slots->mutex);
    struct slot *slot = slots->inline_first;
    if (slot) {
        slots->inline_first = slot->next_inline;
    }
    pthread_mutex_unlock(&slots->mutex);
    if (!slot) {
        return false;
    }
    *slots->is_outside = true;
    attempt_run(slot->attempt);
    *slots->is_outside = false;
    pthread_mutex_lock(&slots->mutex);
    slot->has_run = true;
    pthread_cond_broadcast(&slots->changed);
    pthread_mutex_unlock(&slots->mutex);
    return true;
}

static void work(struct lane *lane, const Pb__PollActivityTaskQueueResponse *task)
{
    struct slots *slots = lane->slots;
    struct slot slot = {.remote = slots->remote, .task = task, .task_queue = lane->task_queue};
    bool is_late = false;
    rpc_cancel_init(&slot.beats);
    if (slot_task_begin(&slot, slots->registry)) {
        enlist(slots, &slot);
        pulse_join(slots->pulse, &slot.beat);
        run(lane, &slot);
        pulse_leave(slots->pulse, &slot.beat);
        is_late = delist(slots, &slot);
    }
    slot_task_answer(&slot, &slots->answers, is_late);
    slot_task_end(&slot);
    rpc_cancel_free(&slot.beats);
}

static void *thread_main(void *arg)
{
    struct lane *lane = arg;
    struct slots *slots = lane->slots;
    while (begin_poll(lane)) {
        Pb__PollActivityTaskQueueResponse *task = NULL;
        struct err err = {0};
        int rc = poll_task(lane, &task, &err);
        bool got_task = rc == DUR_OK && task->task_token.len > 0;
        end_poll(lane, got_task);
        if (got_task) {
            work(lane, task);
        } else if (rc != DUR_OK && rc != DUR_CANCELLED) {
            refuse(slots, rc, &err);
        }
        if (task) {
            pb__poll_activity_task_queue_response__free_unpacked(task, NULL);
        }
    }
    pthread_mutex_lock(&slots->mutex);
    slots->out--;
    pthread_cond_broadcast(&slots->changed);
    pthread_mutex_unlock(&slots->mutex);
    slots->wake(slots->wake_user);
    return NULL;
}

/* --- heartbeats ---------------------------------------------------------------------------------
 */

static enum pulse_result send_beat(void *user, struct beat *beat, const char *details,
                                   int64_t timeout_ms, struct server_word *ret)
{
    (void)user;
    return slot_task_beat(beat->owner, details, timeout_ms, ret);
}

static void give_up_beat(void *user, struct beat *beat)
{
    struct slot *slot = beat->owner;
    (void)user;
    rpc_cancel(&slot->beats);
}

/* --- life ---------------------------------------------------------------------------------------
 */

static void lane_begin(struct slots *slots, struct lane *lane, const struct remote_lane *spec)
{
    autostr struct str queue = {0};
    remote_queue_name(slots->remote, &queue, spec->task_queue);
    lane->slots = slots;
    lane->task_queue = spec->task_queue;
    lane->queue = str_take(&queue);
    lane->rate_per_s = spec->rate_per_s;
    lane->is_inline = spec->slots == 0;
    lane->most = spec->slots > 0 ? spec->slots : 1;
    lane->ids = mem_array((size_t)lane->most, sizeof(pthread_t));
}

struct slots *slots_begin(struct remote *remote, const struct remote_worker *worker,
                          void (*wake)(void *user), void *wake_user)
{
    struct slots *slots = mem_alloc(sizeof(*slots));
    pthread_condattr_t attr;
    slots->remote = remote;
    slots->registry = worker->registry;
    slots->stop_grace_ms = worker->stop_grace_ms;
    rng_uuid(slots->key);
    slots->wake = wake;
    slots->wake_user = wake_user;
    slots->is_outside = worker->is_outside ? worker->is_outside : &slots->is_outside_here;
    pthread_mutex_init(&slots->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&slots->changed, &attr);
    pthread_condattr_destroy(&attr);
    rpc_cancel_init(&slots->polls);
    rpc_cancel_init(&slots->answers);
    slots->pulse = pulse_new(&(struct pulse_spec){.send = send_beat, .give_up = give_up_beat});
    slots->lanes = mem_array(worker->lane_count + 1, sizeof(*slots->lanes));
    pthread_mutex_lock(&slots->mutex);
    for (size_t i = 0; worker->registry->activities && i < worker->lane_count; i++) {
        if (str_eq(worker->lanes[i].task_queue, LOCAL_LANE)) {
            continue; /* local.h's */
        }
        struct lane *lane = &slots->lanes[slots->lane_count++];
        lane_begin(slots, lane, &worker->lanes[i]);
        if (!start_thread(lane)) {
            slots->refused = DUR_IO;
            err_set(&slots->refusal, ERR_TRANSIENT, "NoThread",
                    "no thread can be started for lane %s", lane->task_queue);
        }
    }
    pthread_mutex_unlock(&slots->mutex);
    return slots;
}

int slots_refused(struct slots *slots, struct err *err)
{
    pthread_mutex_lock(&slots->mutex);
    int rc = slots->refused ? DUR_IO : DUR_OK;
    if (rc) {
        *err = slots->refusal;
    }
    pthread_mutex_unlock(&slots->mutex);
    return rc;
}

static bool tell_farewell(struct lane *lane)
{
    struct remote *remote = lane->slots->remote;
    Pb__ShutdownWorkerRequest request;
    int32_t activity_queue = 2;
    struct err err = {0};
    pb__shutdown_worker_request__init(&request);
    request.namespace_ = remote->name_space;
    request.identity = remote->identity;
    request.reason = value_chars("graceful shutdown");
    request.worker_instance_key = lane->slots->key;
    request.task_queue = lane->queue;
    request.task_queue_types = &activity_queue;
    request.n_task_queue_types = 1;
    struct rpc rpc = {.method = "ShutdownWorker", .timeout_ms = FAREWELL_MS, .kind = RPC_ONCE};
    return rpc_send(remote, &rpc, &request.base, NULL, NULL, NULL, NULL, &err) == DUR_OK;
}

/* Under the mutex. */
static bool any_polls(const struct slots *slots)
{
    for (size_t i = 0; i < slots->lane_count; i++) {
        if (slots->lanes[i].polling > 0) {
            return true;
        }
    }
    return false;
}

/* Waits a moment for the polls to end. True when they have. */
static bool wait_polls(struct slots *slots, int64_t ms)
{
    int64_t until_ns = clock_mono_ns() + ms * NS_PER_MS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    pthread_mutex_lock(&slots->mutex);
    while (any_polls(slots) && clock_mono_ns() < until_ns) {
        pthread_cond_timedwait(&slots->changed, &slots->mutex, &until);
    }
    bool have_ended = !any_polls(slots);
    pthread_mutex_unlock(&slots->mutex);
    return have_ended;
}

/* Said again, for a poll may have been on its way when it was said first. */
static void *farewell_main(void *arg)
{
    struct slots *slots = arg;
    bool is_heard = true;
    for (int n = 0; n < FAREWELLS && is_heard; n++) {
        for (size_t i = 0; is_heard && i < slots->lane_count; i++) {
            is_heard = tell_farewell(&slots->lanes[i]);
        }
        if (is_heard && wait_polls(slots, FAREWELL_WAIT_MS)) {
            break;
        }
    }
    rpc_cancel(&slots->polls);
    return NULL;
}

void slots_stop(struct slots *slots)
{
    pthread_mutex_lock(&slots->mutex);
    bool is_first = !slots->stopping;
    slots->stopping = true;
    if (is_first) {
        slots->late_ns = time_later(clock_mono_ns(), slots->stop_grace_ms * NS_PER_MS);
    }
    for (struct slot *slot = slots->running; is_first && slot; slot = slot->next) {
        attempt_cancel(slot->attempt, "stopping");
    }
    pthread_cond_broadcast(&slots->changed);
    pthread_mutex_unlock(&slots->mutex);
    if (is_first) {
        slots->says_farewell = crew_thread(&slots->farewell, "farewell", farewell_main, slots) == 0;
        if (!slots->says_farewell) {
            rpc_cancel(&slots->polls);
        }
    }
}

/* Under the mutex: the grace is over. */
static void be_late(struct slots *slots)
{
    slots->is_late = true;
    for (const struct slot *slot = slots->running; slot; slot = slot->next) {
        remote_say(slots->remote, 1,
                   "run %s: activity %s (%s) was told to stop %lld ms ago and still runs; waiting",
                   slot->attempt->workflow_id, slot->attempt->activity_id, slot->attempt->type,
                   (long long)slots->stop_grace_ms);
    }
    rpc_cancel(&slots->answers);
}

bool slots_home(struct slots *slots)
{
    pthread_mutex_lock(&slots->mutex);
    if (slots->stopping && !slots->is_late && slots->out > 0 && clock_mono_ns() >= slots->late_ns) {
        be_late(slots);
    }
    bool is_home = slots->out == 0;
    pthread_mutex_unlock(&slots->mutex);
    return is_home;
}

int64_t slots_due_ns(struct slots *slots)
{
    pthread_mutex_lock(&slots->mutex);
    int64_t due_ns =
        slots->stopping && !slots->is_late && slots->out > 0 ? slots->late_ns : INT64_MAX;
    pthread_mutex_unlock(&slots->mutex);
    return due_ns;
}

/* Until all are home, a thread is in need of slots_pass, or the grace is over. */
static void wait_home(struct slots *slots)
{
    pthread_mutex_lock(&slots->mutex);
    while (slots->out > 0 && !slots->inline_first &&
           (slots->is_late || clock_mono_ns() < slots->late_ns)) {
        struct timespec until = {.tv_sec = slots->late_ns / NS_PER_S,
                                 .tv_nsec = slots->late_ns % NS_PER_S};
        if (slots->is_late || slots->late_ns == INT64_MAX) {
            pthread_cond_wait(&slots->changed, &slots->mutex);
        } else {
            pthread_cond_timedwait(&slots->changed, &slots->mutex, &until);
        }
    }
    pthread_mutex_unlock(&slots->mutex);
}

void slots_end(struct slots *slots)
{
    if (!slots) {
        return;
    }
    slots_stop(slots);
    while (!slots_home(slots)) {
        wait_home(slots);
        slots_pass(slots);
    }
    if (slots->says_farewell) {
        pthread_join(slots->farewell, NULL);
    }
    for (size_t i = 0; i < slots->lane_count; i++) {
        struct lane *lane = &slots->lanes[i];
        for (int t = 0; t < lane->threads; t++) {
            pthread_join(lane->ids[t], NULL);
        }
        free(lane->ids);
        free(lane->queue);
    }
    pulse_end(slots->pulse);
    rpc_cancel_free(&slots->polls);
    rpc_cancel_free(&slots->answers);
    pthread_mutex_destroy(&slots->mutex);
    pthread_cond_destroy(&slots->changed);
    free(slots->lanes);
    free(slots);
}
