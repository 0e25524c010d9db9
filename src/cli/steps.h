/*
 * steps.h - a run's history as the eight steps that people follow.
 *
 * Owns: which activity belongs to which step, when a step began and ended, what is said about it.
 * Pure: events in, steps out. The order of the table is the order of a run (factory/workflow.c).
 */
#ifndef CLI_STEPS_H
#define CLI_STEPS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "engine/admin.h"

enum step_state { STEP_UPCOMING, STEP_CURRENT, STEP_DONE, STEP_FAILED };

struct step {
    const char *name;
    enum step_state state;
    int64_t started_ns, ended_ns; /* 0: not yet */
    const char *detail;           /* "" none */
    const char *activity;         /* last one scheduled, NULL none */
};

enum step_id {
    STEP_VALIDATE,
    STEP_SANDBOX,
    STEP_REPOSITORY,
    STEP_AGENT,
    STEP_COLLECT,
    STEP_AUDIT,
    STEP_GATES,
    STEP_CLEANUP
};
#define STEP_COUNT 8

struct steps {
    struct step step[STEP_COUNT];
    const char *commit; /* "" before validation */
    int64_t gate_count; /* -1 before validation */
    int current;        /* index, -1 when none is under way */
    bool cancel_requested;
    const char *current_gate; /* under way, or NULL */
    int64_t agent_timeout_ms; /* 0 before validation */
};

/* Details live in arena. The history may be of a run that is over or not. */
void steps_read(struct arena *arena, const struct admin_history *history, bool is_over,
                struct steps *ret);
/* One line of at most `columns`: mark, name, time, detail. now_ns: of a step under way. */
void steps_print(struct str *out, const struct step *step, int64_t now_ns, const char *detail,
                 size_t columns, bool colour);

#endif
