/*
 * guest_paths.c - the path of nth.h that is the guest daemon: it serves commands, uploads and
 * downloads while a call of its own fails.
 *
 * Its client is the product's (sandbox/envd.h), for which nothing fails. What a call gets is either
 * right or an error that says what; once nothing fails any more the same daemon must answer. It
 * leaves when it is told to.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "sandbox/envd.h"
#include "tests/nth/nth.h"

#define READY_MS 3000
#define COMMAND_MS 4000
#define LEAVE_MS 5000
#define LEFT_MS 300 /* a guest that broke off a call is about to be gone */
#define FILE_BYTES 200000

static pid_t start_guest(const char *dir, int log)
{
    const char *built = getenv("abs_top_builddir");
    autofree char *program = fs_join(built ? built : ".", "guest-daemon");
    autofree char *preload = mem_printf("LD_PRELOAD=%s", nth_library);
    autofree char *plan = mem_printf("%s=%s", NTH_FILE_VARIABLE, nth_plan_file);
    const char *argv[] = {program, "--socket", "s", "--home", dir, NULL};
    const char *envp[] = {"PATH=/usr/bin:/bin", preload, plan, NULL};
    struct proc_spec spec = {.argv = argv,
                             .envp = envp,
                             .dir = dir,
                             .stdin_fd = -1,
                             .stdout_fd = log,
                             .stderr_fd = log,
                             .new_session = true};
    struct err err = {0};
    pid_t pid = -1;
    if (proc_spawn(&spec, &pid, &err) < 0) {
        fprintf(stderr, "nth: %s\n", err.text);
        _exit(3);
    }
    return pid;
}

static void run_command(struct envd *envd, struct nth_report *report)
{
    struct envd_command command = {.script = "echo word; echo other >&2; cat; exit 3",
                                   .stdin_bytes = "input",
                                   .stdin_len = 5,
                                   .timeout_ms = COMMAND_MS};
    struct envd_result result autoresult = {0};
    struct err err = {0};
    if (envd_exec(envd, &command, NULL, &result, &err) < 0) {
        nth_told(report, "exec", -1, err.text);
    } else if (result.timed_out || result.exit_code == 128 + SIGKILL) {
        nth_told(report, "exec", -1, "the command was killed, and is said to have been");
    } else if (result.exit_code != 3 || strcmp(str_c(&result.out), "word\ninput") != 0 ||
               strcmp(str_c(&result.err), "other\n") != 0) {
        nth_complain(report, "a command ends with %d, \"%s\", \"%s\"", result.exit_code,
                     str_c(&result.out), str_c(&result.err));
    }
}

static void move_files(struct envd *envd, const char *dir, struct nth_report *report)
{
    autofree char *path = fs_join(dir, "below/file");
    autofree char *content = mem_alloc(FILE_BYTES);
    autostr struct str back = {0};
    struct envd_entry_list list autoentrylist = {0};
    struct err err = {0};
    memset(content, 'x', FILE_BYTES);
    if (envd_write_file(envd, path, content, FILE_BYTES, NULL, &err) != 0) {
        nth_told(report, "upload", -1, err.text);
        return;
    }
    int rc = envd_read_file(envd, path, FILE_BYTES * 2, &back, NULL, &err);
    if (rc < 0) {
        nth_told(report, "download", -1, err.text);
    } else if (rc > 0 || back.len != FILE_BYTES || memcmp(back.ptr, content, back.len) != 0) {
        nth_complain(report, "an upload is not what comes back: %d, %zu bytes", rc, back.len);
    }
    autofree char *below = fs_join(dir, "below");
    rc = envd_list_dir(envd, below, &list, &err);
    if (rc < 0) {
        nth_told(report, "list", -1, err.text);
    } else if (rc > 0 || list.count != 1) {
        nth_complain(report, "a directory of one file is listed with %zu: %d", list.count, rc);
    }
}

/* It left by itself: may it? */
static void judge_guest(struct nth_report *report, int status, bool was_ready)
{
    bool is_for_ever = atomic_load(&nth_shared()->is_lasting);
    if (status == MEM_EXHAUSTED_EXIT && is_for_ever) {
        report->has_left = true;
    } else if (status > 128 || status == 0 || was_ready) {
        nth_complain(report, "the guest left with status %d", status);
    } else {
        nth_told(report, "guest", status, "did not start");
    }
}

static void play_guest(const char *dir, struct nth_report *report)
{
    autofree char *socket = fs_join(dir, "s");
    autofree char *name = fs_join(dir, "log");
    FILE *log = fopen(name, "we");
    struct envd_target target = {.unix_socket = socket, .base_url = (char[]){"http://sandbox"}};
    autoenvd struct envd *envd = envd_open(&target);
    struct err err = {0};
    int status = -1;
    pid_t pid = start_guest(dir, fileno(log));
    fclose(log);
    bool is_ready = envd_wait_healthy(envd, READY_MS, NULL, &err) == 0;
    if (is_ready) {
        run_command(envd, report);
        move_files(envd, dir, report);
    } else {
        nth_told(report, "health", -1, err.text);
    }
    bool may_have_left = !is_ready || report->code != 0;
    if (proc_wait(pid, may_have_left ? LEFT_MS : 0, &status, &err) == 0) {
        judge_guest(report, status, is_ready);
        return;
    }
    long at = atomic_exchange(&nth_shared()->at, 0); /* from here on nothing fails */
    /* Whoever could not be let in for want of descriptors is let in when another one goes. */
    envd = envd_close(envd);
    envd = envd_open(&target);
    if (is_ready) {
        struct nth_report after = {0};
        run_command(envd, &after);
        if (after.code || after.complaint[0]) {
            nth_complain(report, "afterwards: %s%s", after.text, after.complaint);
        }
    }
    kill(pid, SIGTERM);
    if (proc_wait(pid, LEAVE_MS, &status, &err) != 0) {
        nth_complain(report, "the guest does not leave");
        proc_kill_group(pid);
        proc_wait(pid, LEAVE_MS, &status, &err);
    } else if (status != 0 && status != 128 + SIGTERM) {
        nth_complain(report, "the guest ends with status %d", status);
    }
    atomic_store(&nth_shared()->at, at);
}

static void verify_guest(const char *dir, struct nth_report *report)
{
    (void)dir;
    (void)report;
}

const struct nth_path guest_paths[] = {
    {.name = "guest",
     .about = "the guest daemon: a command, an upload, a download, a list",
     .play = play_guest,
     .verify = verify_guest,
     .is_program = true},
    {0},
};
