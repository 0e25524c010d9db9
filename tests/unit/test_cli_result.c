/*
 * test_cli_result.c - the result block at every width, and the last lines of a log.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/result.h"
#include "tests/lib/temp_path.h"

static const char MANIFEST[] =
    "{\"factory_result\":\"VERIFICATION_FAILED\",\"agent_result\":\"SUCCESS\","
    "\"verification_result\":\"FAILED\",\"cleanup_result\":\"SUCCESS\",\"sandbox_id\":\"a\","
    "\"verify_sandbox_id\":\"b\",\"error\":\"gates failed: unit-tests\","
    "\"agent\":{\"exit_code\":0,\"duration_ms\":14100},"
    "\"gates\":[{\"id\":\"build\",\"passed\":true,\"duration_ms\":900},"
    "{\"id\":\"unit-tests\",\"passed\":false,\"exit_code\":1,\"started\":true}],"
    "\"cleanup\":{\"destroyed\":2,\"remaining_sandboxes\":0},\"patch\":\"changes.patch\","
    "\"patch_facts\":{\"files\":1,\"additions\":1,\"deletions\":1}}";

static void view_of(struct arena *arena, const char *result, struct view *view)
{
    dur_description d = {.workflow_id = "factory-run-run-1",
                         .run_id = "r",
                         .type = "t",
                         .status = DUR_COMPLETED,
                         .started_ns = 1,
                         .closed_ns = 2,
                         .memo = "{}",
                         .result = result};
    view_read(arena, &d, view);
}

static char *make_evidence(void)
{
    autofree char *file = temp_path("x");
    char *dir = fs_dirname(file);
    autofree char *verification = mem_printf("%s/runs/run-1/verification", dir);
    autofree char *log = mem_printf("%s/unit-tests.stderr", verification);
    autofree char *patch = mem_printf("%s/runs/run-1/changes.patch", dir);
    const char text[] = "1\n2\n3\n4\n5\n\033[31mFAIL\033[0m greet: expected \"hello factory\"\n";
    cr_assert_eq(fs_mkdirs(verification, 0750, NULL), 0);
    cr_assert_eq(fs_write_file(log, text, strlen(text), 0640, NULL), 0);
    cr_assert_eq(fs_write_file(patch, "x", 1, 0640, NULL), 0);
    return dir;
}

Test(cli_result, a_gate_disagrees)
{
    autoarena struct arena *arena = arena_new();
    autofree char *dir = make_evidence();
    struct view view;
    struct str out = {0};
    view_of(arena, MANIFEST, &view);
    cr_assert_eq(view.exit_status, 10);
    result_print(&out, &view, dir, 200, false);
    cr_assert(
        str_starts(str_c(&out),
                   "FACTORY RESULT: VERIFICATION_FAILED\n"
                   "AGENT RESULT:   SUCCESS      exit 0, 14.1s\n"
                   "VERIFICATION:   FAILED       build 0.9s · unit-tests exit 1   (fresh sandbox)\n"
                   "  unit-tests, last lines (verification/unit-tests.stderr):\n"
                   "    2\n    3\n    4\n    5\n"
                   "    FAIL greet: expected \"hello factory\"\n"
                   "CLEANUP:        PASSED       2 sandboxes, 0 remain\n"
                   "ERROR:          gates failed: unit-tests\n"
                   "\nPatch:\n"),
        "%s", str_c(&out));
    cr_assert(strstr(str_c(&out), "changes.patch   1 file, +1 −1\n"));
    str_free(&out);
}

Test(cli_result, only_paths_exceed_the_width)
{
    autoarena struct arena *arena = arena_new();
    autofree char *dir = make_evidence();
    struct view view;
    view_of(arena, MANIFEST, &view);
    for (size_t width = 40; width <= 200; width += 4) {
        struct str out = {0};
        result_print(&out, &view, dir, width, false);
        for (const char *at = str_c(&out); *at;) {
            size_t len = strcspn(at, "\n");
            bool is_path = strstr(at, "/runs/run-1") && strstr(at, "/runs/run-1") < at + len;
            cr_assert(is_path || term_columns(at, len) <= width, "width %zu: %.*s", width, (int)len,
                      at);
            at += len + 1;
        }
        str_free(&out);
    }
}

Test(cli_result, without_evidence_and_without_verdict)
{
    autoarena struct arena *arena = arena_new();
    struct view view;
    struct str out = {0};
    view_of(arena, MANIFEST, &view);
    result_print(&out, &view, "/nonexistent", 80, false);
    cr_assert(strstr(str_c(&out), "is not there any more"));
    str_reset(&out);
    view_of(arena, "\"not an object\"", &view);
    result_print(&out, &view, "/nonexistent", 80, false);
    cr_assert_str_eq(str_c(&out), "FACTORY RESULT: COMPLETED\n");
    str_free(&out);
}

Test(cli_result, last_lines)
{
    const char *text = "a\nb\nc\n";
    cr_assert_str_eq(result_last_lines(text, 6, 1), "c\n");
    cr_assert_str_eq(result_last_lines(text, 5, 2), "b\nc\n");
    cr_assert_str_eq(result_last_lines(text, 6, 9), text);
    cr_assert_str_eq(result_last_lines("", 0, 3), "");
    cr_assert_str_eq(result_last_lines("\n", 1, 1), "\n");
}
