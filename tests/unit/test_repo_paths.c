/*
 * test_repo_paths.c - protected paths are compared raw and put back.
 */
#include <criterion/criterion.h>

#include "lib/repo_lab.h"

static struct lab lab;

static void setup(void)
{
    lab_open(&lab);
}

static void teardown(void)
{
    lab_close(&lab);
}

TestSuite(repo_paths, .init = setup, .fini = teardown, .timeout = 60);

Test(repo_paths, patterns)
{
    static const struct {
        const char *pattern;
        const char *path;
        bool match;
    } cases[] = {
        {"test.sh", "test.sh", true},
        {"test.sh", "a/test.sh", true},
        {"/test.sh", "a/test.sh", false},
        {"/test.sh", "test.sh", true},
        {"tests", "tests/a/b", true},
        {"tests/", "tests/a", true},
        {"tests/", "tests", false},
        {"a/*.c", "a/x.c", true},
        {"a/*.c", "a/b/x.c", false},
        {"a/**/x", "a/x", true},
        {"a/**/x", "a/b/c/x", true},
        {"a/**", "a/b", true},
        {"a/**", "a", false},
        {"**/conftest.py", "x/y/conftest.py", true},
        {"*.py", "d.py/x", true},
        {"[ab]?", "bz", true},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"backend/build.sh", "build.sh", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cr_expect_eq(paths_match(&cases[i].pattern, 1, cases[i].path), cases[i].match, "%s %s",
                     cases[i].pattern, cases[i].path);
        cr_expect_eq(paths_pattern_check(cases[i].pattern, NULL), 0, "%s", cases[i].pattern);
    }
    static const char *const bad[] = {"", "/", "a//b", "../x", "a/./b", "[a", "x\\"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_lt(paths_pattern_check(bad[i], NULL), 0, "%s", bad[i]);
    }
}

static const char *const gates[] = {"/build.sh", "tests/", "/Makefile"};

Test(repo_paths, every_way_to_touch_a_gate_is_seen_and_undone)
{
    struct err err = {0};
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    char want[OBJECT_HEX_BYTES];
    char got[OBJECT_HEX_BYTES];
    autoreport struct paths_report report = {0};
    const struct lab_file a[] = {LAB_EXEC("build.sh", "#!/bin/sh\n"), LAB_TEXT("tests/one", "1\n"),
                                 LAB_TEXT("tests/two", "2\n"), LAB_TEXT("src.c", "c\n"),
                                 LAB_TEXT("tests/sub/deep", "d\n")};
    const struct lab_file b[] = {
        LAB_TEXT("build.sh", "#!/bin/sh\n"), LAB_LINK("tests/one", "/bin/true"),
        LAB_TEXT("tests/three", "3\n"),      LAB_TEXT("src.c", "C\n"),
        LAB_TEXT("tests/sub", "d\n"),        LAB_TEXT("Makefile", "all:\n")};
    const struct lab_file c[] = {a[0], a[1], a[2], LAB_TEXT("src.c", "C\n"), a[4]};
    lab_tree(&lab, a, ARRAY_LEN(a), from);
    lab_tree(&lab, b, ARRAY_LEN(b), to);
    lab_tree(&lab, c, ARRAY_LEN(c), want);
    cr_assert_eq(paths_compare(lab.store, from, to, gates, 3, &report, &err), 0, "%s", err.text);
    static const struct {
        const char *path;
        enum paths_kind kind;
    } expected[] = {{"Makefile", PATHS_ADDED},         {"build.sh", PATHS_MODIFIED},
                    {"tests/one", PATHS_MODIFIED},     {"tests/sub", PATHS_ADDED},
                    {"tests/sub/deep", PATHS_MISSING}, {"tests/three", PATHS_ADDED},
                    {"tests/two", PATHS_MISSING}};
    cr_assert_eq(report.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < report.count; i++) {
        cr_expect_str_eq(report.changes[i].path, expected[i].path);
        cr_expect_eq(report.changes[i].kind, expected[i].kind, "%s", expected[i].path);
    }
    cr_expect_eq(report.changes[1].new_mode, 0100644u);
    cr_assert_eq(paths_overlay(lab.store, from, to, gates, 3, got, &err), 0, "%s", err.text);
    cr_expect_str_eq(got, want);
}

Test(repo_paths, what_stands_in_the_way_goes)
{
    struct err err = {0};
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    char want[OBJECT_HEX_BYTES];
    char got[OBJECT_HEX_BYTES];
    static const char *const deep[] = {"a/b/gate.sh", "/file"};
    const struct lab_file a[] = {LAB_EXEC("a/b/gate.sh", "x\n"), LAB_TEXT("file", "f\n")};
    const struct lab_file b[] = {LAB_LINK("a", "/tmp"), LAB_TEXT("file/in", "f\n"),
                                 LAB_TEXT("z", "")};
    const struct lab_file c[] = {a[0], a[1], b[2]};
    lab_tree(&lab, a, 2, from);
    lab_tree(&lab, b, 3, to);
    lab_tree(&lab, c, 3, want);
    cr_assert_eq(paths_overlay(lab.store, from, to, deep, 2, got, &err), 0, "%s", err.text);
    cr_expect_str_eq(got, want);
}

Test(repo_paths, untouched_gates_report_nothing)
{
    struct err err = {0};
    char from[OBJECT_HEX_BYTES];
    autoreport struct paths_report report = {0};
    const struct lab_file a[] = {LAB_EXEC("build.sh", "x\n"), LAB_TEXT("other", "")};
    lab_tree(&lab, a, 2, from);
    cr_assert_eq(paths_compare(lab.store, from, from, gates, 3, &report, &err), 0);
    cr_expect_eq(report.count, 0u);
    cr_expect_eq(report.checked, 1u);
}
