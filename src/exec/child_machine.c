/*
 * child_machine.c - the life of one child workflow as its parent sees it.
 *
 *   NEW --initiated--> INITIATED --started--> STARTED --> COMPLETED | FAILED | CANCELED |
 *    |                     |                              TIMED_OUT | TERMINATED
 *    `-cancel-> DROPPED    `--> START_FAILED    (its id was taken)
 *
 * Owns: the table and the invariant. A cancel request is a flag, not a state: a child that was
 * asked to stop may end in any way, also well; one that was given up by its parent's code still
 * passes through all of it.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct child *c = object;

    switch ((enum child_state)c->state) {
    case CHILD_NEW:
    case CHILD_DROPPED:
        return c->initiated_id == 0 && c->started_id == 0 && !c->cancel_requested;
    case CHILD_INITIATED:
    case CHILD_START_FAILED:
        return c->initiated_id > 0 && c->started_id == 0 && !c->run_id;
    case CHILD_STARTED:
    case CHILD_COMPLETED:
    case CHILD_FAILED:
    case CHILD_CANCELED:
    case CHILD_TIMED_OUT:
    case CHILD_TERMINATED:
        return c->initiated_id > 0 && c->started_id > c->initiated_id && c->run_id;
    }
    return false;
}

const struct machine_def child_machine = {
    .name = "child",
    .states = CHILD_DROPPED + 1,
    .state_names = {"NEW", "INITIATED", "STARTED", "COMPLETED", "FAILED", "CANCELED", "TIMED_OUT",
                    "TERMINATED", "START_FAILED", "DROPPED"},
    .edges = {[CHILD_NEW] = MACHINE_TO(CHILD_INITIATED) | MACHINE_TO(CHILD_DROPPED),
              [CHILD_INITIATED] = MACHINE_TO(CHILD_STARTED) | MACHINE_TO(CHILD_START_FAILED),
              [CHILD_STARTED] = MACHINE_TO(CHILD_COMPLETED) | MACHINE_TO(CHILD_FAILED) |
                                MACHINE_TO(CHILD_CANCELED) | MACHINE_TO(CHILD_TIMED_OUT) |
                                MACHINE_TO(CHILD_TERMINATED)},
    .invariant = holds,
};
