/*
 * test_sandbox_jobs.c - what every sandbox provider must do: jobs that outlive their starter,
 * files.
 *
 * Run once per row of sandbox_providers.h.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/rng.h"
#include "sandbox_providers.h"

#define JOB "/workspace/.factory/jobs/agent 1"

TestSuite(contract, .timeout = 120);

/* --- jobs ------------------------------------------------------------------------------------- */

EACH(a_job_is_started_once_and_followed)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const env[] = {"WORD=with env", NULL};
    struct envd_command job = {
        .script =
            "echo run >>/workspace/count; cat; echo \"$1 $WORD\"; pwd; echo bad >&2; sleep 0.3; "
            "echo end; exit 4",
        .script_args = (const char *const[]){"first arg", NULL},
        .env = env,
        .dir = "/tmp",
        .stdin_bytes = "the prompt\n",
        .stdin_len = 11,
    };
    struct envd_command follow = {.timeout_ms = 60000};
    struct envd_job_pos pos = {0};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    int64_t pid = 0;

    cr_assert_eq(envd_job_start(envd, JOB, &job, &pid, &err), 0, "%s", err.text);
    cr_expect_gt(pid, 1);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(envd_job_start(envd, JOB, &job, &pid, &err), ENVD_EXISTS, "%s", err.text);
    }
    int rc = envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, &err);
    cr_assert_eq(rc, 0, "%d %s", rc, err.text);
    cr_expect_eq(result.exit_code, 4);
    cr_expect_eq(result.pid, pid);
    cr_expect_str_eq(str_c(&result.out), "the prompt\nfirst arg with env\n/tmp\nend\n");
    cr_expect_str_eq(str_c(&result.err), "bad\n");
    cr_expect_eq(pos.out_offset, (int64_t)result.out.len);
    cr_expect_eq(envd_job_start(envd, JOB, &job, &pid, &err), ENVD_EXISTS, "after its end");
    expect_output(envd, "cat /workspace/count; ls '" JOB "'/..", "run\nagent 1\n");
    end_all(provider);
}

static void *start_job(void *arg)
{
    struct envd *envd = envd_open(arg);
    const char *const argv[] = {"sh", "-c", "echo run >>/workspace/count", NULL};
    struct envd_command job = {.argv = argv};
    int64_t pid = 0;
    int rc = envd_job_start(envd, JOB, &job, &pid, NULL);

    envd_close(envd);
    return (void *)(intptr_t)rc;
}

EACH(many_starters_start_one_job)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    pthread_t threads[6];
    int started = 0;

    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, start_job, &sandbox->target), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *rc = NULL;
        pthread_join(threads[i], &rc);
        started += rc == NULL;
        cr_expect(rc == NULL || (intptr_t)rc == ENVD_EXISTS, "%d", (int)(intptr_t)rc);
    }
    cr_expect_eq(started, 1);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command follow = {.timeout_ms = 60000};
    struct envd_job_pos pos = {0};
    autoresult struct envd_result result = {0};
    cr_assert_eq(envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, NULL), 0);
    expect_output(envd, "cat /workspace/count", "run\n");
    end_all(provider);
}

static int leave_after_first(void *user, enum envd_stream stream, const void *bytes, size_t len)
{
    (void)stream;
    (void)bytes;
    (void)len;
    return ++*(int *)user; /* stop at once */
}

/* The follower dies by SIGKILL; the next one goes on from the offsets that it had written down. */
EACH(a_job_is_followed_from_where_a_killed_follower_stood)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    struct envd_command job = {
        .script = "echo one; while [ ! -e /workspace/go ]; do sleep 0.02; done; echo two; exit 9"};
    struct envd_job_pos pos = {0};
    int pipe_fds[2];
    struct err err = {0};

    cr_assert_eq(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (child == 0) {
        struct envd *envd = envd_open(&sandbox->target);
        int seen = 0;
        struct envd_command follow = {.on_output = leave_after_first, .user = &seen};
        struct envd_result result = {0};
        int64_t pid = 0;
        if (envd_job_start(envd, JOB, &job, &pid, NULL) == 0 &&
            envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, NULL) == ENVD_CANCELLED &&
            write(pipe_fds[1], &pos, sizeof(pos)) == sizeof(pos)) {
            kill(getpid(), SIGKILL);
        }
        _exit(1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status), "the first follower failed");
    cr_assert_eq(read(pipe_fds[0], &pos, sizeof(pos)), (ssize_t)sizeof(pos));
    cr_expect_eq(pos.out_offset, 4);

    struct sandbox *again = NULL;
    cr_assert_eq(provider->ops->reattach(provider, sandbox->id, NULL, &again, &err), 0, "%s",
                 err.text);
    autoenvd struct envd *envd = envd_open(&again->target);
    enum envd_job_state state = ENVD_JOB_LOST;
    int code = 0;
    cr_expect_eq(envd_job_look(envd, JOB, &state, &code, &err), 0);
    cr_expect_eq(state, ENVD_JOB_RUNNING);
    cr_assert_eq(envd_write_file(envd, "/workspace/go", "", 0, NULL, &err), 0, "%s", err.text);
    struct envd_command follow = {.timeout_ms = 60000};
    autoresult struct envd_result result = {0};
    cr_assert_eq(envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_str_eq(str_c(&result.out), "two\n");
    cr_expect_eq(result.exit_code, 9);
    cr_expect_eq(envd_job_look(envd, JOB, &state, &code, &err), 0);
    cr_expect_eq(state, ENVD_JOB_ENDED);
    cr_expect_eq(code, 9);
    sandbox_free(again);
    end_all(provider);
}

static void expect_no_sleepers(struct envd *envd)
{
    expect_output(envd, "grep -l '^sleep.1234' /proc/[0-9]*/cmdline 2>/dev/null; true", "");
}

EACH(a_late_job_is_ended_with_all_it_started)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command job = {
        .script =
            "trap 'echo bye; exit 6' TERM; echo up; setsid sleep 1234 & (setsid sleep 1234 &); "
            "while :; do sleep 0.05; done"};
    struct envd_command follow = {.timeout_ms = 500, .grace_ms = 20000};
    struct envd_job_pos pos = {0};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    int64_t pid = 0;

    cr_assert_eq(envd_job_start(envd, JOB, &job, &pid, &err), 0, "%s", err.text);
    int rc = envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, &err);
    cr_assert_eq(rc, 0, "%d %s", rc, err.text);
    cr_expect(result.timed_out);
    cr_expect_str_eq(str_c(&result.out), "up\nbye\n", "%s", str_c(&result.out));
    cr_expect_eq(result.exit_code, 6, "%d", result.exit_code);
    expect_no_sleepers(envd);
    end_all(provider);
}

EACH(a_cancelled_follower_leaves_the_job_running)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command job = {.script = "trap '' TERM; echo up; sleep 1234; sleep 1234"};
    atomic_bool cancel = true;
    struct envd_command follow = {.timeout_ms = 60000};
    struct envd_job_pos pos = {0};
    enum envd_job_state state = ENVD_JOB_LOST;
    struct err err = {0};
    int code = 0;
    int64_t pid = 0;

    cr_assert_eq(envd_job_start(envd, JOB, &job, &pid, &err), 0, "%s", err.text);
    autoresult struct envd_result result = {0};
    cr_expect_eq(envd_job_follow(envd, JOB, &follow, &pos, &cancel, &result, &err), ENVD_CANCELLED);
    cr_expect_eq(envd_job_look(envd, JOB, &state, &code, &err), 0);
    cr_expect_eq(state, ENVD_JOB_RUNNING);
    /* It does not listen to SIGTERM once the trap is set. Whether its wrapper still writes down the
     * 137 is a race. */
    cr_expect_eq(envd_job_kill(envd, JOB, 200, &err), 0, "%s", err.text);
    expect_no_sleepers(envd);
    cr_expect_eq(envd_job_look(envd, JOB, &state, &code, &err), 0);
    cr_expect(state == ENVD_JOB_LOST || (state == ENVD_JOB_ENDED && (code == 137 || code == 143)));
    envd_result_free(&result);
    int rc = envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, &err);
    cr_expect(rc == ENVD_LOST || (rc == 0 && result.exit_code == code), "%d %s", rc, err.text);
    cr_expect_eq(envd_job_kill(envd, JOB, 0, &err), 0, "twice: %s", err.text);
    end_all(provider);
}

EACH(a_job_without_its_wrapper_is_lost)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command job = {.script = "echo up; sleep 1234"};
    struct envd_command follow = {.timeout_ms = 60000};
    struct envd_job_pos pos = {0};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    int64_t pid = 0;

    cr_assert_eq(envd_job_start(envd, JOB, &job, &pid, &err), 0, "%s", err.text);
    expect_output(envd,
                  "cd '" JOB "'; while [ ! -s stdout ]; do sleep 0.01; done; "
                  "kill -9 $(cat wrapper) $(cat pid)",
                  "");
    int rc = envd_job_follow(envd, JOB, &follow, &pos, NULL, &result, &err);
    cr_expect_eq(rc, ENVD_LOST, "%d %s", rc, err.text);
    cr_expect_str_eq(str_c(&result.out), "up\n");
    cr_expect_eq(result.exit_code, -1);
    end_all(provider);
}

EACH(a_job_that_never_was_is_absent)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command follow = {.timeout_ms = 1000};
    struct envd_job_pos pos = {0};
    struct envd_result result = {0};
    enum envd_job_state state = ENVD_JOB_LOST;
    struct err err = {0};
    int code = 0;
    int64_t pid = 0;

    cr_expect_eq(envd_job_follow(envd, "/workspace/none", &follow, &pos, NULL, &result, &err),
                 ENVD_ABSENT);
    cr_expect_eq(envd_job_look(envd, "/workspace/none", &state, &code, &err), ENVD_ABSENT);
    cr_expect_eq(envd_job_kill(envd, "/workspace/none", 0, &err), ENVD_ABSENT);
    struct envd_command job = {.script = "true", .stdin_path = "/no/such/input"};
    cr_expect_eq(envd_job_start(envd, "/workspace/none", &job, &pid, &err), -1);
    cr_expect_eq(envd_job_start(envd, "relative", &job, &pid, &err), -1);
    cr_expect_eq(envd_job_look(envd, "/workspace/none", &state, &code, &err), ENVD_ABSENT);
    end_all(provider);
}

/* --- files ------------------------------------------------------------------------------------ */

EACH(files_go_in_and_out)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *path = "/workspace/new dir/ü&?#%=+/a\"b\n.txt";
    autostr struct str text = {0};
    autoentry struct envd_entry entry = {0};
    struct err err = {0};

    cr_expect_eq(envd_read_file(envd, path, 100, &text, NULL, &err), ENVD_ABSENT);
    cr_expect_eq(envd_stat(envd, path, &entry, &err), ENVD_ABSENT);
    cr_assert_eq(envd_write_file(envd, path, "a\0b\xff", 4, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(envd_read_file(envd, path, 100, &text, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(text.len, 4);
    cr_expect_eq(memcmp(text.ptr, "a\0b\xff", 4), 0);
    cr_expect_eq(envd_read_file(envd, path, 3, &text, NULL, &err), -1);
    cr_expect_str_eq(err.name, "FileTooLarge");
    cr_expect_eq(text.len, 4, "a failed read left something behind");
    cr_assert_eq(envd_stat(envd, path, &entry, &err), 0, "%s", err.text);
    cr_expect_eq(entry.type, ENVD_FILE);
    cr_expect_eq(entry.size, 4);
    cr_assert_eq(envd_write_file(envd, path, "", 0, NULL, &err), 0, "%s", err.text);
    str_reset(&text);
    cr_assert_eq(envd_read_file(envd, path, 100, &text, NULL, &err), 0, "%s", err.text);
    cr_expect_eq(text.len, 0);
    cr_expect_eq(envd_write_file(envd, "/usr/bin/evil", "x", 1, NULL, &err), -1);
    cr_expect_eq(envd_write_file(envd, "relative", "x", 1, NULL, &err), -1);
    cr_expect_eq(envd_read_file(envd, "/workspace", 100, &text, NULL, &err), -1, "a directory");
    end_all(provider);
}

EACH(directories_are_made_listed_moved_removed)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    autoentrylist struct envd_entry_list list = {0};
    struct err err = {0};

    cr_assert_eq(envd_mkdir(envd, "/workspace/a/b/c", &err), 0, "%s", err.text);
    cr_expect_eq(envd_mkdir(envd, "/workspace/a/b/c", &err), ENVD_EXISTS);
    cr_assert_eq(envd_write_file(envd, "/workspace/a/file", "xyz", 3, NULL, &err), 0);
    expect_output(envd, "ln -s nowhere /workspace/a/link", "");
    cr_assert_eq(envd_list_dir(envd, "/workspace/a", &list, &err), 0, "%s", err.text);
    cr_assert_eq(list.count, 3);
    for (size_t i = 0; i < list.count; i++) {
        const char *name = list.items[i].name;
        enum envd_type type = list.items[i].type;
        cr_expect(str_eq(name, "b")      ? type == ENVD_DIRECTORY
                  : str_eq(name, "file") ? type == ENVD_FILE && list.items[i].size == 3
                                         : str_eq(name, "link") && type == ENVD_SYMLINK,
                  "%s", name);
    }
    cr_expect_eq(envd_list_dir(envd, "/workspace/none", &list, &err), ENVD_ABSENT);
    cr_assert_eq(envd_move(envd, "/workspace/a/file", "/workspace/d/e", &err), 0, "%s", err.text);
    cr_expect_eq(envd_move(envd, "/workspace/a/file", "/workspace/d/f", &err), ENVD_ABSENT);
    cr_assert_eq(envd_remove(envd, "/workspace/a", &err), 0, "%s", err.text);
    cr_assert_eq(envd_remove(envd, "/workspace/a", &err), 0, "%s", err.text);
    expect_output(envd, "cd /workspace; find . | sort", ".\n./d\n./d/e\n");
    end_all(provider);
}

EACH(large_files_are_streamed)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const size_t size = 40u * 1024 * 1024 + 13;
    autofree char *bytes = mem_alloc(size);
    char in[SHA256_HEX_BYTES];
    char out[SHA256_HEX_BYTES];
    uint64_t got = 0;
    struct err err = {0};

    for (size_t i = 0; i + 8 <= size; i += 512) {
        uint64_t word = rng_u64();
        memcpy(bytes + i, &word, 8);
    }
    sha256_hex(bytes, size, in);
    cr_assert_eq(fs_write_file(tmpdir_file("big"), bytes, size, 0600, &err), 0, "%s", err.text);
    autoclose int from = open(tmpdir_file("big"), O_RDONLY | O_CLOEXEC);
    autoclose int to = open(tmpdir_file("back"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(envd_write_fd(envd, "/workspace/x/big", from, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(envd_read_fd(envd, "/workspace/x/big", 0, 0, to, &got, NULL, &err), 0, "%s",
                 err.text);
    cr_expect_eq(got, size);
    cr_assert_eq(sha256_file(tmpdir_file("back"), out, NULL, &err), 0, "%s", err.text);
    cr_expect_str_eq(in, out);
    cr_assert_eq(ftruncate(to, 0) | (int)lseek(to, 0, SEEK_SET), 0);
    cr_assert_eq(envd_read_fd(envd, "/workspace/x/big", size - 5, 0, to, &got, NULL, &err), 0, "%s",
                 err.text);
    cr_expect_eq(got, 5);
    cr_assert_eq(envd_read_fd(envd, "/workspace/x/big", size, 0, to, &got, NULL, &err), 0, "%s",
                 err.text);
    cr_expect_eq(got, 0);
    cr_expect_eq(envd_read_fd(envd, "/workspace/x/big", 0, 1000, to, &got, NULL, &err), -1);
    cr_expect_str_eq(err.name, "FileTooLarge");
    cr_expect_eq(envd_read_fd(envd, "/workspace/x/none", 0, 0, to, &got, NULL, &err), ENVD_ABSENT);
    end_all(provider);
}
