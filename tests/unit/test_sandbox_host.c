/*
 * test_sandbox_host.c - what the local provider knows of its host: processes, groups, records.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "sandbox/cgroup.h"
#include "sandbox/local_internal.h"
#include "sandbox/local_record.h"
#include "sandbox/local_watch.h"
#include "sandbox/proctree.h"
#include "tmpdir.h"

/* --- processes -------------------------------------------------------------------------------- */

Test(proctree, finds_children_and_grandchildren_parents_first, .timeout = 60)
{
    const char *const argv[] = {"sh", "-c", "sh -c 'sleep 1234; :' & sleep 1234; :", NULL};
    struct proc_spec spec = {.argv = argv, .new_session = true};
    pid_t pid = 0;

    cr_assert_eq(proc_spawn(&spec, &pid, NULL), 0);
    struct proctree tree = {0};
    for (int i = 0; i < 1000 && tree.count < 3; i++) {
        proctree_free(&tree);
        clock_sleep_ms(5);
        proctree_below(pid, &tree);
    }
    cr_assert_eq(tree.count, 3);
    cr_expect_eq(tree.items[0].depth, 1);
    cr_expect_eq(tree.items[2].depth, 2);
    for (size_t i = 0; i < tree.count; i++) {
        cr_expect(proctree_alive(tree.items[i].pid, tree.items[i].ticks, NULL));
        cr_expect_not(proctree_alive(tree.items[i].pid, tree.items[i].ticks + 1, NULL),
                      "a pid's reuser");
        proctree_signal(tree.items[i].pid, tree.items[i].ticks + 1, SIGKILL); /* must hit nobody */
    }
    cr_expect(proctree_alive(tree.items[2].pid, tree.items[2].ticks, NULL));
    int64_t bytes = 0;
    cr_expect(proctree_pss(getpid(), &bytes) && bytes > 0);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    cr_expect_not(proctree_alive(pid, 1, NULL));
    proctree_free(&tree);
    proctree_below(pid, &tree);
    cr_expect_eq(tree.count, 0);
}

Test(proctree, survives_strange_command_names, .timeout = 60)
{
    autofree char *path = fs_join(tmpdir(), "a) R 1 1 (b");
    const char *const argv[] = {path, "1234", NULL};
    struct proc_spec spec = {.argv = argv};
    uint64_t ticks = 0;
    pid_t pid = 0;

    cr_assert_eq(symlink("/bin/sleep", path), 0);
    cr_assert_eq(proc_spawn(&spec, &pid, NULL), 0);
    cr_assert(proc_start_ticks(pid, &ticks));
    cr_expect(proctree_alive(pid, ticks, NULL));
    struct proctree tree = {0};
    proctree_below(getpid(), &tree);
    cr_assert_eq(tree.count, 1);
    cr_expect_eq(tree.items[0].pid, pid);
    cr_expect_eq(tree.items[0].ticks, ticks);
    proctree_free(&tree);
    proctree_signal(pid, ticks, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* --- groups ----------------------------------------------------------------------------------- */

Test(cgroup, what_is_planned_can_be_made_frozen_and_removed, .timeout = 60)
{
    autoarena struct arena *arena = arena_new();
    struct cgroup_set set;
    struct sandbox_limits limits = {.memory_bytes = 64 << 20, .processes = 50, .cpu_milli = 500};
    struct err err = {0};

    cgroup_plan(arena, "factory-test-group", &set);
    if (!set.dir[CGROUP_MEMORY][0] && !set.dir[CGROUP_FREEZER][0]) {
        cr_skip_test("skip: no control group may be made here (run as root, or delegate one)");
    }
    cr_assert_eq(cgroup_make(&set, &limits, &err), 0, "%s", err.text);
    for (int r = 0; r < CGROUP_COUNT; r++) {
        cr_expect(!set.dir[r][0] || fs_is_dir(set.dir[r]), "%s", set.dir[r]);
    }
    if (set.dir[CGROUP_FREEZER][0]) {
        cr_expect_eq(cgroup_freeze(&set, true, &err), 0, "%s", err.text);
        cr_expect(cgroup_is_frozen(&set));
        cr_expect_eq(cgroup_freeze(&set, true, &err), 0);
        cr_expect_eq(cgroup_freeze(&set, false, &err), 0, "%s", err.text);
        cr_expect_not(cgroup_is_frozen(&set));
    }
    cr_assert_eq(cgroup_remove(&set, &err), 0, "%s", err.text);
    cr_assert_eq(cgroup_remove(&set, &err), 0, "twice: %s", err.text);
    for (int r = 0; r < CGROUP_COUNT; r++) {
        cr_expect(!set.dir[r][0] || !fs_is_dir(set.dir[r]), "%s", set.dir[r]);
    }
}

/* --- records ---------------------------------------------------------------------------------- */

static struct local_record a_record(struct arena *arena, const char *top,
                                    struct sandbox_label *labels)
{
    static const char *const argv[] = {"/usr/bin/factory", "guest", NULL};
    static const struct sandbox_bind bind = {"/opt/a b", "/opt/\"x\""};
    struct local_record record = {
        .id = "sbx-1",
        .dir = arena_printf(arena, "%s/sbx-1", top),
        .socket = "/run/factory/sbx-1.sock",
        .created_ns = 1700000000123456789,
        .labels = labels,
        .label_count = 1,
        .uid = 1000,
        .gid = 4294967294u,
        .bwrap = "/usr/bin/bwrap",
        .guest_argv = argv,
        .binds = &bind,
        .bind_count = 1,
        .idle_ms = 5,
        .limits = {.memory_bytes = 1LL << 40},
        .enforced = {.memory = "watch", .network = "cut"},
        .cgroups = {.dir = {"", "/sys/fs/cgroup/x", "", ""}, .v2 = {false, true}},
    };

    local_ident_self(&record.creator);
    return record;
}

Test(local_record, comes_back_as_it_was)
{
    autoarena struct arena *arena = arena_new();
    struct sandbox_label label = {"run_id", "run-\"1\" grüße"};
    struct local_record record = a_record(arena, tmpdir(), &label);
    struct local_record back = {0};
    struct err err = {0};

    cr_assert_eq(fs_mkdirs(record.dir, 0755, NULL), 0);
    cr_assert_eq(local_record_write(&record, record.dir, &err), 0, "%s", err.text);
    cr_assert_eq(local_record_read(arena, tmpdir(), "sbx-1", &back, &err), 0, "%s", err.text);
    cr_expect_str_eq(back.socket, record.socket);
    cr_expect_eq(back.created_ns, record.created_ns);
    cr_expect_eq(back.label_count, 1);
    cr_expect_str_eq(back.labels[0].value, label.value);
    cr_expect_eq(back.creator.ticks, record.creator.ticks);
    cr_expect_eq(back.gid, record.gid);
    cr_expect_str_eq(back.guest_argv[1], "guest");
    cr_expect_null(back.guest_argv[2]);
    cr_expect_str_eq(back.binds[0].target, "/opt/\"x\"");
    cr_expect_eq(back.limits.memory_bytes, 1LL << 40);
    cr_expect_str_eq(back.enforced.memory, "watch");
    cr_expect_null(back.enforced.cpu);
    cr_expect_str_eq(back.cgroups.dir[CGROUP_PIDS], "/sys/fs/cgroup/x");
    cr_expect(back.cgroups.v2[CGROUP_PIDS]);
    cr_expect_str_eq(back.cgroups.dir[CGROUP_CPU], "");
}

Test(local_record, what_is_none_is_an_error_and_not_a_crash)
{
    static const char *const texts[] = {
        "",     "[]",
        "{}",   "{\"id\":\"sbx-1\"}",
        "null", "{\"id\":\"other\",\"socket\":\"s\",\"enforced\":{\"network\":\"cut\"}}",
    };
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    autofree char *dir = fs_join(tmpdir(), "sbx-1");
    autofree char *path = fs_join(dir, "sandbox.json");

    cr_expect_eq(local_record_read(arena, tmpdir(), "sbx-1", &record, NULL), PROVIDER_GONE);
    cr_expect_eq(local_record_read(arena, tmpdir(), "..", &record, NULL), PROVIDER_GONE);
    cr_expect_eq(local_record_read(arena, tmpdir(), "a/b", &record, NULL), PROVIDER_GONE);
    cr_assert_eq(fs_mkdirs(dir, 0755, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};
        cr_assert_eq(fs_write_file(path, texts[i], strlen(texts[i]), 0644, NULL), 0);
        cr_expect_eq(local_record_read(arena, tmpdir(), "sbx-1", &record, &err), -1, "%s",
                     texts[i]);
        cr_expect_eq(err.kind, ERR_PERMANENT);
    }
}

Test(local_record, the_state_follows_what_lives)
{
    autoarena struct arena *arena = arena_new();
    struct sandbox_label label = {"a", "b"};
    struct local_record record = a_record(arena, tmpdir(), &label);
    struct local_ident nobody = record.creator;
    const char *why = NULL;

    record.cgroups = (struct cgroup_set){.dir = {"", "", "", ""}};
    nobody.ticks++;
    cr_assert_eq(fs_mkdirs(record.dir, 0755, NULL), 0);
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_CREATING);
    cr_assert_eq(local_ident_write(record.dir, &record.creator, NULL), 0); /* this test: alive */
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_CREATING);
    cr_assert_eq(local_put_mark(record.dir, "ready", "", NULL), 0);
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_RUNNING);
    record.creator = nobody;
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_RUNNING);
    cr_assert_eq(local_ident_write(record.dir, &nobody, NULL), 0);
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_DEAD);
    cr_expect_str_eq(why, "killed");
    cr_assert_eq(local_put_mark(record.dir, "ended", "idle timeout\nmore\n", NULL), 0);
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_DEAD);
    cr_expect_str_eq(why, "idle timeout");
    cr_assert_eq(local_put_mark(record.dir, "doomed", "", NULL), 0);
    cr_expect_eq(local_record_state(arena, &record, &why), SANDBOX_DEAD);
    cr_expect_str_eq(why, "being destroyed");
}

Test(local_record, another_boot_is_another_process)
{
    struct local_ident self;

    local_ident_self(&self);
    cr_expect(local_ident_alive(&self));
    self.boot[0] = self.boot[0] == 'x' ? 'y' : 'x';
    cr_expect_not(local_ident_alive(&self));
}

/* --- limits ----------------------------------------------------------------------------------- */

Test(local_plan, a_limit_is_enforced_or_refused)
{
    struct cgroup_set none = {.dir = {"", "", "", ""}};
    struct cgroup_set all = {.dir = {"/m", "/p", "/c", "/f"}};
    struct sandbox_limits limits = {
        .cpu_milli = 10, .memory_bytes = 1, .processes = 1, .disk_bytes = 1};
    struct sandbox_enforcement plan;
    struct err err = {0};

    cr_assert_eq(local_plan_limits(&limits, &all, &plan, &err), 0);
    cr_expect_str_eq(plan.cpu, "cgroup");
    cr_expect_str_eq(plan.memory, "cgroup");
    cr_expect_str_eq(plan.processes, "cgroup");
    cr_expect_str_eq(plan.disk, "watch");
    cr_expect_eq(local_plan_limits(&limits, &none, &plan, &err), -1);
    cr_expect_str_eq(err.name, "LimitNotEnforceable");
    limits.best_effort = true;
    cr_assert_eq(local_plan_limits(&limits, &none, &plan, &err), 0);
    cr_expect_str_eq(plan.cpu, "none");
    cr_expect_str_eq(plan.memory, "watch");
    limits.cpu_milli = 1000 * 1000;
    cr_assert_eq(local_plan_limits(&limits, &none, &plan, &err), 0);
    cr_expect_str_eq(plan.cpu, "host");
    cr_assert_eq(local_plan_limits(&(struct sandbox_limits){0}, &all, &plan, &err), 0);
    cr_expect_null(plan.memory);
}

Test(local_watch, counts_what_is_hidden)
{
    autofree char *dir = fs_join(tmpdir(), "fs/locked");
    autofree char *file = fs_join(dir, "f");
    autofree char *bytes = mem_alloc(1 << 20);

    memset(bytes, 'x', 1 << 20);
    cr_assert_eq(fs_mkdirs(dir, 0755, NULL), 0);
    cr_assert_eq(fs_write_file(file, bytes, 1 << 20, 0644, NULL), 0);
    cr_assert_eq(chmod(dir, 0), 0);
    autofree char *top = fs_join(tmpdir(), "fs");
    int64_t counted = local_disk_bytes(top);
    cr_expect_geq(counted, 1 << 20);
    cr_expect_lt(counted, 2 << 20);
    cr_assert_eq(symlink("/usr", tmpdir_file("fs/usr")), 0);
    cr_expect_lt(local_disk_bytes(top), 2 << 20, "a link was followed");
}
