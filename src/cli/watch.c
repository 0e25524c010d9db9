/*
 * watch.c - see watch.h. Owns the plain progress lines and the result block.
 * Tests: tests/cli/t0600-run.sh
 */
#include "cli/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "cli/exitcode.h"
#include "factory/verdict.h"
#include "factory/workflow.h"

static void print_step(const char *memo, char *last, size_t size)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root;
    if (json_parse(arena, memo, strlen(memo), &root, NULL) < 0) {
        return;
    }
    const char *step = json_get_str(root, "step");
    if (step && !str_eq(step, last)) {
        str_copy(last, size, step);
        printf("  %s\n", step);
        fflush(stdout);
    }
}

static int print_result(const char *manifest, bool json)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root;
    enum run_state state = STATE_INFRASTRUCTURE_FAILED;
    enum outcome cleanup = OUTCOME_SKIPPED;
    if (json_parse(arena, manifest, strlen(manifest), &root, NULL) < 0) {
        return cli_error(EXIT_ERROR, "the run's result is damaged");
    }
    run_state_parse(json_get_str(root, "factory_result"), &state);
    outcome_parse(json_get_str(root, "cleanup_result"), &cleanup);
    if (json) {
        autostr struct str out = {0};
        json_print(&out, root, 2);
        str_addc(&out, '\n');
        cli_print(&out);
    } else {
        printf("FACTORY RESULT: %s\n", run_state_name(state));
    }
    return run_state_exit_status(state, cleanup == OUTCOME_ERROR);
}

int watch_until_done(struct cli *cli, const char *run_id, bool json)
{
    char last[64] = "";
    autostr struct str id = {0};
    str_addf(&id, "%s%s", WORKFLOW_ID_PREFIX, run_id);
    for (;;) {
        dur_description *d = NULL;
        char *result = NULL;
        int rc = dur_result(cli->engine, str_c(&id), 200, &result);
        if (dur_describe(cli->engine, str_c(&id), &d) == DUR_OK && !json) {
            print_step(d->memo, last, sizeof(last));
        }
        dur_description_free(d);
        if (rc == DUR_OK) {
            int status = print_result(result, json);
            dur_free(result);
            return status;
        }
        if (rc != DUR_TIMED_OUT) {
            return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
        }
    }
}
