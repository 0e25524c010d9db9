/*
 * coroutine.c - dur_go.
 *
 * Owns: the limit of coroutines alive. A coroutine inherits the scope of the context that started
 * it, begins to run when its maker blocks, and its future joins it.
 * Tests: tests/unit/test_exec_run.c
 */
#include "exec/state.h"

dur_future *dur_go_at(dur_ctx *ctx, dur_coroutine_fn fn, void *arg, const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK || !fn) {
        return future_dead(run, code != DUR_OK ? code : DUR_INVALID);
    }
    struct coroutine *co =
        run->fibers < RUN_MAX_FIBERS ? coroutine_new(run, ctx->scope, fn, arg) : NULL;
    if (!co) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                   "no room for one more coroutine (%d are alive, the limit is %d, and each needs "
                   "two of vm.max_map_count)",
                   run->fibers, RUN_MAX_FIBERS);
        return future_dead(run, call_park(run));
    }
    return &co->future;
}
