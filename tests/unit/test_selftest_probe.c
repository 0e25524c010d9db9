/*
 * test_selftest_probe.c - selftest/probe: it measures, leaves nothing, and knows what cannot be.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "selftest/probe.h"
#include "tests/lib/temp_path.h"

TestSuite(selftest_probe, .timeout = 120);

/* A disk that nothing can be said against. */
static const struct probe honest = {
    .class = FS_LOCAL,
    .fs_name = "ext4",
    .mount_options = "rw,relatime,rw,errors=remount-ro",
    .free_bytes = 10LL << 30,
    .plain = {.count = 400, .p50_ns = 2000},
    .overwrite = {.count = 400, .p50_ns = 83 * NS_PER_US},
};

static const char *only_code(struct probe probe, bool is_failure)
{
    static char code[8];
    probe_judge(&probe);
    cr_assert_eq(probe.warning_count, 1, "%d warnings", probe.warning_count);
    cr_assert_eq(probe.warnings[0].is_failure, is_failure);
    cr_assert_eq(probe_failed(&probe), is_failure);
    memcpy(code, probe.warnings[0].code, sizeof(code));
    return code;
}

Test(selftest_probe, an_honest_disk_is_not_blamed)
{
    struct probe probe = honest;
    probe_judge(&probe);
    cr_assert_eq(probe.warning_count, 0);
    cr_assert_not(probe_failed(&probe));
}

Test(selftest_probe, what_cannot_be_is_said)
{
    struct probe probe = honest;
    probe.class = FS_NETWORK;
    cr_expect_str_eq(only_code(probe, true), "S-001");
    probe.class = FS_FUSE;
    cr_expect_str_eq(only_code(probe, true), "S-001");
    probe.class = FS_MEMORY;
    cr_expect_str_eq(only_code(probe, false), "S-002");
    probe = honest;
    probe.overwrite.p50_ns = 900;
    cr_expect_str_eq(only_code(probe, false), "S-003");
    probe.overwrite.p50_ns = 20 * NS_PER_US;
    probe.plain.p50_ns = 15 * NS_PER_US; /* as slow without a sync */
    cr_expect_str_eq(only_code(probe, false), "S-003");
    probe = honest;
    memcpy(probe.mount_options, "rw,nobarrier", sizeof("rw,nobarrier"));
    cr_expect_str_eq(only_code(probe, false), "S-004");
    memcpy(probe.mount_options, "rw,barrier=0,x", sizeof("rw,barrier=0,x"));
    cr_expect_str_eq(only_code(probe, false), "S-004");
    probe = honest;
    probe.free_bytes = 1 << 20;
    cr_expect_str_eq(only_code(probe, false), "S-005");
    probe = honest;
    probe.overwrite.p50_ns = 150 * NS_PER_MS;
    cr_expect_str_eq(only_code(probe, false), "S-006");
}

Test(selftest_probe, an_option_is_a_whole_word)
{
    struct probe probe = honest;
    memcpy(probe.mount_options, "rw,xnobarrier,nobarriers", sizeof("rw,xnobarrier,nobarriers"));
    probe_judge(&probe);
    cr_assert_eq(probe.warning_count, 0);
}

Test(selftest_probe, it_measures_and_leaves_nothing)
{
    struct err err = {0};
    struct probe probe;
    autofree char *path = temp_path("x");
    autofree char *dir = fs_dirname(path);
    cr_assert_eq(probe_run(dir, 400, &probe, &err), 0, "%s", err.text);
    cr_expect_gt(probe.plain.count, 0);
    cr_expect_gt(probe.overwrite.p50_ns, 0);
    cr_expect_geq(probe.overwrite.p99_ns, probe.overwrite.p50_ns);
    cr_expect_geq(probe.append.max_ns, probe.append.p99_ns);
    cr_expect_gt(probe.commit.count, 0);
    cr_expect_gt(probe.commits_per_s, 0);
    cr_expect_neq(probe.fs_name[0], '\0');
    cr_expect(!fs_exists(path));
    autofree char *file = fs_join(dir, "probe");
    cr_expect(!fs_exists(file));
    fs_remove_tree(dir, NULL);
}

Test(selftest_probe, a_directory_that_is_not_there_is_an_error)
{
    struct err err = {0};
    struct probe probe;
    cr_assert_lt(probe_run("/nowhere/at/all", 100, &probe, &err), 0);
    cr_assert(strstr(err.text, "/nowhere/at/all"), "%s", err.text);
}
