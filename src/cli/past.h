/*
 * past.h - runs that their engine does not know any more, or never did.
 *
 * Owns: what ledger and evidence still tell of them. A store keeps closed runs for as long as
 * keep_runs says, a server for as long as its namespace says; a site that moved to a server has
 * runs from before. Their evidence stays here.
 * Must not: write, or tell of a run that the engine knows.
 */
#ifndef CLI_PAST_H
#define CLI_PAST_H

#include "base/arena.h"
#include "cli/view.h"

/* The workflow id of the run with this whole id (with or without its "run-"), in arena; NULL: there
 * is none. */
const char *past_find(struct cli *cli, struct arena *arena, const char *word);
/* The view of that workflow id; false when there is none. */
bool past_view(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret);

#endif
