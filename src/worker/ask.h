/*
 * ask.h - the answer to a query, from a run's recorded history.
 *
 * Owns: replaying a history into a run of its own that is thrown away after the answer. So it works
 * for open and closed runs, cached or not, in the engine that serves and in any process that has
 * registered the workflow. Reads one state of the store, writes nothing.
 */
#ifndef WORKER_ASK_H
#define WORKER_ASK_H

#include "exec/fiber.h"
#include "exec/run.h"
#include "journal/execution.h"
#include "journal/question.h"
#include "activity/registry.h"

/* Fills ret's answer, or failure_type and failure; and stale. The texts are in arena. 0; 1: no
 * workflow of this type is registered; <0: the store could not be read. */
int ask_history(const struct registry *registry, struct fiber_pool *pool, struct db *db,
                const struct execution_row *row, const char *name, const char *input,
                struct arena *arena, struct question_row *ret, struct err *err);
/* The same from a run in memory. */
void ask_run(struct run *run, const char *name, const char *input, struct arena *arena,
             struct question_row *ret);

#endif
