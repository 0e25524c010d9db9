/*
 * signal_machine.c - the life of one signal inside the run.
 *
 *   ARRIVED --delivered--> BUFFERED --dur_receive--> RECEIVED
 *
 * Owns: the table and the invariant. A signal is never lost: it stays BUFFERED under its name until
 * code asks for it, also when no code ever does.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct signal *s = object;

    return s->state != SIGNAL_RECEIVED || s->next == NULL;
}

const struct machine_def signal_machine = {
    .name = "signal",
    .states = SIGNAL_RECEIVED + 1,
    .state_names = {"ARRIVED", "BUFFERED", "RECEIVED"},
    .edges = {[SIGNAL_ARRIVED] = MACHINE_TO(SIGNAL_BUFFERED),
              [SIGNAL_BUFFERED] = MACHINE_TO(SIGNAL_RECEIVED)},
    .invariant = holds,
};
