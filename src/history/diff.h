/*
 * diff.h - comparison of two histories, with as much ignored as the question asks.
 *
 * Owns: equality of events field by field, and the wording of the first difference.
 * Members of maps, of unknown and of raw JSON have no order.
 * Must not: reorder events; histories differ when their order differs.
 */
#ifndef HISTORY_DIFF_H
#define HISTORY_DIFF_H

#include "base/str.h"
#include "history/event.h"

enum diff_ignore {
    DIFF_EXACT = 0,
    DIFF_TIMES = 1 << 0,      /* event times, timestamps, history sizes */
    DIFF_IDENTITIES = 1 << 1, /* identity, request id, task id, version, worker and SDK versions */
    DIFF_RUN_IDS = 1 << 2,    /* run ids of every kind */
    DIFF_UNKNOWN = 1 << 3,    /* members that this program does not know, and raw ones */
    DIFF_TIMEOUTS = 1 << 4,   /* durations and retry policies */
    DIFF_PAYLOADS = 1 << 5,   /* contents of payloads; their presence still counts */
    DIFF_BACKREFS = 1 << 6,   /* workflow_task_completed_event_id (see validate.h H14) */
    DIFF_STACKS = 1 << 7,     /* failures' source and stack trace */
    DIFF_DIGITS = 1 << 8,     /* zeros that end a fraction; the binary form has none */
    DIFF_IDS = 1 << 9,        /* event ids, and fields that refer to events */
    DIFF_NORMAL = DIFF_TIMES | DIFF_IDENTITIES | DIFF_RUN_IDS | DIFF_UNKNOWN | DIFF_STACKS,
};

/* True when equal. Else *out (unless NULL) gets one line:
 * "event 7 ActivityTaskScheduled: activityType is greet, expected wave". */
bool history_equal(const struct history *expected, const struct history *actual, unsigned ignore,
                   struct str *out);
bool event_equal(const struct event *expected, const struct event *actual, unsigned ignore,
                 struct str *out);
bool failure_equal(const struct failure *expected, const struct failure *actual, unsigned ignore,
                   struct str *out);

#endif
