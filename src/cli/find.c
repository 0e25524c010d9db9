/*
 * find.c - see find.h.
 * Tests: tests/cli/t0605-find.sh
 */
#include "cli/find.h"

#include <string.h>

#include "cli/exitcode.h"
#include "cli/format.h"
#include "engine/admin.h"
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

static int none(struct cli *cli, struct arena *arena, const char *word)
{
    struct admin_ids newest;
    const char *near = NULL;
    autostr struct str clean = {0};
    format_clean(&clean, word, strlen(word));
    if (admin_ids_with_prefix(cli->engine, arena, WORKFLOW_ID_PREFIX, NEAREST_AMONG, &newest) ==
        DUR_OK) {
        const char **names = arena_array_of(arena, const char *, newest.count + 1);
        for (size_t i = 0; i < newest.count; i++) {
            names[i] = find_run_id(newest.ids[i]);
        }
        near = str_nearest(word, names, newest.count);
    }
    return cli_error(EXIT_NOT_FOUND, "there is no run %s%s%s%s", str_c(&clean),
                     near ? "; did you mean " : "", near ? near : "",
                     near ? "?" : "; factory get runs lists them");
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
            dur_description *d =
                NULL; /* an id that is the beginning of many others is itself first */
            if (dur_describe(cli->engine, prefix, &d) == DUR_OK) {
                dur_description_free(d);
                *ret_workflow_id = prefix;
                return EXIT_OK;
            }
            return ambiguous(word, &found);
        }
    }
    return none(cli, arena, word);
}
