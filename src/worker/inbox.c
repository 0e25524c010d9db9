/*
 * inbox.c - see inbox.h. Owns the list's lock and the wake-up protocol: the loop sets loop_sleeps,
 * looks once more, then polls; who puts after that sees the flag and writes the eventfd. So no
 * wake-up is lost and a busy loop costs its feeders no system call.
 * Tests: tests/unit/test_engine_run.c
 */
#include "worker/inbox.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "activity/attempt.h"
#include "worker/pace.h"

int inbox_init(struct inbox *inbox, struct err *err)
{
    memset(inbox, 0, sizeof(*inbox));
    inbox->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->wake_fd < 0) {
        return err_sys(err, errno, "EventFd", "cannot make the engine's wake-up descriptor");
    }
    pthread_mutex_init(&inbox->mutex, NULL);
    inbox->ready = true;
    return 0;
}

void inbox_free(struct inbox *inbox)
{
    if (inbox->wake_fd >= 0 && inbox->ready) {
        close(inbox->wake_fd);
        pthread_mutex_destroy(&inbox->mutex);
    }
    memset(inbox, 0, sizeof(*inbox));
}

void inbox_wake(struct inbox *inbox)
{
    int errno_before = errno; /* a signal handler may be calling */
    uint64_t one = 1;
    ssize_t n = write(inbox->wake_fd, &one, sizeof(one));
    (void)n; /* EAGAIN: the counter is full, so it is readable already */
    errno = errno_before;
}

static void wake_if_sleeping(struct inbox *inbox)
{
    if (atomic_exchange(&inbox->loop_sleeps, false)) {
        inbox_wake(inbox);
    }
}

void inbox_put_done(struct inbox *inbox, struct dur_activity *attempt)
{
    struct pace *pace = attempt->pace; /* once it is on the list the attempt is the loop's */
    attempt->next_done = NULL;
    pthread_mutex_lock(&inbox->mutex);
    if (inbox->done_last) {
        inbox->done_last->next_done = attempt;
    } else {
        inbox->done_first = attempt;
    }
    inbox->done_last = attempt;
    atomic_fetch_add(&inbox->done_count, 1);
    atomic_store(&inbox->holds, true);
    pthread_mutex_unlock(&inbox->mutex);
    wake_if_sleeping(inbox);
    if (pace) {
        pace_came_home(pace);
    }
}

void inbox_put_beat(struct inbox *inbox, struct dur_activity *attempt)
{
    bool added = false;
    pthread_mutex_lock(&inbox->mutex);
    if (!attempt->beat_queued) {
        attempt->beat_queued = added = true;
        attempt->next_beat = NULL;
        if (inbox->beat_last) {
            inbox->beat_last->next_beat = attempt;
        } else {
            inbox->beat_first = attempt;
        }
        inbox->beat_last = attempt;
    }
    pthread_mutex_unlock(&inbox->mutex);
    if (added) {
        wake_if_sleeping(inbox);
        if (attempt->pace && atomic_load(&attempt->awaits_commit)) { /* else it will come home */
            pace_wants_turn(attempt->pace);
        }
    }
}

void inbox_take(struct inbox *inbox, struct dur_activity **ret_done, struct dur_activity **ret_beat)
{
    pthread_mutex_lock(&inbox->mutex);
    *ret_done = inbox->done_first;
    *ret_beat = inbox->beat_first;
    inbox->done_first = inbox->done_last = NULL;
    atomic_store(&inbox->holds, false);
    atomic_store(&inbox->done_count, 0);
    inbox->beat_first = inbox->beat_last = NULL;
    pthread_mutex_unlock(&inbox->mutex);
}

struct dur_activity *inbox_next_beat(struct inbox *inbox, struct dur_activity **beats)
{
    pthread_mutex_lock(&inbox->mutex);
    struct dur_activity *beat = *beats;
    if (beat) {
        *beats = beat->next_beat;
        beat->next_beat = NULL;
        beat->beat_queued = false;
    }
    pthread_mutex_unlock(&inbox->mutex);
    return beat;
}

bool inbox_is_empty(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    bool empty = !inbox->done_first && !inbox->beat_first;
    pthread_mutex_unlock(&inbox->mutex);
    return empty;
}

bool inbox_looks_empty(struct inbox *inbox)
{
    return !atomic_load(&inbox->holds);
}

int inbox_done_count(struct inbox *inbox)
{
    return atomic_load(&inbox->done_count);
}

bool inbox_begin_sleep(struct inbox *inbox)
{
    atomic_store(&inbox->loop_sleeps, true);
    if (inbox_is_empty(inbox)) {
        return true;
    }
    atomic_store(&inbox->loop_sleeps, false);
    return false;
}

void inbox_end_sleep(struct inbox *inbox)
{
    atomic_store(&inbox->loop_sleeps, false);
    uint64_t count;
    ssize_t n = read(inbox->wake_fd, &count, sizeof(count));
    (void)n; /* EAGAIN: nobody rang */
}

static void beat(struct dur_activity *attempt)
{
    inbox_put_beat(attempt->inbox, attempt);
}

static int wait_paced(struct dur_activity *attempt, int64_t ns)
{
    return attempt->pace ? pace_sleep(attempt->pace, attempt, ns) : DUR_INVALID;
}

struct dur_activity *inbox_attempt(struct arena *arena, struct inbox *inbox,
                                   const struct clock_vtable *clock)
{
    static const struct attempt_host host = {.beat = beat, .wait = wait_paced};
    struct dur_activity *attempt = attempt_new(arena, &host, clock);
    attempt->inbox = inbox;
    return attempt;
}
