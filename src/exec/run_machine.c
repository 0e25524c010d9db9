/*
 * run_machine.c - the run itself.
 *
 *   NEW --started--> RUNNING --> COMPLETED | FAILED | CANCELED | CONTINUED  (by its code)
 *                        `-----> TERMINATED | TIMED_OUT                     (only seen in replay)
 *
 * Owns: the table. The numbers of the closed states are those of run.h's enum run_status.
 * Tests: tests/unit/test_exec_machine.c
 */
#include <assert.h>

#include "exec/state.h"

static_assert((int)RUN_STATE_RUNNING == (int)RUN_RUNNING, "numbers are shared");
static_assert((int)RUN_STATE_CANCELED == (int)RUN_CANCELED, "numbers are shared");
static_assert((int)RUN_STATE_TIMED_OUT == (int)RUN_TIMED_OUT, "numbers are shared");

const struct machine_def run_machine = {
    .name = "run",
    .states = RUN_STATE_TIMED_OUT + 1,
    .state_names = {"NEW", "RUNNING", "COMPLETED", "FAILED", "CANCELED", "TERMINATED", "CONTINUED",
                    "TIMED_OUT"},
    .edges = {[RUN_STATE_NEW] = MACHINE_TO(RUN_STATE_RUNNING),
              [RUN_STATE_RUNNING] =
                  MACHINE_TO(RUN_STATE_COMPLETED) | MACHINE_TO(RUN_STATE_FAILED) |
                  MACHINE_TO(RUN_STATE_CANCELED) | MACHINE_TO(RUN_STATE_TERMINATED) |
                  MACHINE_TO(RUN_STATE_CONTINUED) | MACHINE_TO(RUN_STATE_TIMED_OUT)},
};
