/*
 * machine.h - state machines as tables.
 *
 * Owns: struct machine_def (names, allowed moves, invariant) and the one function that moves. Each
 * machine is a file NAME_machine.c that holds its table, its invariant and a diagram; its states
 * are enums in state.h. Rule: a move that the table does not allow changes nothing and returns
 * false: histories come from outside, so the caller reports it. Broken invariants are our own bugs
 * and assert.
 */
#ifndef EXEC_MACHINE_H
#define EXEC_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

#define MACHINE_MAX_STATES 16

struct machine_def {
    const char *name;
    int states; /* number of states; 0 is where every object begins */
    const char *state_names[MACHINE_MAX_STATES];
    uint32_t edges[MACHINE_MAX_STATES];    /* bit t of edges[s]: s may move to t */
    bool (*invariant)(const void *object); /* holds after every move; NULL: none */
};

#define MACHINE_TO(state) (1U << (state))

/* Move *state to `to` and check the invariant of object. false: not allowed, nothing changed. */
must_check bool machine_move(const struct machine_def *def, uint8_t *state, int to,
                             const void *object);

/* Every machine of this room, NULL-terminated: for tests that walk the tables. */
extern const struct machine_def *const machine_all[];

/* Called for every move that was made; for tests that count edges. NULL (the default): nobody. */
extern void (*machine_on_move)(const struct machine_def *def, int from, int to);

#endif
