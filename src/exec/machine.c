/*
 * machine.c - the one function that moves a state machine, and the list of all machines.
 *
 * Owns: the check of a move against its table. Must not: know what a machine means.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/machine.h"

#include <assert.h>
#include <stddef.h>

#include "exec/state.h"

void (*machine_on_move)(const struct machine_def *def, int from, int to);

const struct machine_def *const machine_all[] = {
    &activity_machine,
    &timer_machine,
    &signal_machine,
    &cancel_machine,
    &marker_machine,
    &workflow_task_machine,
    &run_machine,
    &child_machine,
    &external_machine,
    &update_machine,
    NULL,
};

bool machine_move(const struct machine_def *def, uint8_t *state, int to, const void *object)
{
    int from = *state;

    assert(from < def->states && to < def->states);
    if (!(def->edges[from] & MACHINE_TO(to))) {
        return false;
    }
    *state = (uint8_t)to;
    assert(!def->invariant || def->invariant(object));
    if (machine_on_move) {
        machine_on_move(def, from, to);
    }
    return true;
}
