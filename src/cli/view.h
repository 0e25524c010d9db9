/*
 * view.h - all that is known of one run, gathered once, for status, get, describe and watching.
 *
 * Owns: struct view and its JSON. Sources: the run's description and memo, its manifest when it is
 * over, pending activities and the engine. Must not: write anything. Text lives in the caller's
 * arena.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"
#include "cli/cli.h"
#include "engine/admin.h"
#include "factory/verdict.h"

struct view {
    const char *run_id; /* the factory's */
    const char *workflow_id;
    bool is_over;
    bool has_verdict;       /* over, and the factory decided (state); else the engine closed it */
    enum run_state state;   /* STATE_RUNNING while it goes on */
    const char *state_name; /* of state; "TERMINATED" and the like when the engine closed it */
    int64_t started_ns, ended_ns; /* ended 0 while it goes on */
    int64_t events, history_bytes;
    const char *step;
    const char *agent, *model, *repository, *revision, *profile; /* "" unknown */
    const char *commit;                                          /* full id, "" before validation */
    const char *error;                                           /* NULL: none */
    const char *agent_result, *verification_result, *cleanup_result; /* NULL unknown */
    const char *parked;                                              /* mismatch report, NULL */
    const struct json *conditions; /* first condition object; follow with view_next_condition */
    const struct json *memo;
    const struct json *manifest; /* NULL before the end */
    bool is_past;    /* told by ledger and evidence alone (past.h): no history can be had */
    int exit_status; /* that run and status --watch end with */
};

/* From a description (dur_describe, dur_list). */
void view_read(struct arena *arena, const dur_description *d, struct view *ret);
/* By workflow id; 0, or an exit status after the error was printed. */
int view_load(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret);
/* Conditions in their order: begin with NULL; NULL after the last. */
const struct json *view_next_condition(const struct view *view, const struct json *before);
/* "greeting@3f9c2e1" or "greeting@main" */
void view_source(struct str *out, const struct view *view);

struct view_engine {
    struct admin_server server;
    struct admin_activities pending;
    struct admin_lane lane; /* of the first pending activity */
    int64_t slots;          /* of that lane; 0 unknown */
};
/* What the engine knows of a run that goes on. 0 or an exit status. */
int view_load_engine(struct cli *cli, struct arena *arena, const struct view *view,
                     struct view_engine *ret);
/* Both without a word: a durable.h code. */
int view_ask(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret,
             struct view_engine *ret_engine);

/* The status object: schema 1 (docs/man/factory-status.1.scd). engine may be NULL. */
void view_print_json(struct str *out, const struct view *view, const struct view_engine *engine,
                     int indent);

#endif
