/*
 * cancel_machine.c - the run's cancel request.
 *
 *   NONE --request--> REQUESTED --request--> REQUESTED     (repeats change nothing)
 *
 * Owns: the table and the invariant.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct cancel *c = object;

    return (c->state == CANCEL_REQUESTED) == (c->reason != NULL);
}

const struct machine_def cancel_machine = {
    .name = "cancel",
    .states = CANCEL_REQUESTED + 1,
    .state_names = {"NONE", "REQUESTED"},
    .edges = {[CANCEL_NONE] = MACHINE_TO(CANCEL_REQUESTED),
              [CANCEL_REQUESTED] = MACHINE_TO(CANCEL_REQUESTED)},
    .invariant = holds,
};
