/*
 * serving.c - see serving.h. Owns: the loop's passes, its descriptor, its beginning and end.
 *
 * The end: polls are cancelled, activities and local activities are told, held tasks are answered
 * (another worker goes on), what is in hand is finished; then DUR_CANCELLED. When the server is
 * lost meanwhile, or the grace is over, answers are given up: their tasks time out and go to
 * others. Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/serving.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "temporal/drive.h"
#include "temporal/remote.h"

#define FIBERS_POOLED 64 /* free stacks kept, as in a store's engine */
#define PASS_TASKS 64    /* of one pass; then whoever drives the engine has a turn */
#define LONGEST_MS 60000 /* one sleep */

/* --- among threads ---------------------------------------------------------------------------- */

void serving_wake(void *serving)
{
    struct remote_serving *s = serving;
    uint64_t one = 1;

    while (write(s->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

void serving_hand(struct remote_serving *s, struct task *task)
{
    pthread_mutex_lock(&s->mutex);
    task->next = NULL;
    *(s->last ? &s->last->next : &s->first) = task;
    s->last = task;
    pthread_mutex_unlock(&s->mutex);
    serving_wake(s);
}

bool serving_room(struct remote_serving *s)
{
    pthread_mutex_lock(&s->mutex);
    while (s->in_hand >= SERVING_TASKS_MAX && !atomic_load(&s->stopping)) {
        pthread_cond_wait(&s->room, &s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
    return !atomic_load(&s->stopping);
}

void serving_count(struct remote_serving *s, int change)
{
    pthread_mutex_lock(&s->mutex);
    s->in_hand = (size_t)((ssize_t)s->in_hand + change);
    if (change < 0) {
        pthread_cond_signal(&s->room);
    }
    pthread_mutex_unlock(&s->mutex);
}

void serving_refuse(struct remote_serving *s, int code, const struct err *err)
{
    pthread_mutex_lock(&s->mutex);
    if (!s->refused) {
        s->refused = code;
        s->why = *err;
    }
    pthread_mutex_unlock(&s->mutex);
    serving_wake(s);
}

static struct task *take_first(struct remote_serving *s)
{
    pthread_mutex_lock(&s->mutex);
    struct task *task = s->first;
    if (task) {
        s->first = task->next;
        s->last = s->first ? s->last : NULL;
    }
    pthread_mutex_unlock(&s->mutex);
    return task;
}

/* --- beginning -------------------------------------------------------------------------------- */

static bool watch(const struct remote_serving *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int open_descriptors(struct remote_serving *s, struct err *err)
{
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->epoll_fd < 0 || s->wake_fd < 0 || s->timer_fd < 0 || !watch(s, s->wake_fd) ||
        !watch(s, s->timer_fd) || !watch(s, s->worker->wake_fd)) {
        return err_sys(err, errno, "NoDescriptors", "a worker needs descriptors");
    }
    return 0;
}

static int local_slots(const struct remote_worker *worker)
{
    for (size_t i = 0; i < worker->lane_count; i++) {
        if (str_eq(worker->lanes[i].task_queue, LOCAL_LANE)) {
            return worker->lanes[i].slots;
        }
    }
    return LOCAL_SLOTS_DEFAULT;
}

int serving_begin(struct remote *remote, const struct remote_worker *worker,
                  struct remote_serving **ret, struct err *err)
{
    struct remote_serving *s = mem_alloc(sizeof(*s));

    *ret = NULL;
    s->remote = remote;
    s->worker = worker;
    s->epoll_fd = s->wake_fd = s->timer_fd = -1;
    rpc_cancel_init(&s->polls);
    rpc_cancel_init(&s->answers);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->room, NULL);
    s->task_ns = clock_mono_ns();
    if (open_descriptors(s, err) < 0) {
        serving_end(s);
        return DUR_IO;
    }
    s->fibers = fiber_pool_new(FIBERS_POOLED);
    s->errands = errands_new(SERVING_ERRANDS, s);
    s->locals = locals_new(&(struct locals_spec){.registry = worker->registry,
                                                 .slots = local_slots(worker),
                                                 .wake = serving_wake,
                                                 .wake_user = s,
                                                 .log = remote->log.line,
                                                 .log_user = remote->log.user});
    s->idle = idle_new(s);
    s->slots = slots_begin(remote, worker, serving_wake, s);
    s->pollers = pollers_new(s);
    *ret = s;
    return DUR_OK;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void begin_stop(struct remote_serving *s)
{
    s->stop_ns = clock_mono_ns();
    pthread_mutex_lock(&s->mutex);
    atomic_store(&s->stopping, true);
    pthread_cond_broadcast(&s->room);
    pthread_mutex_unlock(&s->mutex);
    rpc_cancel(&s->polls);
    slots_stop(s->slots);
    locals_stop(s->locals);
    pollers_farewell(s->pollers);
}

static bool is_late(const struct remote_serving *s)
{
    return clock_mono_ns() - s->stop_ns >= s->worker->stop_grace_ms * NS_PER_MS;
}

static bool is_home(struct remote_serving *s)
{
    if (atomic_load(&s->remote->is_lost) || is_late(s)) {
        rpc_cancel(&s->answers);
    }
    pthread_mutex_lock(&s->mutex);
    bool none = s->in_hand == 0;
    pthread_mutex_unlock(&s->mutex);
    return none && s->held == 0 && pollers_home(s->pollers) && slots_home(s->slots) &&
           locals_home(s->locals);
}

static void free_tasks(struct remote_serving *s)
{
    struct task *task;

    while ((task = take_first(s)) != NULL) {
        task_free(task);
    }
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

void serving_end(struct remote_serving *s)
{
    if (!s) {
        return;
    }
    if (s->pollers && !atomic_load(&s->stopping)) {
        begin_stop(s);
    }
    errands_free(s->errands); /* they say farewell in the pollers' names */
    pollers_free(s->pollers);
    slots_end(s->slots);
    free_tasks(s);
    drive_drop_all(s);
    locals_end(s->locals);
    idle_free(s->idle);
    s->fibers = fiber_pool_free(s->fibers);
    rpc_cancel_free(&s->polls);
    rpc_cancel_free(&s->answers);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->room);
    close_fd(s->epoll_fd);
    close_fd(s->wake_fd);
    close_fd(s->timer_fd);
    free(s);
}

/* --- passes ----------------------------------------------------------------------------------- */

static void read_empty(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

static int64_t due_ns(struct remote_serving *s)
{
    int64_t due = locals_due_ns(s->locals);
    int64_t held = drive_held_due_ns(s);
    int64_t idle = atomic_load(&s->stopping) ? INT64_MAX : idle_due_ns(s->idle);

    due = held < due ? held : due;
    due = idle < due ? idle : due;
    if (atomic_load(&s->stopping)) {
        int64_t late = time_later(s->stop_ns, s->worker->stop_grace_ms * NS_PER_MS);
        due = !is_late(s) && late < due ? late : due;
    }
    return due;
}

/* The descriptor becomes readable at the next deadline. */
static void arm(struct remote_serving *s)
{
    int64_t due = due_ns(s);
    int64_t now = clock_mono_ns();
    int64_t left = due == INT64_MAX ? 0 : due > now ? due - now : 1;
    struct itimerspec at = {.it_value = {left / NS_PER_S, left % NS_PER_S}};

    timerfd_settime(s->timer_fd, 0, &at, NULL);
}

static bool work(struct remote_serving *s)
{
    struct task *task;
    bool any = false;

    for (int i = 0; i < PASS_TASKS && (task = take_first(s)) != NULL; i++) {
        drive_task(s, task);
        any = true;
    }
    any |= locals_pass(s->locals);
    while (drive_held(s)) {
        any = true;
    }
    any |= slots_pass(s->slots);
    return any;
}

/* Polls or activity polls are refused for good. */
static int refusal(struct remote_serving *s, struct err *err)
{
    pthread_mutex_lock(&s->mutex);
    int rc = s->refused;
    if (rc) {
        *err = s->why;
    }
    pthread_mutex_unlock(&s->mutex);
    return rc || slots_refused(s->slots, err) ? DUR_IO : DUR_OK;
}

static int pass_once(struct remote_serving *s, struct err *err)
{
    read_empty(s->wake_fd);
    read_empty(s->timer_fd);
    read_empty(s->worker->wake_fd);
    if (atomic_load(s->worker->stop) && !atomic_load(&s->stopping)) {
        begin_stop(s);
    }
    bool any = work(s);
    if (!atomic_load(&s->stopping) && idle_pass(s->idle)) {
        begin_stop(s);
        any = true;
    }
    if (refusal(s, err) != DUR_OK) {
        return DUR_IO;
    }
    if (!any && atomic_load(&s->stopping) && is_home(s)) {
        err_set(err, ERR_CANCELLED, "Stopped", "the worker has stopped");
        return DUR_CANCELLED;
    }
    return any;
}

static void sleep_until_news(struct remote_serving *s, int64_t max_ms)
{
    struct pollfd fd = {.fd = s->epoll_fd, .events = POLLIN};

    poll(&fd, 1, max_ms < 0 || max_ms > LONGEST_MS ? LONGEST_MS : (int)max_ms);
}

int serving_pass(struct remote_serving *s, int64_t max_ms, struct err *err)
{
    int rc = pass_once(s, err);

    arm(s);
    if (rc == 0 && max_ms != 0) {
        sleep_until_news(s, max_ms);
        rc = pass_once(s, err);
        arm(s);
    }
    if (rc == 1) {
        serving_wake(s); /* there may be more: the descriptor says so */
    }
    return rc;
}

int serving_fd(struct remote_serving *s)
{
    return s->epoll_fd;
}
