/*
 * engine_tell.c - factory engine signal | cancel | terminate: what a client tells a run.
 *
 * Owns: these verbs; each is one durable transaction, whether or not an engine serves the store.
 * Tests: tests/cli/t0700-engine.sh
 */
#include "cli/exitcode.h"
#include "cli/verb.h"

static const struct cmd_option signal_options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"request-id", 0, "ID", "sent once, however often it is asked for"},
    {0}};
static const struct cmd_option reason_options[] = {
    VERB_PLACE, VERB_JSON, {"reason", 0, "TEXT", "why; stands in the history"}, {0}};

static int signal_exec(struct cli *cli, struct args *args)
{
    const char *id = args->words[0];
    const char *name = args->words[1];
    int status = verb_open(cli, args, true);
    if (status != EXIT_OK) {
        return status;
    }
    const char *input = args->count > 2 ? args->words[2] : NULL;
    const char *request_id = args_get(args, "request-id");
    int rc = request_id ? dur_signal_once(cli->engine, id, name, input, request_id)
                        : dur_signal(cli->engine, id, name, input);
    return rc == DUR_OK ? verb_done(cli, args, id, "%s: signal %s sent", id, name)
                        : verb_fail(cli, rc);
}

const struct cmd verb_signal = {
    .name = "engine signal",
    .words = "WORKFLOW NAME [JSON]",
    .summary = "send a signal to an open run",
    .min_words = 2,
    .max_words = 3,
    .options = signal_options,
    .exec = signal_exec,
};

static int cancel_exec(struct cli *cli, struct args *args)
{
    const char *id = args->words[0];
    int status = verb_open(cli, args, true);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_cancel(cli->engine, id, args_get(args, "reason"));
    return rc == DUR_OK ? verb_done(cli, args, id, "%s: cancel requested", id) : verb_fail(cli, rc);
}

const struct cmd verb_cancel = {
    .name = "engine cancel",
    .words = "WORKFLOW",
    .summary = "ask a run to cancel itself",
    .min_words = 1,
    .max_words = 1,
    .options = reason_options,
    .exec = cancel_exec,
};

static int terminate_exec(struct cli *cli, struct args *args)
{
    const char *id = args->words[0];
    int status = verb_open(cli, args, true);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_terminate(cli->engine, id, args_get(args, "reason"));
    return rc == DUR_OK ? verb_done(cli, args, id, "%s: terminated", id) : verb_fail(cli, rc);
}

const struct cmd verb_terminate = {
    .name = "engine terminate",
    .words = "WORKFLOW",
    .summary = "close a run at once; its code learns nothing",
    .min_words = 1,
    .max_words = 1,
    .options = reason_options,
    .exec = terminate_exec,
};
