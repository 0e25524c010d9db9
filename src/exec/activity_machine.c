/*
 * activity_machine.c - the life of one activity as workflow code and history see it.
 *
 *   NEW --scheduled--> SCHEDULED --started--> STARTED --> COMPLETED | FAILED | TIMED_OUT | CANCELED
 *    |                     |
 *    `-cancel-> DROPPED    `--> TIMED_OUT | CANCELED        (closed while no attempt ran)
 *
 * Owns: the table and the invariant. A cancel request is a flag, not a state: it may come in
 * SCHEDULED or STARTED, and the started event is written only when the activity closes.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct activity *a = object;

    switch ((enum activity_state)a->state) {
    case ACTIVITY_NEW:
    case ACTIVITY_DROPPED:
        return a->scheduled_id == 0 && a->started_id == 0 && !a->cancel_requested;
    case ACTIVITY_SCHEDULED:
        return a->scheduled_id > 0 && a->started_id == 0;
    case ACTIVITY_STARTED:
    case ACTIVITY_COMPLETED:
    case ACTIVITY_FAILED:
        return a->scheduled_id > 0 && a->started_id > a->scheduled_id;
    case ACTIVITY_TIMED_OUT:
        return a->scheduled_id > 0;
    case ACTIVITY_CANCELED:
        return a->scheduled_id > 0 && a->cancel_requested;
    }
    return false;
}

const struct machine_def activity_machine = {
    .name = "activity",
    .states = ACTIVITY_DROPPED + 1,
    .state_names = {"NEW", "SCHEDULED", "STARTED", "COMPLETED", "FAILED", "TIMED_OUT", "CANCELED",
                    "DROPPED"},
    .edges = {[ACTIVITY_NEW] = MACHINE_TO(ACTIVITY_SCHEDULED) | MACHINE_TO(ACTIVITY_DROPPED),
              [ACTIVITY_SCHEDULED] = MACHINE_TO(ACTIVITY_STARTED) | MACHINE_TO(ACTIVITY_TIMED_OUT) |
                                     MACHINE_TO(ACTIVITY_CANCELED),
              [ACTIVITY_STARTED] = MACHINE_TO(ACTIVITY_COMPLETED) | MACHINE_TO(ACTIVITY_FAILED) |
                                   MACHINE_TO(ACTIVITY_TIMED_OUT) | MACHINE_TO(ACTIVITY_CANCELED)},
    .invariant = holds,
};
