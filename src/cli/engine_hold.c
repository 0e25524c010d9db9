/*
 * engine_hold.c - factory engine pause | resume | reset: a run waits, goes on, is taken back.
 *
 * Owns: these verbs; each is one durable transaction, whether or not an engine serves the store.
 * Tests: tests/cli/t0700-engine.sh
 */
#include "cli/exitcode.h"
#include "cli/verb.h"

static const struct cmd_option reason_options[] = {
    VERB_PLACE, VERB_JSON, {"reason", 0, "TEXT", "why; stands in the history"}, {0}};

static int pause_exec(struct cli *cli, struct args *args)
{
    const char *id = args->words[0];
    int status = verb_open(cli, args, true);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_pause(cli->engine, id, args_get(args, "reason"));
    return rc == DUR_OK ? verb_done(cli, args, id, "%s: paused", id) : verb_fail(cli, rc);
}

const struct cmd verb_pause = {
    .name = "engine pause",
    .words = "WORKFLOW",
    .summary = "hold a run: what comes is recorded and waits",
    .min_words = 1,
    .max_words = 1,
    .options = reason_options,
    .exec = pause_exec,
};

static int resume_exec(struct cli *cli, struct args *args)
{
    const char *id = args->words[0];
    int status = verb_open(cli, args, true);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_resume(cli->engine, id, args_get(args, "reason"));
    return rc == DUR_OK ? verb_done(cli, args, id, "%s: goes on", id) : verb_fail(cli, rc);
}

const struct cmd verb_resume = {
    .name = "engine resume",
    .words = "WORKFLOW",
    .summary = "let a paused run go on",
    .min_words = 1,
    .max_words = 1,
    .options = reason_options,
    .exec = resume_exec,
};

static const struct cmd_option reset_options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"event", 0, "N", "the end of a workflow task; default: of the last completed one"},
    {"reason", 0, "TEXT", "why; stands in the history"},
    {"drop-signals", 0, NULL, "signals that came later do not come again"},
    {"drop-updates", 0, NULL, "nor do updates"},
    {0}};

static int reset_exec(struct cli *cli, struct args *args)
{
    const char *id = args->words[0];
    long long event = 0;
    char *run_id = NULL;
    int status = args_number(cli, args, "event", 1, INT64_MAX, &event);
    if (status || (status = verb_open(cli, args, true)) != EXIT_OK) {
        return status;
    }
    int rc = dur_reset(cli->engine, id, &run_id,
                       &(dur_reset_options){.event_id = event,
                                            .reason = args_get(args, "reason"),
                                            .drop_signals = args_has(args, "drop-signals"),
                                            .drop_updates = args_has(args, "drop-updates")});
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    status = verb_done(cli, args, id, "%s: taken back, as run %s", id, run_id);
    dur_free(run_id);
    return status;
}

const struct cmd verb_reset = {
    .name = "engine reset",
    .words = "WORKFLOW",
    .summary = "take a run back to a point of its history",
    .min_words = 1,
    .max_words = 1,
    .options = reset_options,
    .exec = reset_exec,
};
