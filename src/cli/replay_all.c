/*
 * replay_all.c - see replay_all.h.
 * Tests: tests/cli/t0720-upgrade.sh
 */
#include "cli/replay_all.h"

#include "base/arena.h"
#include "cli/cli.h"
#include "factory/factory.h"

#define PAGE 200

struct page {
    struct arena *arena;
    struct replayed runs[PAGE];
    int count;
    int64_t last;
};

static int keep(void *user, int64_t token, const dur_description *d)
{
    struct page *page = user;
    page->last = token;
    page->runs[page->count++] =
        (struct replayed){.workflow_id = arena_strdup(page->arena, d->workflow_id),
                          .run_id = arena_strdup(page->arena, d->run_id),
                          .type = arena_strdup(page->arena, d->type)};
    return 0;
}

static int replay_one(dur_engine *engine, struct arena *arena, struct replayed *run,
                      char **ret_report)
{
    char *json = NULL;
    *ret_report = NULL;
    const char *id = arena_printf(arena, "%s@%s", run->workflow_id, run->run_id);
    int rc = dur_history(engine, id, &json);
    if (rc != DUR_OK) {
        return rc;
    }
    run->code = dur_replay(engine, json, ret_report);
    run->report = run->code == DUR_OK ? NULL : *ret_report ? *ret_report : dur_error(engine);
    dur_free(json);
    return DUR_OK;
}

int replay_all(const struct config *config, dur_engine *engine,
               void (*each)(void *user, const struct replayed *run), void *user)
{
    struct page page = {0};
    int rc = DUR_OK;
    do {
        autoarena struct arena *arena = arena_new();
        page.arena = arena;
        page.count = 0;
        rc = config ? factory_list_runs(config, engine, DUR_RUNNING, page.last, PAGE, keep, &page)
                    : dur_list(engine, DUR_RUNNING, page.last, PAGE, keep, &page);
        for (int i = 0; i < page.count && rc == DUR_OK; i++) {
            char *report = NULL;
            rc = cli_interrupted() ? DUR_CANCELLED
                                   : replay_one(engine, arena, &page.runs[i], &report);
            if (rc == DUR_OK) {
                each(user, &page.runs[i]);
            }
            dur_free(report);
        }
    } while (rc == DUR_OK && page.count == PAGE);
    return rc;
}
