/*
 * changes.c - scenarios of code that changes while runs are open, of what runs can be found by, and
 * of much: patches, search attributes, mutable side effects, large payloads, long histories.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include <string.h>

#include "scenario.h"

/* --- patches -----------------------------------------------------------------------------------
 */

static int patched(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int way = dur_patched(ctx, "check-stock");
    if (way < 0) {
        return way;
    }
    int rc = way ? dur_run(ctx, "Echo", "\"stock\"", NULL, &scenario_quick) : DUR_OK;
    return rc ? rc : dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int unpatched(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int patched_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Patched", changed ? unpatched : patched);
}

static struct scenario patched_scenario = {.name = "patch",
                                           .primitive = "Patches",
                                           .type = "Patched",
                                           .id = "patched",
                                           .input = "1",
                                           .result = "1",
                                           .setup = patched_setup};
SCENARIO(patched_scenario)

static int deprecated(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    dur_deprecate_patch(ctx, "check-stock");
    int rc = dur_run(ctx, "Echo", "\"stock\"", NULL, &scenario_quick);
    return rc ? rc : dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int sleeps_first(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_sleep(ctx, 1);
    return rc ? rc : unpatched(ctx, input, result, user);
}

static int deprecated_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Deprecated", changed ? sleeps_first : deprecated);
}

static struct scenario deprecated_scenario = {.name = "patch-deprecated",
                                              .primitive = "Deprecated patches",
                                              .type = "Deprecated",
                                              .id = "deprecated",
                                              .input = "1",
                                              .result = "1",
                                              .setup = deprecated_setup};
SCENARIO(deprecated_scenario)

/* --- search attributes, memo -------------------------------------------------------------------
 */

static int found(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_upsert_search_attributes(ctx, "{\"Stage\":\"begun\",\"Amount\":3}");
    rc = rc ? rc : dur_upsert_memo(ctx, "{\"note\":\"looking\"}");
    rc = rc ? rc : dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    rc = rc ? rc : dur_upsert_search_attributes(ctx, "{\"Stage\":\"done\",\"Amount\":null}");
    *result = dur_search_attributes(ctx);
    return rc;
}

static int found_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Found", changed ? unpatched : found);
}

static struct scenario found_scenario = {.name = "search-attributes",
                                         .primitive = "Search attributes, memo",
                                         .type = "Found",
                                         .id = "found",
                                         .result = "{\"Stage\":\"done\"}",
                                         .setup = found_setup};
SCENARIO(found_scenario)

/* --- mutable side effects ----------------------------------------------------------------------
 */

static int setting(void *arg, const char **result)
{
    *result = *(int *)arg ? "\"new\"" : "\"old\"";
    return DUR_OK;
}

static int mutable(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *seen[4] = {"0", "0", "0", "0"};
    (void)user;
    for (int i = 0; i < 4; i++) {
        int is_new = i >= 2;
        int rc = dur_mutable_side_effect(ctx, "setting", setting, &is_new, NULL, &seen[i]);
        rc = rc ? rc : dur_run(ctx, "Echo", input, NULL, &scenario_quick);
        if (rc) {
            return rc;
        }
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j,%j,%j]", seen[0], seen[1], seen[2], seen[3]);
    return DUR_OK;
}

static int mutable_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Mutable", changed ? sleeps_first : mutable);
}

static struct scenario mutable_scenario = {.name = "mutable-side-effect",
                                           .primitive = "Mutable side effects",
                                           .type = "Mutable",
                                           .id = "mutable",
                                           .input = "1",
                                           .result = "[\"old\",\"old\",\"new\",\"new\"]",
                                           .setup = mutable_setup};
SCENARIO(mutable_scenario)

/* --- much --------------------------------------------------------------------------------------
 */

#define LARGE_BYTES 20000

static char large_text[LARGE_BYTES + 3]; /* a JSON text, longer than the store keeps in a row */

static int large(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(ctx, "Echo", large_text, result, &scenario_quick);
}

static int large_setup(dur_engine *engine, bool changed)
{
    memset(large_text, 'x', LARGE_BYTES + 2);
    large_text[0] = large_text[LARGE_BYTES + 1] = '"';
    return scenario_register(engine, "Large", changed ? sleeps_first : large);
}

static struct scenario large_scenario = {.name = "large-payload",
                                         .primitive = "Large payloads",
                                         .type = "Large",
                                         .id = "large",
                                         .setup = large_setup};
SCENARIO(large_scenario)

static int many_steps(dur_ctx *ctx, int count, const char **result)
{
    for (int i = 0; i < count; i++) {
        int rc = i % 5 == 4
                     ? dur_sleep(ctx, 1)
                     : dur_run(ctx, "Echo", dur_ctx_jsonf(ctx, "%d", i), result, &scenario_quick);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

static int many(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return many_steps(ctx, 60, result);
}

static int fewer(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return many_steps(ctx, 59, result);
}

static int many_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Many", changed ? fewer : many);
}

static struct scenario many_scenario = {.name = "long-history",
                                        .primitive = "Long histories",
                                        .type = "Many",
                                        .id = "many",
                                        .result = "58",
                                        .setup = many_setup};
SCENARIO(many_scenario)
