/*
 * handler.h - what outsiders may ask of a run: queries, signals and updates with handlers; private
 * to exec/.
 *
 * Owns: struct handler (a name and its callback) and struct update (one update's life).
 * Must not: be included outside exec/ and its tests.
 *
 * A callback's arg often points into the frame of the function that registered it. Where it lies on
 * the stack of a coroutine, the handler ends with that coroutine: it is never called with a frame
 * that is gone.
 */
#ifndef EXEC_HANDLER_H
#define EXEC_HANDLER_H

#include "exec/state.h"

enum handler_kind { HANDLER_QUERY = 1, HANDLER_SIGNAL, HANDLER_UPDATE };

/* Never changes once made: registering a name again makes another one. */
struct handler {
    uint8_t kind; /* enum handler_kind */
    const char *name;
    dur_query_fn query; /* one of the three; all NULL: taken back */
    dur_signal_fn signal;
    dur_update_fn update;
    dur_validator_fn validator; /* of an update, or NULL */
    void *arg;
    const struct coroutine *frame_of; /* arg lies on its stack; NULL: elsewhere */
    struct handler *next;
};

/* One update between its arrival and its end. */
struct update {
    uint8_t state; /* enum update_state */
    bool recorded; /* in replay: history says that it was accepted */
    bool admitted; /* an event UPDATE_ADMITTED holds the request: the acceptance does not */
    bool started;  /* it has a coroutine */
    const char *id;
    const char *name;
    const char *input;              /* JSON text of the first argument */
    struct update_request *request; /* for the acceptance; NULL in replay */
    int64_t sequencing_id;
    int64_t accepted_id; /* 0 until bound */
    const struct handler *handler;
    struct event *completion; /* made when the handler returned; NULL in replay */
    struct update *next;
};

bool handler_is_there(const struct handler *handler); /* not taken back, and its frame lives */
/* NULL when there is none that is there. */
struct handler *handler_find(struct run *run, enum handler_kind kind, const char *name);
/* Names of a kind's handlers, "a, b" in order of registration; "none". In arena. */
const char *handler_names(struct run *run, struct arena *arena, enum handler_kind kind);
/* The signal that this coroutine handles, or NULL. */
const struct signal *handler_signal_of(const struct coroutine *co);
/* Runs fn(ctx, arg) as a coroutine of the run's root scope that serves `handler`. NULL: faulted. */
struct coroutine *handler_start(struct run *run, const struct handler *handler, dur_coroutine_fn fn,
                                void *arg);
void signal_put_back(struct run *run, const char *name,
                     struct signal *signal); /* signal.c: first */
/* Begin handling what is buffered in ch, as far as there is room. */
void signals_pump(struct run *run, struct channel *ch);

/* Between these two the callback may read, and nothing else: memory comes from `memory`, numbers
 * from a stream of their own, every durable call is refused and noted in run->trespass. */
void aside_begin(struct run *run, struct arena *memory);
void aside_end(struct run *run);

event_applier update_apply_admitted;
/* The updates of this task get their coroutines: those that history accepted (in replay), else
 * those admitted in history and those that the host gave. 0 or <0 "BadHistory". */
int updates_deliver(struct run *run, int64_t sequencing_id, struct err *err);
/* A handler of this name was registered: those that wait for it begin. */
void updates_pump(struct run *run, const struct handler *handler);
/* The task's code has run: what found no handler is rejected. */
void updates_end_task(struct run *run);
int updates_running(const struct run *run); /* accepted and not completed */

#endif
