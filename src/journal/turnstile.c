/*
 * turnstile.c - see turnstile.h.
 *
 * Who leaves hands the turn to the first in line, so that nobody who comes meanwhile is first. A
 * waiter whose time is over takes itself out of the line; if the turn came in that very moment, it
 * has it. Tests: tests/unit/test_journal_turnstile.c
 */
#include "journal/turnstile.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

struct waiter {
    struct waiter *next;
    pthread_cond_t called;
    bool has_turn;
};

struct turnstile {
    struct turnstile *next;
    char *path;
    int users;
    pthread_mutex_t mutex;
    bool taken;
    struct waiter *first, **last;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct turnstile *turnstiles;

/* Threads of the parent, and what they held, are not here. */
static void forget_parent(void)
{
    pthread_mutex_init(&registry, NULL);
    turnstiles = NULL;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

struct turnstile *turnstile_get(const char *path)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&registry);
    struct turnstile *t = turnstiles;
    while (t && !str_eq(t->path, path)) {
        t = t->next;
    }
    if (!t) {
        t = mem_alloc(sizeof(*t));
        t->path = mem_strdup(path);
        t->last = &t->first;
        pthread_mutex_init(&t->mutex, NULL);
        t->next = turnstiles;
        turnstiles = t;
    }
    t->users++;
    pthread_mutex_unlock(&registry);
    return t;
}

struct turnstile *turnstile_put(struct turnstile *t)
{
    if (!t) {
        return NULL;
    }
    pthread_mutex_lock(&registry);
    if (--t->users == 0) {
        struct turnstile **link = &turnstiles;
        while (*link != t) {
            link = &(*link)->next;
        }
        *link = t->next;
        pthread_mutex_destroy(&t->mutex);
        free(t->path);
        free(t);
    }
    pthread_mutex_unlock(&registry);
    return NULL;
}

/* Under the mutex. */
static void step_out(struct turnstile *t, struct waiter *self)
{
    struct waiter **link = &t->first;
    while (*link != self) {
        link = &(*link)->next;
    }
    *link = self->next;
    if (!self->next) {
        t->last = link;
    }
}

/* Under the mutex. */
static bool wait_for_turn(struct turnstile *t, int64_t timeout_ms)
{
    struct timespec until = clock_deadline(timeout_ms);
    struct waiter self = {0};
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&self.called, &attr);
    pthread_condattr_destroy(&attr);
    *t->last = &self;
    t->last = &self.next;
    int rc = 0;
    while (!self.has_turn && rc == 0) {
        rc = pthread_cond_timedwait(&self.called, &t->mutex, &until);
    }
    if (!self.has_turn) {
        step_out(t, &self);
    }
    pthread_cond_destroy(&self.called);
    return self.has_turn;
}

bool turnstile_enter(struct turnstile *t, int64_t timeout_ms)
{
    bool has_turn = true;
    pthread_mutex_lock(&t->mutex);
    if (t->taken) {
        has_turn = wait_for_turn(t, timeout_ms);
    }
    t->taken |= has_turn;
    pthread_mutex_unlock(&t->mutex);
    return has_turn;
}

void turnstile_leave(struct turnstile *t)
{
    pthread_mutex_lock(&t->mutex);
    struct waiter *next = t->first;
    if (next) { /* it stays taken */
        t->first = next->next;
        t->last = t->first ? t->last : &t->first;
        next->has_turn = true;
        pthread_cond_signal(&next->called);
    } else {
        t->taken = false;
    }
    pthread_mutex_unlock(&t->mutex);
}
