/*
 * pulse.c - see pulse.h.
 *
 * Owns: the list of attempts with the time of the next look at each, and the senders. One idle
 * sender watches the time; when it finds something due it lets another one watch, and sends.
 * Tests: tests/unit/test_temporal_pulse.c
 */
#include "temporal/pulse.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "temporal/crew.h"

#define NEWS_NS NS_PER_S
#define QUIET_NS (5 * NS_PER_S)
#define RETRY_FIRST_NS (200 * NS_PER_MS)
#define RETRY_MOST_NS (5 * NS_PER_S)
#define CALL_MOST_MS 10000
#define CALL_LEAST_MS 1000
#define NEVER INT64_MAX

struct pulse {
    struct pulse_spec spec;
    pthread_mutex_t mutex;
    pthread_cond_t due;  /* something is due sooner than the watcher knows, or stopping */
    pthread_cond_t idle; /* a sender is needed */
    pthread_cond_t sent; /* a call has ended */
    struct beat *first;
    pthread_t ids[PULSE_THREADS];
    int threads;
    int waiting; /* senders that wait for their turn to watch */
    bool watched;
    bool stopping;
};

/* --- arithmetic ---------------------------------------------------------------------------------
 */

int64_t pulse_interval_ns(int64_t heartbeat_ns, bool is_news)
{
    int64_t most_ns = is_news ? NEWS_NS : QUIET_NS;
    int64_t part_ns = heartbeat_ns / 10 * 8;
    return heartbeat_ns > 0 && part_ns < most_ns ? part_ns : most_ns;
}

int64_t pulse_retry_ns(int64_t heartbeat_ns, int misses)
{
    int64_t wait_ns = RETRY_FIRST_NS;
    int64_t most_ns = pulse_interval_ns(heartbeat_ns, false);
    for (int i = 1; i < misses && wait_ns < RETRY_MOST_NS; i++) {
        wait_ns *= 2;
    }
    wait_ns = wait_ns < RETRY_MOST_NS ? wait_ns : RETRY_MOST_NS;
    return wait_ns < most_ns ? wait_ns : most_ns;
}

int64_t pulse_timeout_ms(int64_t heartbeat_ns)
{
    int64_t ms = heartbeat_ns > 0 ? heartbeat_ns / NS_PER_MS : CALL_MOST_MS;
    ms = ms < CALL_MOST_MS ? ms : CALL_MOST_MS;
    return ms > CALL_LEAST_MS ? ms : CALL_LEAST_MS;
}

/* --- one beat, under the mutex ------------------------------------------------------------------
 */

static int64_t look_ns(const struct beat *beat)
{
    return beat->due_ns < beat->deadline_ns ? beat->due_ns : beat->deadline_ns;
}

/* Not sooner than the throttle allows. */
static int64_t after(const struct beat *beat, bool is_news)
{
    return beat->sent_ns
               ? time_later(beat->sent_ns, pulse_interval_ns(beat->attempt->heartbeat_ns, is_news))
               : 0;
}

static void set_due(struct pulse *pulse, struct beat *beat, int64_t due_ns)
{
    if (due_ns < beat->due_ns) {
        beat->due_ns = due_ns;
        pthread_cond_signal(&pulse->due);
    }
}

/* The callback said something. */
static void note(struct dur_activity *attempt)
{
    struct beat *beat = attempt->host_data;
    struct pulse *pulse = beat->pulse;
    bool at_once = atomic_load(&attempt->flushed_ns) == 0; /* dur_heartbeat_sync, or the first */
    pthread_mutex_lock(&pulse->mutex);
    atomic_store(&attempt->beat_wanted, false);
    atomic_store(&attempt->flush_armed, true);
    if (beat->is_sending) {
        beat->again = true;
        beat->again_now = beat->again_now || at_once;
    } else if (!beat->word.is_gone && beat->misses == 0) {
        set_due(pulse, beat, at_once ? 0 : after(beat, true));
    }
    pthread_mutex_unlock(&pulse->mutex);
}

const struct attempt_host pulse_host = {.beat = note};

/* Details that nobody told yet, heap; or the newest there are, that a heartbeat may not take away.
 */
static char *take_details(struct dur_activity *attempt, uint64_t *ret_seq, bool *ret_news)
{
    char *details = NULL;
    *ret_news = attempt_take_details(attempt, &details, ret_seq);
    if (!*ret_news) {
        pthread_mutex_lock(&attempt->mutex);
        details = mem_strdup(attempt->details ? attempt->details : attempt->details_before);
        pthread_mutex_unlock(&attempt->mutex);
    }
    return details;
}

static int64_t told_ns(const struct beat *beat)
{
    return beat->sent_ns ? beat->sent_ns : beat->joined_ns;
}

/* It is silent: its next word is to be told at once, and after its time-out it need not go on. The
 * server counts from when a heartbeat arrives, so we wait a little longer. False when it spoke just
 * now. */
static bool fall_silent(struct beat *beat, int64_t now_ns)
{
    struct dur_activity *attempt = beat->attempt;
    int64_t heartbeat_ns = attempt->heartbeat_ns;
    atomic_store(&attempt->beat_wanted, true);
    if (atomic_load(&attempt->beat_ns) != beat->alive_ns) {
        return false;
    }
    beat->due_ns = time_later(told_ns(beat), time_later(heartbeat_ns, heartbeat_ns / 10));
    if (beat->due_ns <= now_ns) {
        beat->due_ns = NEVER;
        attempt_cancel(attempt, "timed out");
    }
    return true;
}

static void take_answer(struct beat *beat, const struct server_word *said)
{
    struct server_word *word = &beat->word;
    word->is_paused = word->is_paused || said->is_paused;
    word->is_reset = word->is_reset || said->is_reset;
    word->cancel_requested = word->cancel_requested || said->cancel_requested;
    if (said->cancel_requested) {
        attempt_cancel(beat->attempt, "cancelled");
    } else if (said->is_paused || said->is_reset) {
        attempt_cancel(beat->attempt, "stopping");
    }
}

/* Nobody awaits it: because its run is over, unless it looks as if it had been given up. */
static void take_gone(struct beat *beat, int64_t now_ns)
{
    int64_t heartbeat_ns = beat->attempt->heartbeat_ns;
    bool is_late =
        beat->deadline_ns <= now_ns || (heartbeat_ns > 0 && now_ns - told_ns(beat) >= heartbeat_ns);
    beat->word.is_gone = true;
    beat->due_ns = NEVER;
    attempt_cancel(beat->attempt, is_late ? "timed out" : "closed");
}

static void settle(struct beat *beat, enum pulse_result result, const struct server_word *said,
                   int64_t began_ns)
{
    int64_t now_ns = clock_mono_ns();
    switch (result) {
    case PULSE_TAKEN:
        beat->misses = 0;
        beat->sent_ns = began_ns;
        beat->due_ns = after(beat, beat->again);
        if (beat->again_now) {
            beat->due_ns = 0;
        }
        take_answer(beat, said);
        break;
    case PULSE_GONE:
        take_gone(beat, now_ns);
        break;
    case PULSE_LATER:
        beat->misses++;
        beat->due_ns =
            time_later(now_ns, pulse_retry_ns(beat->attempt->heartbeat_ns, beat->misses));
        break;
    }
}

/* Something may be due. The mutex is released while a call is made. */
static void look(struct pulse *pulse, struct beat *beat, int64_t now_ns)
{
    struct dur_activity *attempt = beat->attempt;
    struct server_word said = {0};
    uint64_t seq = 0;
    bool is_news;
    if (beat->deadline_ns <= now_ns) {
        beat->deadline_ns = NEVER;
        attempt_cancel(attempt, "timed out");
    }
    if (beat->due_ns > now_ns) {
        return;
    }
    atomic_store(&attempt->flush_armed, false);
    int64_t alive_ns = atomic_load(&attempt->beat_ns);
    char *details = take_details(attempt, &seq, &is_news);
    if (!is_news && attempt->heartbeat_ns > 0 && alive_ns == beat->alive_ns &&
        fall_silent(beat, now_ns)) {
        free(details);
        return;
    }
    atomic_store(&attempt->beat_wanted, false);
    beat->is_sending = true;
    beat->again = beat->again_now = false;
    pthread_mutex_unlock(&pulse->mutex);
    enum pulse_result result = pulse->spec.send(pulse->spec.user, beat, details,
                                                pulse_timeout_ms(attempt->heartbeat_ns), &said);
    if (result == PULSE_TAKEN && is_news) {
        attempt_details_committed(attempt, seq);
    }
    free(details);
    pthread_mutex_lock(&pulse->mutex);
    if (result == PULSE_TAKEN) {
        beat->alive_ns = alive_ns;
    }
    settle(beat, result, &said, now_ns);
    beat->is_sending = false;
    pthread_cond_broadcast(&pulse->sent);
    pthread_cond_signal(&pulse->due); /* whoever watches did not count it */
}

/* --- senders ------------------------------------------------------------------------------------
 */

static struct beat *next_beat(const struct pulse *pulse)
{
    struct beat *next = NULL;
    for (struct beat *b = pulse->first; b; b = b->next) {
        if (!b->is_sending && (!next || look_ns(b) < look_ns(next))) {
            next = b;
        }
    }
    return next;
}

static void *sender_main(void *arg);

/* Someone else watches while this thread sends. */
static void hand_over(struct pulse *pulse)
{
    if (pulse->waiting > 0) {
        pthread_cond_signal(&pulse->idle);
    } else if (pulse->threads < PULSE_THREADS &&
               crew_thread(&pulse->ids[pulse->threads], "pulse", sender_main, pulse) == 0) {
        pulse->threads++;
    }
}

static void wait_until(struct pulse *pulse, int64_t at_ns)
{
    if (at_ns == NEVER) {
        pthread_cond_wait(&pulse->due, &pulse->mutex);
        return;
    }
    struct timespec until = {.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
    pthread_cond_timedwait(&pulse->due, &pulse->mutex, &until);
}

static void *sender_main(void *arg)
{
    struct pulse *pulse = arg;
    pthread_mutex_lock(&pulse->mutex);
    while (!pulse->stopping) {
        if (pulse->watched) {
            pulse->waiting++;
            pthread_cond_wait(&pulse->idle, &pulse->mutex);
            pulse->waiting--;
            continue;
        }
        struct beat *beat = next_beat(pulse);
        int64_t now_ns = clock_mono_ns();
        if (!beat || look_ns(beat) > now_ns) {
            pulse->watched = true;
            wait_until(pulse, beat ? look_ns(beat) : NEVER);
            pulse->watched = false;
            continue;
        }
        hand_over(pulse);
        look(pulse, beat, now_ns);
    }
    pthread_mutex_unlock(&pulse->mutex);
    return NULL;
}

/* --- life ---------------------------------------------------------------------------------------
 */

struct pulse *pulse_new(const struct pulse_spec *spec)
{
    struct pulse *pulse = mem_alloc(sizeof(*pulse));
    pthread_condattr_t attr;
    pulse->spec = *spec;
    pthread_mutex_init(&pulse->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pulse->due, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&pulse->idle, NULL);
    pthread_cond_init(&pulse->sent, NULL);
    return pulse;
}

void pulse_join(struct pulse *pulse, struct beat *beat)
{
    struct dur_activity *attempt = beat->attempt;
    int64_t now_ns = clock_mono_ns();
    pthread_mutex_lock(&pulse->mutex);
    beat->pulse = pulse;
    beat->joined_ns = now_ns;
    beat->deadline_ns = attempt->deadline_ns ? attempt->deadline_ns : NEVER;
    beat->alive_ns = atomic_load(&attempt->beat_ns);
    beat->due_ns = time_later(now_ns, pulse_interval_ns(attempt->heartbeat_ns, false));
    atomic_store(&attempt->beat_wanted, attempt->heartbeat_ns > 0); /* the first at once */
    beat->next = pulse->first;
    beat->link = &pulse->first;
    if (beat->next) {
        beat->next->link = &beat->next;
    }
    pulse->first = beat;
    if (pulse->threads == 0) {
        hand_over(pulse);
    } else {
        pthread_cond_signal(&pulse->due);
    }
    pthread_mutex_unlock(&pulse->mutex);
}

void pulse_leave(struct pulse *pulse, struct beat *beat)
{
    pthread_mutex_lock(&pulse->mutex);
    if (beat->is_sending) {
        pulse->spec.give_up(pulse->spec.user, beat);
    }
    while (beat->is_sending) {
        pthread_cond_wait(&pulse->sent, &pulse->mutex);
    }
    *beat->link = beat->next;
    if (beat->next) {
        beat->next->link = beat->link;
    }
    pthread_mutex_unlock(&pulse->mutex);
}

void pulse_end(struct pulse *pulse)
{
    if (!pulse) {
        return;
    }
    pthread_mutex_lock(&pulse->mutex);
    pulse->stopping = true;
    pthread_cond_broadcast(&pulse->due);
    pthread_cond_broadcast(&pulse->idle);
    pthread_mutex_unlock(&pulse->mutex);
    for (int i = 0; i < pulse->threads; i++) {
        pthread_join(pulse->ids[i], NULL);
    }
    pthread_mutex_destroy(&pulse->mutex);
    pthread_cond_destroy(&pulse->due);
    pthread_cond_destroy(&pulse->idle);
    pthread_cond_destroy(&pulse->sent);
    free(pulse);
}
