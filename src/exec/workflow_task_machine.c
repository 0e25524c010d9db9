/*
 * workflow_task_machine.c - the run's one workflow task.
 *
 *   NONE --scheduled--> SCHEDULED --started--> STARTED --completed, failed, timed out--> NONE
 *                           `--timed out (schedule to start)--> NONE
 *
 * Owns: the table and the invariant. Between STARTED and its outcome no other event may lie.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct workflow_task *t = object;

    switch ((enum workflow_task_state)t->state) {
    case TASK_NONE:
        return true;
    case TASK_SCHEDULED:
        return t->scheduled_id > 0;
    case TASK_STARTED:
        return t->started_id > t->scheduled_id;
    }
    return false;
}

const struct machine_def workflow_task_machine = {
    .name = "workflow task",
    .states = TASK_STARTED + 1,
    .state_names = {"NONE", "SCHEDULED", "STARTED"},
    .edges = {[TASK_NONE] = MACHINE_TO(TASK_SCHEDULED),
              [TASK_SCHEDULED] = MACHINE_TO(TASK_STARTED) | MACHINE_TO(TASK_NONE),
              [TASK_STARTED] = MACHINE_TO(TASK_NONE)},
    .invariant = holds,
};
