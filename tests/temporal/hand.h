/*
 * hand.h - workflow tasks done by hand, for tests of activities on a server.
 *
 * Owns: a connection, a run, and its tasks: the test says which commands a task is answered with
 * and reads the events that come of them. So activities are tested without a workflow function.
 * The server is the one at $TEMPORAL_ADDRESS; without it the test is skipped.
 */
#ifndef TESTS_HAND_H
#define TESTS_HAND_H

#include <criterion/criterion.h>

#include "base/arena.h"
#include "history/event.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/value.h"

struct hand {
    struct arena *arena;
    struct remote *remote;
    char queue[64]; /* of the run; nobody else's */
    char workflow_id[64];
    const char *run_id;
    ProtobufCBinaryData task_token; /* of the open task; empty: none */
    struct history history;         /* as of the last task */
    size_t seen;                    /* events of it that hand_closed() has told */
};

/* An activity to schedule. Times in milliseconds, 0: none. */
struct hand_activity {
    const char *type;
    const char *input; /* JSON */
    const char *queue; /* NULL: the run's */
    int64_t start_to_close_ms, schedule_to_close_ms, schedule_to_start_ms, heartbeat_ms;
    int attempts;       /* at most; 0: any number */
    int64_t initial_ms; /* of the retry policy; 0: 20 */
};

void hand_needs(const char *name); /* skips the test without a server, or if only others shall run
                                    * ($HAND_ONLY is one's name) */
struct remote *hand_connect(void);
const char *hand_log(void); /* "1 a warning\n2 information\n" */
void hand_begin(struct hand *h,
                const char *name); /* connects, starts a run, takes its first task */
void hand_end(struct hand *h);     /* terminates the run */
void hand_terminate(struct hand *h);
/* Answers the open task with these; ids "1", "2" ... over the run. */
void hand_schedule(struct hand *h, const struct hand_activity *activities, size_t count);
/* Wakes the run by a signal, and answers that task with a cancel of this activity. */
void hand_cancel(struct hand *h, const char *activity_id);
/* The next event that closed an activity (waits for tasks as need be; they are answered empty). */
const struct event *hand_closed(struct hand *h);
const char *hand_result(struct hand *h, const struct event *completed); /* JSON, "null" */
/* What the server says of the run now: its one pending activity. NULL: none. */
const Pb__PendingActivityInfo *hand_pending(struct hand *h);

#endif
