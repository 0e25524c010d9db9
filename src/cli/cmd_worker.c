/*
 * cmd_worker.c - factory worker: the engine process.
 *
 * Owns: serving until told to stop (SIGTERM, SIGINT) or idle. `factory run` starts one in the
 * background with --idle-exit when none serves; a service unit runs a permanent one. A second
 * worker stands by on the ownership lock. Must not: print but through the log (one line at the
 * start, one at the end, and trouble).
 * Tests: tests/cli/t0400-worker.sh
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "factory/factory.h"

static dur_engine *serving;

static void on_signal(int number)
{
    (void)number;
    dur_stop(serving);
}

static const struct cmd_option options[] = {
    {"idle-exit", 0, "DURATION", "leave after so long with no open run"},
    {"verbose", 'v', NULL, "log more than start, stop and trouble"},
    {0},
};

static int exec(struct cli *cli, struct args *args)
{
    struct factory *factory = NULL;
    struct err err = {0};
    long long idle_ms = 0;
    int status = args_duration_ms(cli, args, "idle-exit", &idle_ms);
    cli->idle_exit_ms = idle_ms;
    if (status != EXIT_OK || (status = cli_engine(cli, false)) != EXIT_OK) {
        return status;
    }
    log_set_level(args_has(args, "verbose") ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    if (factory_open(cli->config, &factory, &err) < 0 ||
        factory_register(factory, cli->engine, &err) < 0) {
        factory_close(factory);
        return cli_fail(&err);
    }
    serving = cli->engine;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    int64_t pid = 0;
    if (!config_is_remote(cli->config) && dur_served_by(cli->engine, &pid) == 1) {
        log_info("worker", "standing by: process %lld serves %s; this one takes over when it ends",
                 (long long)pid, cli->config->data_dir);
    }
    int rc = dur_serve(cli->engine, DUR_UNTIL_STOPPED);
    factory_close(factory);
    return rc == DUR_OK ? EXIT_OK : cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
}

const struct cmd cmd_worker = {
    .name = "worker",
    .words = "",
    .summary = "run the engine in the foreground",
    .options = options,
    .exec = exec,
};
