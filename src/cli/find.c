/*
 * find.c - see find.h.
 * Tests: tests/cli/t0605-find.sh
 */
#include "cli/find.h"

#include <string.h>

#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/past.h"
#include "engine/admin.h"
#include "factory/factory.h"
#include "factory/workflow.h"

#define SHOWN_MAX 5       /* of several that match */
#define NEAREST_AMONG 200 /* newest runs that a typo is compared with */

const char *find_run_id(const char *workflow_id)
{
    return str_starts(workflow_id, WORKFLOW_ID_PREFIX) ? workflow_id + strlen(WORKFLOW_ID_PREFIX)
                                                       : workflow_id;
}

static int ambiguous(const char *word, const struct admin_ids *found)
{
    autostr struct str list = {0};
    for (size_t i = 0; i < found->count && i < SHOWN_MAX; i++) {
        str_addf(&list, "%s%s", i ? ", " : "", find_run_id(found->ids[i]));
    }
    return cli_error(EXIT_USAGE, "%s is the beginning of several runs: %s%s", word, str_c(&list),
                     found->count > SHOWN_MAX ? " ..." : "");
}

struct newest {
    struct arena *arena;
    const char *names[NEAREST_AMONG];
    size_t count;
};

static int on_run(void *user, int64_t token, const dur_description *d)
{
    struct newest *newest = user;
    (void)token;
    newest->names[newest->count++] = arena_strdup(newest->arena, find_run_id(d->workflow_id));
    return newest->count == NEAREST_AMONG;
}

static int none(struct cli *cli, struct arena *arena, const char *word,
                const char **ret_workflow_id)
{
    struct newest newest = {.arena = arena};
    autostr struct str clean = {0};
    *ret_workflow_id = past_find(cli, arena, word);
    if (*ret_workflow_id) {
        return EXIT_OK;
    }
    format_clean(&clean, word, strlen(word));
    factory_list_runs(cli->config, cli->engine, 0, 0, NEAREST_AMONG, on_run, &newest);
    const char *near = str_nearest(word, newest.names, newest.count);
    return cli_error(EXIT_NOT_FOUND, "there is no run %s%s%s%s", str_c(&clean),
                     near ? "; did you mean " : "", near ? near : "",
                     near ? "?" : "; factory get runs lists them");
}

static bool is_there(struct cli *cli, const char *id)
{
    dur_description *d = NULL;
    bool found = dur_describe(cli->engine, id, &d) == DUR_OK;
    dur_description_free(d);
    return found;
}

int find_run(struct cli *cli, struct arena *arena, const char *word, const char **ret_workflow_id)
{
    static const char *const forms[] = {WORKFLOW_ID_PREFIX, WORKFLOW_ID_PREFIX "run-", ""};
    struct admin_ids found;
    if (!*word) {
        return cli_error(EXIT_USAGE, "the run's id is empty");
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        const char *prefix = arena_printf(arena, "%s%s", forms[i], word);
        if (!*forms[i] && !str_starts(word, WORKFLOW_ID_PREFIX)) {
            continue;
        }
        if (admin_ids_with_prefix(cli->engine, arena, prefix, SHOWN_MAX + 1, &found) != DUR_OK) {
            return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
        }
        for (size_t k = 0; k < found.count; k++) {
            if (str_eq(found.ids[k], prefix) || found.count == 1) {
                *ret_workflow_id = found.ids[k];
                return EXIT_OK;
            }
        }
        if (found.count > 1) {
            if (is_there(cli, prefix)) { /* an id that many others begin with is meant itself */
                *ret_workflow_id = prefix;
                return EXIT_OK;
            }
            return ambiguous(word, &found);
        }
    }
    return none(cli, arena, word, ret_workflow_id);
}
