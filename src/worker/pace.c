/*
 * pace.c - see pace.h.
 * Owns: the list of sleepers and the count of active attempts. Must not: know runs or the store.
 * Tests: tests/unit/test_engine_test.c
 */
#include "worker/pace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "activity/attempt.h"
#include "worker/inbox.h"

#define SETTLE_MS 250 /* an activity that waits for the outside must not hold up every turn */

struct sleeper {
    struct sleeper *next;
    struct dur_activity *attempt;
    int64_t until_ns;
    bool woken;
};

struct pace {
    pthread_mutex_t mutex;
    pthread_cond_t settled;                 /* active became 0, or a turn is wanted */
    atomic_llong now_ns;                    /* boot time */
    atomic_llong wall_offset_ns, asleep_ns; /* wall = now + offset, monotonic = now - asleep */
    int64_t limit_ns;
    int64_t settle_ms; /* real: how long a turn waits for activities */
    bool by_force;
    struct clock_vtable clock;
    struct sleeper *sleepers;
    size_t active;
    uint64_t went_out; /* attempts so far */
    bool wants_turn;
};

static int64_t read_boot(void *user)
{
    const struct pace *pace = user;
    return atomic_load(&pace->now_ns);
}

static int64_t read_wall(void *user)
{
    const struct pace *pace = user;
    return atomic_load(&pace->now_ns) + atomic_load(&pace->wall_offset_ns);
}

static int64_t read_mono(void *user)
{
    const struct pace *pace = user;
    return atomic_load(&pace->now_ns) - atomic_load(&pace->asleep_ns);
}

static const char *boot_id(void *user is_unused)
{
    return "virtual";
}

struct pace *pace_new(int64_t start_ns)
{
    struct pace *pace = mem_alloc(sizeof(*pace));
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&pace->mutex, NULL);
    pthread_cond_init(&pace->settled, &attr);
    pthread_condattr_destroy(&attr);
    atomic_store(&pace->now_ns, start_ns);
    pace->limit_ns = INT64_MAX;
    pace->settle_ms = SETTLE_MS;
    pace->clock = (struct clock_vtable){.wall_ns = read_wall,
                                        .mono_ns = read_mono,
                                        .boot_ns = read_boot,
                                        .boot_id = boot_id,
                                        .user = pace};
    return pace;
}

struct pace *pace_free(struct pace *pace)
{
    if (pace) {
        pthread_mutex_destroy(&pace->mutex);
        pthread_cond_destroy(&pace->settled);
        free(pace);
    }
    return NULL;
}

const struct clock_vtable *pace_clock(const struct pace *pace)
{
    return &pace->clock;
}

int64_t pace_now_ns(const struct pace *pace)
{
    return atomic_load(&pace->now_ns);
}

int64_t pace_wall_ns(const struct pace *pace)
{
    return pace->clock.wall_ns(pace->clock.user);
}

void pace_set_wall(struct pace *pace, int64_t by_ns)
{
    atomic_fetch_add(&pace->wall_offset_ns, by_ns);
}

void pace_suspend(struct pace *pace, int64_t ns)
{
    pthread_mutex_lock(&pace->mutex);
    for (struct sleeper *sleeper = pace->sleepers; sleeper; sleeper = sleeper->next) {
        sleeper->until_ns = time_later(sleeper->until_ns, ns);
    }
    atomic_fetch_add(&pace->asleep_ns, ns);
    atomic_fetch_add(&pace->now_ns, ns);
    pthread_mutex_unlock(&pace->mutex);
}

void pace_wait_longer(struct pace *pace, int64_t settle_ms)
{
    pace->settle_ms = settle_ms;
}

void pace_limit(struct pace *pace, int64_t until_ns, bool by_force)
{
    pthread_mutex_lock(&pace->mutex);
    pace->limit_ns = until_ns;
    pace->by_force = by_force;
    pthread_mutex_unlock(&pace->mutex);
}

/* Under the mutex. From here on it counts as active, whenever its thread comes round to it. */
static void wake(struct pace *pace, struct sleeper *sleeper)
{
    struct dur_activity *attempt = sleeper->attempt;
    pthread_mutex_lock(&attempt->mutex);
    sleeper->woken = true;
    pthread_cond_broadcast(&attempt->committed);
    pthread_mutex_unlock(&attempt->mutex);
    pace->active++;
}

/* Under the mutex: wakes who is due, and takes note of who was told to stop. */
static void wake_due(struct pace *pace)
{
    struct sleeper **link = &pace->sleepers;
    while (*link) {
        struct sleeper *sleeper = *link;
        bool is_due = sleeper->until_ns <= atomic_load(&pace->now_ns);
        if (is_due || atomic_load(&sleeper->attempt->cancelled)) {
            *link = sleeper->next;
            wake(pace, sleeper);
        } else {
            link = &sleeper->next;
        }
    }
}

void pace_move(struct pace *pace, int64_t to_ns)
{
    pthread_mutex_lock(&pace->mutex);
    if (to_ns > atomic_load(&pace->now_ns)) {
        atomic_store(&pace->now_ns, to_ns);
    }
    wake_due(pace);
    pthread_mutex_unlock(&pace->mutex);
}

void pace_release(struct pace *pace)
{
    pthread_mutex_lock(&pace->mutex);
    while (pace->sleepers) {
        struct sleeper *sleeper = pace->sleepers;
        pace->sleepers = sleeper->next;
        wake(pace, sleeper);
    }
    pthread_mutex_unlock(&pace->mutex);
}

void pace_went_out(struct pace *pace, struct dur_activity *attempt)
{
    pthread_mutex_lock(&pace->mutex);
    attempt->pace = pace;
    attempt->paced_order = ++pace->went_out;
    pace->active++;
    pthread_mutex_unlock(&pace->mutex);
}

/* Under the mutex. */
static void rest(struct pace *pace)
{
    if (--pace->active == 0) {
        pthread_cond_signal(&pace->settled);
    }
}

void pace_came_home(struct pace *pace)
{
    pthread_mutex_lock(&pace->mutex);
    rest(pace);
    pthread_mutex_unlock(&pace->mutex);
}

void pace_wants_turn(struct pace *pace)
{
    pthread_mutex_lock(&pace->mutex);
    pace->wants_turn = true;
    pthread_cond_signal(&pace->settled);
    pthread_mutex_unlock(&pace->mutex);
}

bool pace_settle(struct pace *pace)
{
    struct timespec until = clock_deadline(pace->settle_ms);
    pthread_mutex_lock(&pace->mutex);
    wake_due(pace);
    while (pace->active > 0 && !pace->wants_turn &&
           pthread_cond_timedwait(&pace->settled, &pace->mutex, &until) == 0) {
    }
    pace->wants_turn = false;
    bool is_settled = pace->active == 0;
    pthread_mutex_unlock(&pace->mutex);
    return is_settled;
}

bool pace_skip(struct pace *pace, int64_t in_ns)
{
    bool has_moved = false;
    pthread_mutex_lock(&pace->mutex);
    wake_due(pace);
    int64_t next_ns = in_ns == INT64_MAX ? INT64_MAX : time_later(pace->now_ns, in_ns);
    for (const struct sleeper *s = pace->sleepers; s; s = s->next) {
        next_ns = s->until_ns < next_ns ? s->until_ns : next_ns;
    }
    if ((pace->active == 0 || pace->by_force) && next_ns != INT64_MAX &&
        next_ns <= pace->limit_ns && next_ns > atomic_load(&pace->now_ns)) {
        atomic_store(&pace->now_ns, next_ns);
        wake_due(pace);
        has_moved = true;
    }
    pthread_mutex_unlock(&pace->mutex);
    return has_moved;
}

static bool comes_before(const struct dur_activity *a, const struct dur_activity *b)
{
    return a->paced_order < b->paced_order;
}

struct dur_activity *pace_sort(struct dur_activity *done)
{
    struct dur_activity *sorted = NULL;
    while (done) {
        struct dur_activity *attempt = done;
        struct dur_activity **link = &sorted;
        done = done->next_done;
        while (*link && comes_before(*link, attempt)) {
            link = &(*link)->next_done;
        }
        attempt->next_done = *link;
        *link = attempt;
    }
    return sorted;
}

int pace_sleep(struct pace *pace, struct dur_activity *attempt, int64_t ns)
{
    struct sleeper self = {.attempt = attempt};
    pthread_mutex_lock(&pace->mutex);
    if (__builtin_add_overflow(atomic_load(&pace->now_ns), ns, &self.until_ns)) {
        self.until_ns = INT64_MAX - 1;
    }
    self.next = pace->sleepers;
    pace->sleepers = &self;
    rest(pace);
    pthread_mutex_unlock(&pace->mutex);
    inbox_wake(attempt->inbox); /* the loop may have given up waiting for it to settle */
    pthread_mutex_lock(&attempt->mutex);
    while (!self.woken) { /* a cancelled one is woken by the loop too, before the next turn */
        pthread_cond_wait(&attempt->committed, &attempt->mutex);
    }
    pthread_mutex_unlock(&attempt->mutex);
    return atomic_load(&attempt->cancelled) ? DUR_CANCELLED : DUR_OK;
}
