/*
 * proc.c - see proc.h: spawning, finding and waiting. The capturing loop is proc_run.c.
 * Tests: tests/unit/test_base_proc.c
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc_private.h"

#define FALLBACK_POLL_MS 20 /* where pidfd_open(2) is missing or forbidden */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool give(char *path, char **ret_path)
{
    if (ret_path) {
        *ret_path = path;
    } else {
        free(path);
    }
    return true;
}

bool proc_in_path(const char *program, char **ret_path)
{
    if (program[0] == '\0') {
        return false;
    }
    if (strchr(program, '/')) {
        return is_program(program) && give(mem_strdup(program), ret_path);
    }
    const char *at = getenv("PATH");
    if (!at) {
        at = "/usr/local/bin:/usr/bin:/bin";
    }
    for (;;) {
        size_t len = strcspn(at, ":");
        if (len > 0 && at[0] == '/') { /* "" and relative ones mean wherever we happen to stand */
            autofree char *dir = mem_strndup(at, len);
            autofree char *path = fs_join(dir, program);
            if (is_program(path)) {
                return give(steal(&path), ret_path);
            }
        }
        if (at[len] == '\0') {
            return false;
        }
        at += len + 1;
    }
}

/* --- spawning -------------------------------------------------------------------------------- */

/* Where the child's 0, 1 and 2 come from, as descriptors above 2 so that none overwrites another.
 */
struct streams {
    int from[3]; /* -1: /dev/null; -2: inherit */
    int copies[3];
};

static int lift(int fd, int *copy)
{
    if (fd > STDERR_FILENO) {
        return fd;
    }
    *copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return *copy;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct proc_spec *spec,
                       const struct streams *streams)
{
    int rc = 0;
    for (int fd = 0; fd < 3 && rc == 0; fd++) {
        if (streams->from[fd] >= 0) {
            rc = posix_spawn_file_actions_adddup2(actions, streams->from[fd], fd);
        } else if (streams->from[fd] == -1) {
            rc = posix_spawn_file_actions_addopen(actions, fd, "/dev/null",
                                                  fd == 0 ? O_RDONLY : O_WRONLY, 0);
        }
    }
    if (rc == 0) {
        rc = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    }
    if (rc == 0 && spec->dir) {
        rc = posix_spawn_file_actions_addchdir_np(actions, spec->dir);
    }
    return rc;
}

static void set_attributes(posix_spawnattr_t *attr, const struct proc_spec *spec)
{
    sigset_t none;
    sigset_t all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attr, &none);
    posix_spawnattr_setsigdefault(attr, &all);
    if (spec->new_session) {
        flags = (short)(flags | POSIX_SPAWN_SETSID);
    } else if (spec->new_group) {
        flags = (short)(flags | POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(attr, 0);
    }
    posix_spawnattr_setflags(attr, flags);
}

static int spawn_failed(const struct proc_spec *spec, int why, struct err *err)
{
    if (spec->dir && !fs_is_dir(spec->dir)) {
        return err_sys(err, why, "DirectoryNotFound", "cannot start %s: no directory %s",
                       spec->argv[0], spec->dir);
    }
    return err_sys(err, why, why == ENOENT ? "ProgramNotFound" : "SpawnFailed", "cannot start %s",
                   spec->argv[0]);
}

static int spawn_path(const char *path, const struct proc_spec *spec, const struct streams *streams,
                      pid_t *ret_pid, struct err *err)
{
    /* posix_spawn() writes to neither; its prototype is older than const */
    char *const *argv = (char *const *)(uintptr_t)spec->argv;
    char *const *envp = spec->envp ? (char *const *)(uintptr_t)spec->envp : environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    set_attributes(&attr, spec);
    int rc = add_actions(&actions, spec, streams);
    pid_t pid = 0;
    if (rc == 0) {
        rc = posix_spawn(&pid, path, &actions, &attr, argv, envp);
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    if (rc != 0) {
        return spawn_failed(spec, rc, err);
    }
    *ret_pid = pid;
    return 0;
}

static int from_fd(int fd, bool is_stdin)
{
    if (fd > 0) {
        return fd;
    }
    return fd < 0 || is_stdin ? -1 : -2;
}

int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, struct err *err)
{
    autofree char *path = NULL;
    const char *program = spec->argv[0];
    if (!strchr(program, '/')) {
        if (!proc_in_path(program, &path)) {
            return err_set(err, ERR_PERMANENT, "ProgramNotFound",
                           "cannot start %s: no such program in PATH", program);
        }
        program = path;
    }
    struct streams streams = {.copies = {-1, -1, -1}};
    streams.from[0] = from_fd(spec->stdin_fd, true);
    streams.from[1] = from_fd(spec->stdout_fd, false);
    streams.from[2] = from_fd(spec->stderr_fd, false);
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) {
        if (streams.from[i] >= 0) {
            streams.from[i] = lift(streams.from[i], &streams.copies[i]);
            if (streams.from[i] < 0) {
                rc = err_sys(err, errno, "SpawnFailed", "cannot start %s", program);
            }
        }
    }
    if (rc == 0) {
        rc = spawn_path(program, spec, &streams, ret_pid, err);
    }
    for (int i = 0; i < 3; i++) {
        attr_close_(&streams.copies[i]);
    }
    return rc;
}

/* --- waiting --------------------------------------------------------------------------------- */

int proc_look(pid_t pid, bool reap, int *ret_exit, bool *ret_signalled)
{
    siginfo_t info = {0};
    int rc;
    do {
        rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | (reap ? 0 : WNOWAIT));
    } while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        return -1;
    }
    if (info.si_pid == 0) {
        return 1;
    }
    *ret_signalled = info.si_code != CLD_EXITED;
    *ret_exit = *ret_signalled ? 128 + info.si_status : info.si_status;
    return 0;
}

int proc_poll_ms(bool have_pidfd, int64_t deadline_ns, int most_ms)
{
    int64_t wait = most_ms;
    if (!have_pidfd && (wait < 0 || wait > FALLBACK_POLL_MS)) {
        wait = FALLBACK_POLL_MS;
    }
    if (deadline_ns >= 0) {
        int64_t left = deadline_ns - clock_mono_ns();
        left = left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;
        wait = wait < 0 || left < wait ? left : wait;
    }
    return wait > 3600000 ? 3600000 : (int)wait;
}

int64_t proc_deadline(int64_t timeout_ms)
{
    int64_t ns = 0;
    if (timeout_ms < 0 || __builtin_mul_overflow(timeout_ms, NS_PER_MS, &ns) ||
        __builtin_add_overflow(ns, clock_mono_ns(), &ns)) {
        return -1;
    }
    return ns;
}

int proc_wait(pid_t pid, int64_t timeout_ms, int *ret_exit, struct err *err)
{
    bool signalled = false;
    int64_t deadline = proc_deadline(timeout_ms);
    autoclose int pidfd = -1;
    for (;;) {
        int rc = proc_look(pid, true, ret_exit, &signalled);
        if (rc < 0) {
            return err_sys(err, errno, "NotOurChild", "cannot wait for process %d", (int)pid);
        }
        if (rc == 0) {
            return 0;
        }
        if (deadline >= 0 && clock_mono_ns() >= deadline) {
            return 1;
        }
        if (pidfd < 0) {
            pidfd = pidfd_open(pid, 0);
        }
        struct pollfd wait = {.fd = pidfd, .events = POLLIN};
        if (poll(&wait, 1, proc_poll_ms(pidfd >= 0, deadline, -1)) < 0 && errno != EINTR) {
            return err_sys(err, errno, "WaitFailed", "cannot wait for process %d", (int)pid);
        }
    }
}

void proc_kill_group(pid_t pid)
{
    if (pid > 1) { /* 0, 1 and -1 mean us, init or everybody */
        kill(-pid, SIGKILL);
    }
}

bool proc_start_ticks(pid_t pid, uint64_t *ret)
{
    char path[32];
    autostr struct str stat_line = {0};
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (fs_read_file(path, 4096, &stat_line, NULL) < 0) {
        return false;
    }
    const char *at = strrchr(str_c(&stat_line), ')'); /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    if (!at) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long ticks = strtoull(at + 1, &end, 10);
    if (end == at + 1 || errno != 0) {
        return false;
    }
    *ret = ticks;
    return true;
}
