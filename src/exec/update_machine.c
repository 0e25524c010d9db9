/*
 * update_machine.c - the life of one update inside the run.
 *
 *   ARRIVED --validator agrees, or replay--> ACCEPTED --handler returned--> COMPLETED
 *      `----validator refuses, or no handler--> REJECTED     (no trace in history)
 *
 * Owns: the table and the invariant. An update is accepted at most once, and completed only after.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/handler.h"

static bool holds(const void *object)
{
    const struct update *u = object;

    switch ((enum update_state)u->state) {
    case UPDATE_ARRIVED:
        return u->accepted_id == 0;
    case UPDATE_REJECTED:
        return u->accepted_id == 0 && !u->recorded;
    case UPDATE_ACCEPTED:
    case UPDATE_COMPLETED:
        return u->handler != NULL;
    }
    return false;
}

const struct machine_def update_machine = {
    .name = "update",
    .states = UPDATE_REJECTED + 1,
    .state_names = {"ARRIVED", "ACCEPTED", "COMPLETED", "REJECTED"},
    .edges = {[UPDATE_ARRIVED] = MACHINE_TO(UPDATE_ACCEPTED) | MACHINE_TO(UPDATE_REJECTED),
              [UPDATE_ACCEPTED] = MACHINE_TO(UPDATE_COMPLETED)},
    .invariant = holds,
};
