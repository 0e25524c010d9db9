/*
 * external_machine.c - the life of one request to another run: a signal, or to cancel.
 *
 *   NEW --initiated--> INITIATED --> DELIVERED
 *    |                     `-------> FAILED      (no such run)
 *    `-cancel-> DROPPED
 *
 * Owns: the table and the invariant.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct external *e = object;

    switch ((enum external_state)e->state) {
    case EXTERNAL_NEW:
    case EXTERNAL_DROPPED:
        return e->initiated_id == 0;
    case EXTERNAL_INITIATED:
    case EXTERNAL_DELIVERED:
    case EXTERNAL_FAILED:
        return e->initiated_id > 0;
    }
    return false;
}

const struct machine_def external_machine = {
    .name = "external request",
    .states = EXTERNAL_DROPPED + 1,
    .state_names = {"NEW", "INITIATED", "DELIVERED", "FAILED", "DROPPED"},
    .edges = {[EXTERNAL_NEW] = MACHINE_TO(EXTERNAL_INITIATED) | MACHINE_TO(EXTERNAL_DROPPED),
              [EXTERNAL_INITIATED] = MACHINE_TO(EXTERNAL_DELIVERED) | MACHINE_TO(EXTERNAL_FAILED)},
    .invariant = holds,
};
