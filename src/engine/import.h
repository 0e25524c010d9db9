/*
 * import.h - what the two files behind dur_import share.
 *
 * Owns: struct import. import.c decides whether a history may come in; import_rows.c finds what it
 * leaves open and writes the rows that stand for it. Must not: be included outside engine/.
 */
#ifndef ENGINE_IMPORT_H
#define ENGINE_IMPORT_H

#include "engine/engine.h"
#include "history/event.h"

/* What an event with that id began. */
struct import_thing {
    bool is_open;         /* begun, and not brought to an end */
    bool is_begun;        /* of an activity: somebody works on it */
    int64_t cancel_id;    /* of an activity: the request to cancel it */
    int64_t started_id;   /* of a child */
    const char *run_id;   /* of a child */
    int64_t child;        /* of a child: the run in this store that goes on for it */
    bool child_is_closed; /* which has ended */
};

struct import {
    dur_engine *engine;
    struct arena *arena;
    struct history history;
    struct execution_row row;
    struct import_thing *things; /* by event id */
    int64_t now_ns;
    struct execution_row state; /* memo, search attributes and pause, as its events leave them */
};

/* Take in what the event says of the run's state. Each of the history's, in order. */
void import_survey(struct import *im, const struct event *event);
/* DUR_OK, or DUR_INVALID when something is open that nobody here could bring to an end. */
int import_check_open(struct import *im, struct db *db);
/* Activities, timers, children. */
void import_write_open(struct import *im, struct txn *txn, int64_t execution);
/* Updates and requests to signal, so that their callers get the same answers again. */
void import_write_requests(struct import *im, struct txn *txn, int64_t execution);

#endif
