/*
 * proc_run.c - proc_run() of proc.h: one program from start to end, output captured.
 *
 *   spawn in a group of its own -> poll {stdout, stderr, pidfd} -> the program has ended (a zombie
 *   yet, so that its pid still names the group) -> kill the group -> read what is left in the pipes
 *   -> reap
 *
 * Input is handed over as an unlinked file in memory: no pipe to fill, so no deadlock between
 * feeding and reading, and no SIGPIPE.
 * Tests: tests/unit/test_base_proc.c
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_private.h"

#define READ_BYTES (32U * 1024)
#define CANCEL_POLL_MS 100
#define TURN_READS 16 /* reads before deadline and cancel flag get their look */
#define LAST_READS 64 /* the largest pipe (1 MiB) twice; a runaway writer cannot hold us longer */

/* One captured stream. */
struct capture {
    int read_fd; /* -1: not captured, or at its end */
    int write_fd;
    struct str *to;
    bool *cut;
};

struct running {
    struct capture captures[2];
    int input_fd;
    int pidfd;
    size_t max_bytes;
    char *buf;
};

static void drop(struct running *run)
{
    for (int i = 0; i < 2; i++) {
        attr_close_(&run->captures[i].read_fd);
        attr_close_(&run->captures[i].write_fd);
    }
    attr_close_(&run->input_fd);
    attr_close_(&run->pidfd);
    free(run->buf);
}

static int open_capture(struct capture *capture, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return err_sys(err, errno, "SpawnFailed", "cannot make a pipe");
    }
    capture->read_fd = ends[0];
    capture->write_fd = ends[1];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
        return err_sys(err, errno, "SpawnFailed", "cannot prepare a pipe");
    }
    return 0;
}

static int open_input(struct running *run, const void *bytes, size_t len, struct err *err)
{
    run->input_fd = memfd_create("stdin", MFD_CLOEXEC);
    if (run->input_fd < 0) {
        return err_sys(err, errno, "SpawnFailed", "cannot hold the program's input");
    }
    if (fs_write_all(run->input_fd, bytes, len, err) < 0) {
        return -1;
    }
    if (lseek(run->input_fd, 0, SEEK_SET) < 0) {
        return err_sys(err, errno, "SpawnFailed", "cannot rewind the program's input");
    }
    return 0;
}

/* Take what is there now. Closes the stream at its end. */
static void take_output(struct running *run, struct capture *capture, int reads)
{
    while (capture->read_fd >= 0 && reads-- > 0) {
        ssize_t got = read(capture->read_fd, run->buf, READ_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        if (got <= 0) {
            attr_close_(&capture->read_fd);
            capture->read_fd = -1;
            return;
        }
        size_t room = run->max_bytes - capture->to->len;
        size_t keep = (size_t)got < room ? (size_t)got : room;
        str_addn(capture->to, run->buf, keep);
        *capture->cut |= keep < (size_t)got;
    }
}

/* Wait until something happens: output, the end, or time to look at deadline and cancel flag. */
static void wait_for_event(struct running *run, int64_t deadline, bool cancellable)
{
    struct pollfd fds[3];
    nfds_t count = 0;
    for (int i = 0; i < 2; i++) {
        if (run->captures[i].read_fd >= 0) {
            fds[count++] = (struct pollfd){.fd = run->captures[i].read_fd, .events = POLLIN};
        }
    }
    if (run->pidfd >= 0) {
        fds[count++] = (struct pollfd){.fd = run->pidfd, .events = POLLIN};
    }
    poll(fds, count, proc_poll_ms(run->pidfd >= 0, deadline, cancellable ? CANCEL_POLL_MS : -1));
    for (int i = 0; i < 2; i++) {
        take_output(run, &run->captures[i], TURN_READS);
    }
}

/* Until the program has ended by itself or by us. The zombie is left for the caller. */
static int supervise(struct running *run, pid_t pid, const atomic_bool *cancel, int64_t deadline,
                     bool *ret_cancelled, struct proc_result *result, struct err *err)
{
    bool killed = false;
    for (;;) {
        int rc = proc_look(pid, false, &result->exit_code, &result->signalled);
        if (rc < 0) {
            return err_sys(err, errno, "WaitFailed", "cannot wait for process %d", (int)pid);
        }
        if (rc == 0) {
            return 0;
        }
        if (!killed && cancel && atomic_load(cancel)) {
            *ret_cancelled = killed = true;
            proc_kill_group(pid);
        }
        if (!killed && deadline >= 0 && clock_mono_ns() >= deadline) {
            result->timed_out = killed = true;
            proc_kill_group(pid);
        }
        wait_for_event(run, killed ? -1 : deadline, cancel && !killed);
    }
}

static int prepare(struct running *run, struct proc_spec *spec, const void *stdin_bytes,
                   size_t stdin_len, struct err *err)
{
    if (stdin_bytes) {
        if (open_input(run, stdin_bytes, stdin_len, err) < 0) {
            return -1;
        }
        spec->stdin_fd = run->input_fd;
    }
    int *fds[2] = {&spec->stdout_fd, &spec->stderr_fd};
    for (int i = 0; i < 2; i++) {
        if (*fds[i] == 0) {
            if (open_capture(&run->captures[i], err) < 0) {
                return -1;
            }
            *fds[i] = run->captures[i].write_fd;
        }
    }
    spec->new_group = true;
    return 0;
}

static int run_prepared(struct running *run, const struct proc_spec *spec, int64_t timeout_ms,
                        struct proc_result *result, struct err *err)
{
    pid_t pid = 0;
    bool cancelled = false;
    if (proc_spawn(spec, &pid, err) < 0) {
        return -1;
    }
    run->pidfd = pidfd_open(pid, 0);
    for (int i = 0; i < 2; i++) { /* now only the child's side holds the pipes open */
        attr_close_(&run->captures[i].write_fd);
        run->captures[i].write_fd = -1;
    }
    int64_t deadline = proc_deadline(timeout_ms > 0 ? timeout_ms : -1);
    int rc = supervise(run, pid, spec->cancel, deadline, &cancelled, result, err);
    proc_kill_group(pid);
    if (rc < 0) {
        return rc;
    }
    for (int i = 0; i < 2; i++) {
        take_output(run, &run->captures[i], LAST_READS);
    }
    proc_look(pid, true, &result->exit_code, &result->signalled);
    if (cancelled) {
        return err_set(err, ERR_CANCELLED, "Cancelled", "%s was stopped on request", spec->argv[0]);
    }
    return 0;
}

int proc_run(const struct proc_spec *spec, const void *stdin_bytes, size_t stdin_len,
             size_t max_bytes, int64_t timeout_ms, struct proc_result *ret, struct err *err)
{
    struct proc_result result = {0};
    struct proc_spec own = *spec;
    struct running run = {
        .captures = {{-1, -1, &result.out, &result.out_cut},
                     {-1, -1, &result.err, &result.err_cut}},
        .input_fd = -1,
        .pidfd = -1,
        .max_bytes = max_bytes,
        .buf = mem_grow(NULL, READ_BYTES),
    };
    int rc = prepare(&run, &own, stdin_bytes, stdin_len, err);
    if (rc == 0) {
        rc = run_prepared(&run, &own, timeout_ms, &result, err);
    }
    drop(&run);
    if (rc < 0) {
        proc_result_free(&result);
        return rc;
    }
    *ret = result;
    return 0;
}

void proc_result_free(struct proc_result *r)
{
    str_free(&r->out);
    str_free(&r->err);
    *r = (struct proc_result){0};
}
