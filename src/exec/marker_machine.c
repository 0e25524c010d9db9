/*
 * marker_machine.c - a value that the run records for itself: side effect, code version.
 *
 *   NEW --recorded--> RECORDED
 *
 * Owns: the table and the invariant.
 * Tests: tests/unit/test_exec_machine.c
 */
#include "exec/state.h"

static bool holds(const void *object)
{
    const struct marker *m = object;

    return m->name != NULL && m->key != NULL;
}

const struct machine_def marker_machine = {
    .name = "marker",
    .states = MARKER_RECORDED + 1,
    .state_names = {"NEW", "RECORDED"},
    .edges = {[MARKER_NEW] = MACHINE_TO(MARKER_RECORDED)},
    .invariant = holds,
};

void marker_bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)run;
    (void)event_id;
    must_move(&marker_machine, &c->marker->state, MARKER_RECORDED, c->marker);
}
