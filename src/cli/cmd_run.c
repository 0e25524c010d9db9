/*
 * cmd_run.c - factory run: one task, from submission to its result.
 *
 * Owns: the request made from options, starting an engine when none serves (cli/spawn.h), waiting.
 * The run is durable before anything is waited for: Ctrl-C only detaches. Tests:
 * tests/cli/t0600-run.sh
 */
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/spawn.h"
#include "cli/watch.h"
#include "factory/factory.h"
#include "factory/workflow.h"

#define TASK_BYTES_MAX (1024 * 1024)

static const struct cmd_option options[] = {
    {"repo", 0, "URL", "remote repository (must be allowed by [repositories])"},
    {"local-path", 0, "DIR", "local repository"},
    {"rev", 0, "REV", "branch, tag or commit"},
    {"task", 0, "TEXT", "what the agent is to do"},
    {"task-file", 0, "FILE", "the same from a file, - for standard input; wins over --task"},
    {"agent", 0, "NAME", "declared agent; default: the first"},
    {"model", 0, "ID", "model for the agent"},
    {"verification", 0, "PROFILE", "declared profile; default: the first"},
    {"run-id", 0, "ID", "name the run; default: a new random id"},
    {"agent-timeout", 0, "DURATION", "shorter limit for the agent"},
    {"detach", 'd', NULL, "submit, print the run's id and return"},
    {"wait", 0, NULL, "wait for the result (the default); --wait=false is --detach"},
    {"json", 0, NULL, "JSON: the manifest when it is over; with --detach the id"},
    {0},
};

static int read_task(struct args *args, struct str *text)
{
    struct err err = {0};
    const char *file = args_get(args, "task-file");
    if (!file) {
        str_add(text, args_get(args, "task") ? args_get(args, "task") : "");
        return EXIT_OK;
    }
    if (str_eq(file, "-")) {
        return fs_read_fd(STDIN_FILENO, TASK_BYTES_MAX, text, &err) < 0 ? cli_fail(&err) : EXIT_OK;
    }
    return fs_read_file(file, TASK_BYTES_MAX, text, &err) < 0 ? cli_fail(&err) : EXIT_OK;
}

static int submit(struct cli *cli, struct args *args, struct arena *arena, struct request *request)
{
    autostr struct str task = {0};
    struct err err = {0};
    long long timeout_ms = 0;
    int status = read_task(args, &task);
    if (status != EXIT_OK || (status = args_duration_ms(cli, args, "agent-timeout", &timeout_ms)) ||
        (status = cli_config(cli))) {
        return status;
    }
    *request = (struct request){
        .run_id = args_get(args, "run-id"),
        .task = arena_strdup(arena, str_c(&task)),
        .repository = args_get(args, "repo"),
        .local_path = args_get(args, "local-path"),
        .revision = args_get(args, "rev"),
        .agent = args_get(args, "agent"),
        .model = args_get(args, "model"),
        .profile = args_get(args, "verification"),
        .agent_timeout_ms = timeout_ms,
    };
    if (request_check(arena, cli->config, request, &err) < 0) {
        return cli_fail(&err);
    }
    status = cli_engine(cli, false);
    if (status == EXIT_OK && factory_submit(cli->config, cli->engine, request, &err) < 0) {
        status = cli_fail(&err);
    }
    return status;
}

static void print_id(const struct request *request, bool json)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    if (json) {
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_kv_str(&w, "run_id", request->run_id);
        json_end_object(&w);
    } else {
        str_add(&out, request->run_id);
    }
    str_addc(&out, '\n');
    cli_print(&out);
}

static int exec(struct cli *cli, struct args *args)
{
    struct request request;
    autoarena struct arena *arena = arena_new();
    bool json = args_has(args, "json");
    int status = submit(cli, args, arena, &request);
    cli_catch_interrupt(); /* from here on the run is durable: Ctrl-C only leaves it */
    if (status != EXIT_OK || (status = spawn_engine(cli)) != EXIT_OK) {
        return status;
    }
    const char *id = arena_printf(arena, "%s%s", WORKFLOW_ID_PREFIX, request.run_id);
    if (args_has(args, "detach") || args_off(args, "wait")) {
        print_id(&request, json);
        return spawn_settle(cli, id);
    }
    return watch_until_done(cli, id, json ? WATCH_MANIFEST : WATCH_TEXT, true);
}

const struct cmd cmd_run = {
    .name = "run",
    .words = "",
    .summary = "run one task to a verified patch",
    .options = options,
    .exec = exec,
};
