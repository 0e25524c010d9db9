/*
 * result.h - the result block: how a run that is over is told to people.
 *
 * Owns: its lines and their order; the last lines of a failed gate, which come from evidence. Must
 * not: decide anything (the manifest says it), or fail when a file of evidence is gone.
 */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "cli/cli.h"
#include "cli/view.h"

/* view->is_over. data_dir: where the evidence is. No line is wider than width but paths, which are
 * never cut. */
void result_print(struct str *out, const struct view *view, const char *data_dir, size_t width,
                  bool colour);
/* data_dir/runs/RUN/NAME, from the current directory when it is below it. Caller frees. */
char *result_path(const char *data_dir, const char *run_id, const char *name);
/* The last `lines` lines of a text, without a line end behind. */
const char *result_last_lines(const char *text, size_t len, size_t lines);

#endif
