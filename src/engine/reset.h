/*
 * reset.h - what the two files of dur_reset share: one reset on its way.
 *
 * Owns: struct reset. reset.c decides the point and composes the new run's history; reset_rows.c
 * writes it, with the rows that stand for what is open in it. Must not: be used elsewhere.
 */
#ifndef ENGINE_RESET_H
#define ENGINE_RESET_H

#include "engine/append.h"

struct reset {
    struct append a; /* its row: the run that is terminated, if one is open (id 0: none) */
    dur_reset_options o;
    struct execution_row base;
    struct history old;   /* of base, whole */
    int64_t point;        /* the event in whose place the reset is recorded */
    struct history fresh; /* of the new run */
    struct execution_row row;
};

/* The new run in the reset's transaction: row, events, what is open, what was asked of it. Errors
 * stick to the transaction. */
void reset_write(struct reset *r);

#endif
