/*
 * test_base_proc.c - base/proc: descriptors, captures, deadlines, and that nothing outlives a run.
 */
#include "base/proc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tmpdir.h"

static struct err err;
static const size_t plenty = 1 << 20;

static int sh(const char *script, int64_t timeout_ms, struct proc_result *ret)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct proc_spec spec = {.argv = argv};
    return proc_run(&spec, NULL, 0, plenty, timeout_ms, ret, &err);
}

/* A process that was told to stop may need a moment to be gone; gone or a zombie counts. */
static bool is_gone(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        char path[32];
        autostr struct str line = {0};
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (fs_read_file(path, 4096, &line, NULL) < 0) {
            return true;
        }
        const char *state = strrchr(line.ptr, ')');
        if (state && state[2] == 'Z') {
            return true;
        }
        clock_sleep_ms(10);
    }
    return false;
}

Test(proc, output_and_exit_code_come_back, .timeout = 30)
{
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("echo out; echo err >&2; exit 3", 0, &r), 0, "%s", err.text);
    cr_assert_eq(r.exit_code, 3);
    cr_assert_not(r.signalled);
    cr_assert_not(r.timed_out);
    cr_assert_str_eq(r.out.ptr, "out\n");
    cr_assert_str_eq(r.err.ptr, "err\n");
    cr_assert_not(r.out_cut);
}

Test(proc, a_signal_is_128_and_more, .timeout = 30)
{
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("kill -TERM $$", 0, &r), 0);
    cr_assert_eq(r.exit_code, 128 + SIGTERM);
    cr_assert(r.signalled);
}

Test(proc, input_is_fed_whatever_its_size_and_whoever_reads_it, .timeout = 60)
{
    autostr struct str big = {0};
    for (int i = 0; i < 300000; i++) {
        str_addf(&big, "%d\n", i);
    }
    const char *const cat[] = {"cat", NULL};
    struct proc_spec spec = {.argv = cat};
    autoproc struct proc_result r = {0};
    cr_assert_eq(proc_run(&spec, big.ptr, big.len, 4 << 20, 0, &r, &err), 0);
    cr_assert_eq(r.out.len, big.len);
    cr_assert_eq(memcmp(r.out.ptr, big.ptr, big.len), 0);
    const char *const not_reading[] = {"true", NULL};
    autoproc struct proc_result r2 = {0};
    spec.argv = not_reading;
    cr_assert_eq(proc_run(&spec, big.ptr, big.len, plenty, 0, &r2, &err), 0);
    cr_assert_eq(r2.exit_code, 0);
    autoproc struct proc_result r3 = {0};
    spec.argv = cat;
    cr_assert_eq(proc_run(&spec, "", 0, plenty, 0, &r3, &err), 0);
    cr_assert_eq(r3.out.len, 0);
    autoproc struct proc_result r4 = {0};
    cr_assert_eq(proc_run(&spec, NULL, 0, plenty, 0, &r4, &err), 0); /* /dev/null */
    cr_assert_eq(r4.out.len, 0);
}

Test(proc, capture_is_bounded_and_says_so, .timeout = 30)
{
    const char *const argv[] = {"sh", "-c", "head -c 1000000 /dev/zero; printf 12345 >&2", NULL};
    struct proc_spec spec = {.argv = argv};
    autoproc struct proc_result r = {0};
    cr_assert_eq(proc_run(&spec, NULL, 0, 5, 0, &r, &err), 0);
    cr_assert_eq(r.out.len, 5);
    cr_assert(r.out_cut);
    cr_assert_eq(r.err.len, 5);
    cr_assert_not(r.err_cut);
    cr_assert_eq(r.exit_code, 0); /* it was read to its end: no SIGPIPE for the program */
}

Test(proc, a_deadline_kills_the_whole_group, .timeout = 30)
{
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("sh -c 'sleep 1000 & echo $!; wait' & echo $!; wait", 300, &r), 0);
    cr_assert(r.timed_out);
    cr_assert_eq(r.exit_code, 128 + SIGKILL);
    int pids = 0;
    char *rest = r.out.ptr;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (line[0]) {
            pids++;
            cr_expect(is_gone((pid_t)strtol(line, NULL, 10)), "%s lives on", line);
        }
    }
    cr_assert_eq(pids, 2);
}

Test(proc, a_group_that_ignores_signals_is_killed_too, .timeout = 30)
{
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("trap '' TERM INT HUP; while :; do sleep 100; done", 200, &r), 0);
    cr_assert(r.timed_out);
}

Test(proc, children_left_behind_neither_block_nor_outlive_the_run, .timeout = 30)
{
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("sleep 1000 & echo $!", 0, &r), 0);
    cr_assert_eq(r.exit_code, 0);
    cr_assert(is_gone((pid_t)strtol(r.out.ptr, NULL, 10)));
}

Test(proc, an_escaped_writer_cannot_hold_the_run_up, .timeout = 30)
{
    if (!proc_in_path("setsid", NULL)) {
        cr_skip_test("skip: install util-linux");
    }
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("setsid sh -c 'exec yes' & echo $! >&2; sleep 0.2", 0, &r), 0);
    cr_assert(r.out_cut);
    cr_assert(kill((pid_t)strtol(r.err.ptr, NULL, 10), SIGKILL) == 0 || errno == ESRCH);
}

static atomic_bool stop;

static void *stop_soon(void *arg is_unused)
{
    clock_sleep_ms(100);
    atomic_store(&stop, true);
    return NULL;
}

Test(proc, a_cancel_flag_stops_it, .timeout = 30)
{
    pthread_t thread;
    const char *const argv[] = {"sleep", "1000", NULL};
    struct proc_spec spec = {.argv = argv, .cancel = &stop};
    autoproc struct proc_result r = {.exit_code = 77};
    cr_assert_eq(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    cr_assert_lt(proc_run(&spec, NULL, 0, plenty, 0, &r, &err), 0);
    cr_assert_eq(err.kind, ERR_CANCELLED);
    cr_assert_eq(r.exit_code, 77);
    pthread_join(thread, NULL);
}

Test(proc, what_cannot_start_is_an_error, .timeout = 30)
{
    autoproc struct proc_result r = {0};
    static const char *const missing[] = {"no-such-program-here", "/no/such/program", "./none"};
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        const char *const argv[] = {missing[i], NULL};
        struct proc_spec spec = {.argv = argv};
        cr_expect_lt(proc_run(&spec, NULL, 0, plenty, 0, &r, &err), 0);
        cr_expect_str_eq(err.name, "ProgramNotFound", "%s", err.text);
        cr_expect_eq(err.kind, ERR_PERMANENT);
    }
    const char *const dir[] = {"/", NULL};
    struct proc_spec spec = {.argv = dir};
    cr_expect_lt(proc_run(&spec, NULL, 0, plenty, 0, &r, &err), 0);
    cr_expect_str_eq(err.name, "SpawnFailed");
    const char *const argv[] = {"true", NULL};
    spec = (struct proc_spec){.argv = argv, .dir = "/no/such/dir"};
    cr_expect_lt(proc_run(&spec, NULL, 0, plenty, 0, &r, &err), 0);
    cr_expect_str_eq(err.name, "DirectoryNotFound");
}

Test(proc, directory_and_environment, .timeout = 30)
{
    const char *const argv[] = {"sh", "-c", "pwd -P; echo \"$A-$HOME\"", NULL};
    const char *const envp[] = {"A=1", NULL};
    autofree char *real = realpath(tmpdir(), NULL);
    struct proc_spec spec = {.argv = argv, .envp = envp, .dir = tmpdir()};
    autoproc struct proc_result r = {0};
    autostr struct str want = {0};
    cr_assert_eq(proc_run(&spec, NULL, 0, plenty, 0, &r, &err), 0, "%s", err.text);
    str_addf(&want, "%s\n1-\n", real);
    cr_assert_str_eq(r.out.ptr, want.ptr);
    const char script[] = "#!/bin/sh\necho here\n";
    cr_assert_eq(fs_write_file(tmpdir_file("x.sh"), script, strlen(script), 0755, &err), 0);
    const char *const relative[] = {"./x.sh", NULL};
    spec = (struct proc_spec){.argv = relative, .dir = tmpdir()};
    autoproc struct proc_result r2 = {0};
    cr_assert_eq(proc_run(&spec, NULL, 0, plenty, 0, &r2, &err), 0, "%s", err.text);
    cr_assert_str_eq(r2.out.ptr, "here\n");
}

Test(proc, a_child_gets_only_the_descriptors_it_is_given, .timeout = 30)
{
    int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC on purpose */
    cr_assert_eq(dup2(leaked, 100), 100);
    autoproc struct proc_result r = {0};
    cr_assert_eq(sh("for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -gt 2 ] && [ $n -lt 200 ] && "
                    "case $(readlink $f) in */dev/null) echo $n;; esac; done; true",
                    0, &r),
                 0);
    cr_assert_str_eq(str_c(&r.out), "");
    cr_assert_eq(fcntl(100, F_GETFD), 0); /* ours is still open */
}

Test(proc, descriptors_may_be_crossed, .timeout = 30)
{
    int to_out[2];
    int to_err[2];
    char got[8] = "";
    cr_assert_eq(pipe(to_out), 0);
    cr_assert_eq(pipe(to_err), 0);
    int saved_out = dup(1);
    int saved_err = dup(2);
    dup2(to_out[1], 1);
    dup2(to_err[1], 2);
    const char *const argv[] = {"sh", "-c", "echo o; echo e >&2", NULL};
    struct proc_spec spec = {.argv = argv, .stdout_fd = 2, .stderr_fd = 1};
    pid_t pid = 0;
    int code = -1;
    int rc = proc_spawn(&spec, &pid, &err);
    dup2(saved_out, 1);
    dup2(saved_err, 2);
    cr_assert_eq(rc, 0, "%s", err.text);
    cr_assert_eq(proc_wait(pid, -1, &code, &err), 0);
    cr_assert_eq(code, 0);
    cr_assert_eq(read(to_err[0], got, sizeof(got)), 2);
    cr_assert_eq(got[0], 'o');
    cr_assert_eq(read(to_out[0], got, sizeof(got)), 2);
    cr_assert_eq(got[0], 'e');
}

Test(proc, signals_are_reset_in_the_child, .timeout = 30)
{
    sigset_t all;
    sigset_t before;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    autoproc struct proc_result r = {0};
    /* the last seven digits: signals 32 and 33 are libc's own business */
    int rc =
        sh("sed -n 's/^Sig\\(Blk\\|Ign\\):.*\\(.......\\)$/\\1 \\2/p' /proc/self/status", 0, &r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    cr_assert_eq(rc, 0);
    cr_assert_str_eq(r.out.ptr, "Blk 0000000\nIgn 0000000\n");
}

Test(proc, wait_looks_waits_and_refuses_strangers, .timeout = 30)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    struct proc_spec spec = {.argv = argv, .new_session = true, .stdout_fd = -1, .stderr_fd = -1};
    pid_t pid = 0;
    int code = 77;
    uint64_t ticks = 0;
    cr_assert_eq(proc_spawn(&spec, &pid, &err), 0, "%s", err.text);
    cr_assert_eq(getsid(pid), pid);
    cr_assert(proc_start_ticks(pid, &ticks));
    cr_assert_gt(ticks, 0);
    cr_assert_eq(proc_wait(pid, 0, &code, &err), 1);
    cr_assert_eq(proc_wait(pid, 30, &code, &err), 1);
    cr_assert_eq(code, 77);
    proc_kill_group(pid);
    cr_assert_eq(proc_wait(pid, -1, &code, &err), 0);
    cr_assert_eq(code, 128 + SIGKILL);
    cr_assert_lt(proc_wait(pid, 0, &code, &err), 0);
    cr_assert_str_eq(err.name, "NotOurChild");
    cr_assert_not(proc_start_ticks(pid, &ticks));
    cr_assert_not(proc_start_ticks(-1, &ticks));
    proc_kill_group(0);
    proc_kill_group(-1);
    proc_kill_group(1);
}

Test(proc, programs_are_found_in_absolute_directories_only, .timeout = 30)
{
    autofree char *path = NULL;
    cr_assert(proc_in_path("sh", &path));
    cr_assert_eq(path[0], '/');
    cr_assert(proc_in_path("sh", NULL));
    cr_assert_not(proc_in_path("no-such-program-here", NULL));
    cr_assert_not(proc_in_path("", NULL));
    cr_assert_not(proc_in_path("/", NULL));
    cr_assert_eq(fs_write_file(tmpdir_file("mine"), "#!/bin/sh\n", 10, 0755, &err), 0);
    cr_assert_eq(fs_write_file(tmpdir_file("data"), "#!/bin/sh\n", 10, 0644, &err), 0);
    cr_assert_eq(chdir(tmpdir()), 0);
    cr_assert(proc_in_path("./mine", NULL));
    cr_assert_not(proc_in_path("./data", NULL));
    setenv("PATH", ":.::relative:", 1);
    cr_assert_not(proc_in_path("mine", NULL));
    autofree char *both = NULL;
    cr_assert_gt(asprintf(&both, "/absent:%s/:/bin", tmpdir()), 0);
    setenv("PATH", both, 1);
    autofree char *mine = NULL;
    cr_assert(proc_in_path("mine", &mine));
    cr_assert_str_eq(mine, tmpdir_file("mine"));
    cr_assert_not(proc_in_path("data", NULL));
    unsetenv("PATH");
    cr_assert(proc_in_path("sh", NULL));
}

Test(proc, an_empty_result_can_be_freed)
{
    struct proc_result r = {0};
    proc_result_free(&r);
}
