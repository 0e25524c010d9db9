/*
 * cmd_worker.c - factory worker: the engine process.
 *
 * Owns: serving until told to stop (SIGTERM, SIGINT) or idle. `factory run` starts one in the
 * background with --idle-exit when none serves; a service unit runs a permanent one. A second
 * worker stands by on the store's ownership lock, or, when runs are on a server, on seat.h's. Must
 * not: print but through the log (one line at the start, one at the end, and trouble). Tests:
 * tests/cli/t0400-worker.sh
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "factory/factory.h"
#include "factory/seat.h"

#define STAND_BY_MS 1000

static dur_engine *volatile serving;
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
    if (serving) {
        dur_stop(serving);
    }
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGHUP, SIG_IGN);
}

/* On a server: one worker a data directory serves. Another stands by, unless it was started for
 * runs that the first does now. True with *ret_status when there is nothing to serve. */
static bool has_no_seat(const struct config *config, bool leaves_when_idle, int *ret_fd,
                        int *ret_status)
{
    struct err err = {0};
    bool told = false;
    int rc = fs_mkdirs(config->data_dir, 0750, &err);
    while (rc == 0 && (rc = seat_try(config->data_dir, ret_fd, &err)) == 1 && !stopped &&
           !leaves_when_idle) {
        if (!told) {
            log_info("worker",
                     "standing by: another process serves %s; this one takes over when "
                     "it ends",
                     config->data_dir);
        }
        told = true;
        cli_pause_ms(STAND_BY_MS);
        rc = 0;
    }
    *ret_status = rc < 0 ? cli_fail(&err) : EXIT_OK;
    return rc != 0;
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
    autoclose int seat = -1;
    long long idle_ms = 0;
    int status = args_duration_ms(cli, args, "idle-exit", &idle_ms);
    cli->idle_exit_ms = idle_ms;
    if (status != EXIT_OK || (status = cli_config(cli)) != EXIT_OK) {
        return status;
    }
    log_set_level(args_has(args, "verbose") ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    catch_signals();
    if ((config_is_remote(cli->config) && has_no_seat(cli->config, idle_ms > 0, &seat, &status)) ||
        (status = cli_engine(cli, false)) != EXIT_OK) {
        return status;
    }
    if (factory_open(cli->config, &factory, &err) < 0 ||
        factory_register(factory, cli->engine, &err) < 0) {
        factory_close(factory);
        return cli_fail(&err);
    }
    serving = cli->engine;
    int64_t pid = 0;
    if (!config_is_remote(cli->config) && dur_served_by(cli->engine, &pid) == 1) {
        log_info("worker", "standing by: process %lld serves %s; this one takes over when it ends",
                 (long long)pid, cli->config->data_dir);
    }
    if (config_is_remote(cli->config)) {
        log_info("worker", "serves the queues %s-... of namespace %s on %s from %s",
                 cli->config->task_queue, cli->config->name_space, cli->config->host_port,
                 cli->config->data_dir);
    }
    int rc = stopped ? DUR_OK : dur_serve(cli->engine, DUR_UNTIL_STOPPED);
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
