/*
 * timer_machine.c - the life of one timer.
 *
 *   NEW --started--> STARTED --> FIRED
 *    |                  `------> CANCELED    (by a command; its event is in the command area)
 *    `-cancel-> DROPPED
 *
 * Owns: the table and the invariant.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct timer *t = object;

    switch ((enum timer_state)t->state) {
    case TIMER_NEW:
    case TIMER_DROPPED:
        return t->started_id == 0;
    case TIMER_STARTED:
    case TIMER_FIRED:
    case TIMER_CANCELED:
        return t->started_id > 0 && t->ms > 0;
    }
    return false;
}

const struct machine_def timer_machine = {
    .name = "timer",
    .states = TIMER_DROPPED + 1,
    .state_names = {"NEW", "STARTED", "FIRED", "CANCELED", "DROPPED"},
    .edges = {[TIMER_NEW] = MACHINE_TO(TIMER_STARTED) | MACHINE_TO(TIMER_DROPPED),
              [TIMER_STARTED] = MACHINE_TO(TIMER_FIRED) | MACHINE_TO(TIMER_CANCELED)},
    .invariant = holds,
};
