/*
 * past.c - see past.h. A description is made up from the ledger's row and run.json, and read like
 * any other.
 * Tests: tests/temporal/t8620-factory-moves.sh
 */
#include "cli/past.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cli/find.h"
#include "cli/result.h"
#include "factory/ledger.h"
#include "factory/workflow.h"

#define MANIFEST_BYTES_MAX (64 << 20)

/* True with the row of a run. */
static bool look_up(struct cli *cli, struct arena *arena, const char *run_id,
                    struct ledger_run *ret)
{
    autoledger struct ledger *ledger = NULL;
    autofree char *path = config_database_path(cli->config);
    return fs_exists(path) &&
           ledger_open(path, true, &ledger, NULL) == 0 &&
           ledger_get_run(ledger, arena, run_id, ret, NULL) == 0;
}

const char *past_find(struct cli *cli, struct arena *arena, const char *word)
{
    struct ledger_run row;
    const char *id = find_run_id(word);
    if (look_up(cli, arena, id, &row) ||
        look_up(cli, arena, arena_printf(arena, "run-%s", id), &row)) {
        return row.workflow_id;
    }
    return NULL;
}

static const char *memo_of(struct arena *arena, const struct ledger_run *row)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);
    json_begin_object(&out);
    json_kv_str(&out, "state", row->state);
    json_kv_str(&out, "agent", row->agent);
    json_kv_str(&out, "model", row->model);
    json_kv_str(&out, "repository", row->repository);
    json_kv_str(&out, "revision", row->revision);
    json_kv_str(&out, "profile", row->profile);
    json_end_object(&out);
    return arena_strndup(arena, str_c(&text), text.len);
}

bool past_view(struct cli *cli, struct arena *arena, const char *workflow_id, struct view *ret)
{
    struct ledger_run row;
    autostr struct str manifest = {0};
    if (!str_starts(workflow_id, WORKFLOW_ID_PREFIX) ||
        !look_up(cli, arena, find_run_id(workflow_id), &row)) {
        return false;
    }
    autofree char *path = result_path(cli->config->data_dir, row.run_id, "run.json");
    bool has_manifest = fs_read_file(path, MANIFEST_BYTES_MAX, &manifest, NULL) == 0;
    const dur_description d = {
        .workflow_id = row.workflow_id,
        .run_id = row.execution_id,
        .type = WORKFLOW_NAME,
        .status = has_manifest ? DUR_COMPLETED : DUR_TERMINATED,
        .started_ns = row.submitted_ns,
        .closed_ns = row.finished_ns ? row.finished_ns : row.submitted_ns,
        .memo = memo_of(arena, &row),
        .result = has_manifest ? str_c(&manifest) : NULL,
    };
    view_read(arena, &d, ret);
    ret->is_past = true;
    return true;
}
