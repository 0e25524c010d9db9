/*
 * test_temporal_pulse.c - heartbeats towards a server that the test plays: when they go out, with
 * what, and what their answers mean to the attempt.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "temporal/pulse.h"

#define TEST(name) Test(temporal_pulse, name, .timeout = 60)

/* The server. */
static struct {
    pthread_mutex_t mutex;
    enum pulse_result result;
    struct server_word word;
    char details[64]; /* of the last heartbeat that was taken; "-": none */
    atomic_int tries;
    atomic_int taken;
    atomic_bool hangs;
    atomic_int given_up;
} server = {.mutex = PTHREAD_MUTEX_INITIALIZER, .result = PULSE_TAKEN};

static enum pulse_result send_beat(void *user, struct beat *beat, const char *details,
                                   int64_t timeout_ms, struct server_word *ret)
{
    (void)user;
    (void)beat;
    cr_assert_gt(timeout_ms, 0);
    atomic_fetch_add(&server.tries, 1);
    while (atomic_load(&server.hangs)) {
        if (atomic_load(&server.given_up)) {
            return PULSE_LATER;
        }
        clock_sleep_ms(1);
    }
    pthread_mutex_lock(&server.mutex);
    enum pulse_result result = server.result;
    if (result == PULSE_TAKEN) {
        *ret = server.word;
        snprintf(server.details, sizeof(server.details), "%s", details ? details : "-");
        atomic_fetch_add(&server.taken, 1);
    }
    pthread_mutex_unlock(&server.mutex);
    return result;
}

static void give_up(void *user, struct beat *beat)
{
    (void)user;
    (void)beat;
    atomic_fetch_add(&server.given_up, 1);
}

static void server_says(enum pulse_result result, struct server_word word)
{
    pthread_mutex_lock(&server.mutex);
    server.result = result;
    server.word = word;
    pthread_mutex_unlock(&server.mutex);
}

static const char *details_there(void)
{
    static char text[64];
    pthread_mutex_lock(&server.mutex);
    memcpy(text, server.details, sizeof(text));
    pthread_mutex_unlock(&server.mutex);
    return text;
}

static struct pulse *pulse;

static void join(struct beat *beat, int64_t heartbeat_ms, int64_t deadline_ms)
{
    struct dur_activity *attempt = attempt_new(arena_new(), &pulse_host, NULL);
    attempt->heartbeat_ns = heartbeat_ms * NS_PER_MS;
    attempt->deadline_ns = deadline_ms ? clock_mono_ns() + deadline_ms * NS_PER_MS : 0;
    attempt->details_before = "\"before\"";
    attempt->host_data = beat;
    *beat = (struct beat){.attempt = attempt};
    if (!pulse) {
        pulse = pulse_new(&(struct pulse_spec){.send = send_beat, .give_up = give_up});
    }
    pulse_join(pulse, beat);
}

static void leave(struct beat *beat)
{
    pulse_leave(pulse, beat);
    attempt_free(beat->attempt);
}

static void end(void)
{
    pulse_end(pulse);
    pulse = NULL;
}

/* Until so many heartbeats have been taken. */
static void until(int taken)
{
    while (atomic_load(&server.taken) < taken) {
        clock_sleep_ms(1);
    }
}

static const char *until_told(struct beat *beat)
{
    const char *reason = NULL;
    while (!dur_activity_cancelled(beat->attempt, &reason)) {
        clock_sleep_ms(1);
    }
    return reason;
}

TEST(intervals)
{
    cr_expect_eq(pulse_interval_ns(0, true), NS_PER_S);
    cr_expect_eq(pulse_interval_ns(0, false), 5 * NS_PER_S);
    cr_expect_eq(pulse_interval_ns(NS_PER_S, true), 800 * NS_PER_MS);
    cr_expect_eq(pulse_interval_ns(NS_PER_S, false), 800 * NS_PER_MS);
    cr_expect_eq(pulse_interval_ns(5 * NS_PER_S, true), NS_PER_S);
    cr_expect_eq(pulse_interval_ns(5 * NS_PER_S, false), 4 * NS_PER_S);
    cr_expect_eq(pulse_interval_ns(INT64_MAX, false), 5 * NS_PER_S);
    cr_expect_eq(pulse_retry_ns(0, 1), 200 * NS_PER_MS);
    cr_expect_eq(pulse_retry_ns(0, 2), 400 * NS_PER_MS);
    cr_expect_eq(pulse_retry_ns(0, 100000), 5 * NS_PER_S);
    cr_expect_eq(pulse_retry_ns(NS_PER_S, 9), 800 * NS_PER_MS);
    cr_expect_eq(pulse_timeout_ms(0), 10000);
    cr_expect_eq(pulse_timeout_ms(3 * NS_PER_S), 3000);
    cr_expect_eq(pulse_timeout_ms(NS_PER_MS), 1000);
}

TEST(the_first_goes_out_at_once_and_the_newest_later)
{
    struct beat beat;
    join(&beat, 60000, 0);
    cr_expect_eq(dur_heartbeat(beat.attempt, "1"), DUR_OK);
    until(1);
    cr_expect_str_eq(details_there(), "1");
    int64_t began_ns = clock_mono_ns();
    for (int i = 2; i <= 500; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", i);
        cr_expect_eq(dur_heartbeat(beat.attempt, text), DUR_OK);
    }
    until(2); /* and the callback is silent meanwhile */
    cr_expect_geq(clock_mono_ns() - began_ns, NS_PER_S / 2);
    cr_expect_str_eq(details_there(), "500");
    leave(&beat);
    end();
}

TEST(signs_of_life_without_details_keep_those_before)
{
    struct beat beat;
    join(&beat, 100, 0);
    cr_expect_eq(dur_heartbeat(beat.attempt, NULL), DUR_OK);
    until(1);
    cr_expect_str_eq(details_there(), "\"before\"");
    for (int64_t since = clock_mono_ns(); clock_mono_ns() - since < 500 * NS_PER_MS;) {
        dur_heartbeat(beat.attempt, NULL);
        clock_sleep_ms(1);
    }
    int taken = atomic_load(&server.taken);
    cr_expect_gt(taken, 2, "%d", taken);
    cr_expect_lt(taken, 9, "%d", taken);
    cr_expect_eq(dur_heartbeat_sync(beat.attempt, "2"), DUR_OK);
    cr_expect_str_eq(details_there(), "2");
    leave(&beat);
    end();
}

TEST(the_silent_time_out)
{
    struct beat beat, other;
    join(&beat, 200, 0);
    join(&other, 150, 0); /* says nothing at all */
    cr_expect_eq(dur_heartbeat_sync(beat.attempt, "1"), DUR_OK);
    int64_t since = clock_mono_ns();
    cr_expect_str_eq(until_told(&beat), "timed out");
    cr_expect_geq(clock_mono_ns() - since, 200 * NS_PER_MS);
    cr_expect_str_eq(until_told(&other), "timed out");
    cr_expect_eq(atomic_load(&server.tries), 1, "nobody says that it lives");
    leave(&beat);
    leave(&other);
    end();
}

TEST(a_word_after_a_silence_goes_out_at_once)
{
    struct beat beat;
    join(&beat, 8000, 0);
    cr_expect_eq(dur_heartbeat_sync(beat.attempt, "1"), DUR_OK);
    while (!atomic_load(&beat.attempt->beat_wanted)) { /* 5 s */
        clock_sleep_ms(5);
    }
    cr_expect_eq(dur_heartbeat(beat.attempt, NULL), DUR_OK);
    until(2);
    cr_expect_str_eq(details_there(), "1");
    leave(&beat);
    end();
}

TEST(sync_returns_when_the_server_has_it)
{
    struct beat beat;
    join(&beat, 0, 0);
    for (int i = 0; i < 50; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", i);
        cr_assert_eq(dur_heartbeat_sync(beat.attempt, text), DUR_OK);
        cr_assert_str_eq(details_there(), text);
    }
    leave(&beat);
    end();
}

TEST(a_server_that_is_away_is_no_cancel)
{
    struct beat beat;
    join(&beat, 0, 0);
    server_says(PULSE_LATER, (struct server_word){0});
    cr_expect_eq(dur_heartbeat(beat.attempt, "1"), DUR_OK);
    while (atomic_load(&server.tries) < 3) {
        cr_expect_eq(dur_heartbeat(beat.attempt, "2"), DUR_OK);
        clock_sleep_ms(1);
    }
    server_says(PULSE_TAKEN, (struct server_word){0});
    cr_expect_eq(dur_heartbeat_sync(beat.attempt, "3"), DUR_OK);
    cr_expect_str_eq(details_there(), "3");
    leave(&beat);
    cr_expect_not(beat.word.cancel_requested || beat.word.is_gone);
    end();
}

TEST(answers_become_reasons)
{
    static const struct {
        enum pulse_result result;
        struct server_word word;
        const char *reason;
    } cases[] = {
        {PULSE_TAKEN, {.cancel_requested = true}, "cancelled"},
        {PULSE_TAKEN, {.is_paused = true}, "stopping"},
        {PULSE_TAKEN, {.is_reset = true}, "stopping"},
        {PULSE_GONE, {0}, "closed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct beat beat;
        join(&beat, 60000, 0);
        server_says(cases[i].result, cases[i].word);
        dur_heartbeat(beat.attempt, "1");
        cr_expect_str_eq(until_told(&beat), cases[i].reason);
        cr_expect_eq(dur_heartbeat_sync(beat.attempt, "2"), DUR_CANCELLED);
        leave(&beat);
        cr_expect_eq(beat.word.cancel_requested, cases[i].word.cancel_requested);
        cr_expect_eq(beat.word.is_paused, cases[i].word.is_paused);
        cr_expect_eq(beat.word.is_reset, cases[i].word.is_reset);
        cr_expect_eq(beat.word.is_gone, cases[i].result == PULSE_GONE);
    }
    end();
}

TEST(gone_after_its_own_timeout_is_timed_out)
{
    struct beat beat;
    join(&beat, 50, 0);
    server_says(PULSE_GONE, (struct server_word){0});
    clock_sleep_ms(60);
    dur_heartbeat(beat.attempt, "1");
    cr_expect_str_eq(until_told(&beat), "timed out");
    leave(&beat);
    end();
}

TEST(the_deadline_is_kept_here_too)
{
    struct beat beat, other;
    join(&other, 60000, 0);
    join(&beat, 0, 30);
    cr_expect_str_eq(until_told(&beat), "timed out");
    cr_expect_not(dur_activity_cancelled(other.attempt, NULL));
    leave(&beat);
    leave(&other);
    cr_expect_eq(atomic_load(&server.tries), 0);
    end();
}

TEST(who_says_nothing_and_needs_not_is_asked_for)
{
    struct beat beat;
    join(&beat, 0, 0);
    server_says(PULSE_TAKEN, (struct server_word){.cancel_requested = true});
    cr_expect_str_eq(until_told(&beat), "cancelled"); /* 5 s */
    cr_expect_str_eq(details_there(), "\"before\"");
    leave(&beat);
    end();
}

TEST(a_call_that_hangs_holds_up_nobody)
{
    struct beat beats[2];
    join(&beats[0], 60000, 0);
    join(&beats[1], 60000, 0);
    atomic_store(&server.hangs, true);
    dur_heartbeat(beats[0].attempt, "1");
    while (atomic_load(&server.tries) < 1) {
        clock_sleep_ms(1);
    }
    dur_heartbeat(beats[1].attempt, "2");
    while (atomic_load(&server.tries) < 2) {
        clock_sleep_ms(1);
    }
    leave(&beats[0]); /* gives up the call */
    cr_expect_geq(atomic_load(&server.given_up), 1);
    leave(&beats[1]);
    cr_expect_eq(atomic_load(&server.taken), 0);
    end();
}

/* Many attempts, many words, some of them over in no time. */
static void *chatter(void *arg)
{
    int most = *(int *)arg;
    for (int i = 0; i < most; i++) {
        struct beat beat;
        join(&beat, i % 3 ? 50 : 0, i % 2 ? 1000 : 0);
        for (int k = 0; k < i % 7; k++) {
            char text[16];
            snprintf(text, sizeof(text), "%d", k);
            if (k % 3) {
                dur_heartbeat(beat.attempt, text);
            } else {
                dur_heartbeat_sync(beat.attempt, text);
            }
        }
        leave(&beat);
    }
    return NULL;
}

TEST(many_attempts_at_once)
{
    pthread_t ids[16];
    int most = 40;
    struct beat first;
    join(&first, 0, 0);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        cr_assert_eq(pthread_create(&ids[i], NULL, chatter, &most), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        pthread_join(ids[i], NULL);
    }
    leave(&first);
    end();
}
