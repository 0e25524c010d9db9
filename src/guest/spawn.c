/*
 * spawn.c - see spawn.h. Only for a program with one thread: between fork and exec ordinary library
 * calls are made.
 * Tests: tests/unit/test_guest_process.c, tests/unit/test_guest_kill.c
 */
#include "guest/spawn.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_FD 3

static struct rlimit files_limit; /* what processes get */

void spawn_init(void)
{
    getrlimit(RLIMIT_NOFILE, &files_limit);
    struct rlimit raised = {.rlim_cur = files_limit.rlim_max, .rlim_max = files_limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
}

static void say(const char *what, const char *object, int errnum)
{
    char line[1024];
    const char *why = strerrordesc_np(errnum);
    int len = snprintf(line, sizeof(line), "factory guest: %s '%.512s': %s\n", what, object,
                       why ? why : "unknown error");
    if (write(2, line, (size_t)len) < 0) {
        _exit(126);
    }
}

/* The signal dispositions and mask of a fresh program. */
static void plain_signals(void)
{
    for (int i = 1; i < SIGRTMIN; i++) {
        signal(i, SIG_DFL); /* SIGKILL and SIGSTOP refuse, which is fine */
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* execvp says EACCES when a directory of PATH cannot be searched, even if the program is nowhere.
 */
static bool is_somewhere(const char *program)
{
    const char *path = getenv("PATH");
    char full[4096];
    if (strchr(program, '/') || !path) {
        return true;
    }
    while (*path) {
        size_t len = strcspn(path, ":");
        snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, program);
        if (access(full, F_OK) == 0) {
            return true;
        }
        path += len + (path[len] == ':');
    }
    return false;
}

no_return static void become(const struct spawn_spec *spec, pid_t supervisor)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) {
        _exit(126);
    }
    close(REPORT_FD);
    setrlimit(RLIMIT_NOFILE, &files_limit);
    plain_signals();
    if (chdir(spec->dir) < 0) {
        say("cannot enter", spec->dir, errno);
        _exit(126);
    }
    environ = spec->envp; /* whose PATH is searched, too */
    execvp(spec->argv[0], spec->argv);
    int why = errno == EACCES && !is_somewhere(spec->argv[0]) ? ENOENT : errno;
    say("cannot run", spec->argv[0], why);
    _exit(why == ENOENT || why == ENOTDIR ? 127 : 126);
}

static bool tell(const void *bytes, size_t len)
{
    return write(REPORT_FD, bytes, len) == (ssize_t)len;
}

no_return static void supervise(const struct spawn_spec *spec, const int *fds, pid_t guest)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guest) {
        _exit(1);
    }
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "guest-tree");
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* fds[] are all above REPORT_FD (see move_up), so no dup2 overwrites a later source. */
    for (int i = 0; i <= REPORT_FD; i++) {
        if (dup2(fds[i], i) < 0) {
            _exit(1);
        }
    }
    close_range(REPORT_FD + 1, ~0U, 0);
    signal(SIGCHLD, SIG_DFL);
    pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become(spec, self);
    }
    int32_t told = pid > 0 ? pid : -errno;
    if (!tell(&told, sizeof(told)) || pid < 0) {
        _exit(1); /* takes the process along */
    }
    close_range(0, 2, 0);
    for (;;) {
        int status;
        pid_t gone = waitpid(-1, &status, 0);
        if (gone == pid) {
            struct spawn_report report = {.wait_status = status};
            tell(&report, sizeof(report));
        } else if (gone < 0 && errno != EINTR) {
            _exit(0); /* ECHILD: the tree is gone */
        }
    }
}

/* Descriptors of one spawn; the child's ends are indexed by what they become. */
struct ends {
    int child[REPORT_FD + 1];
    int ours[REPORT_FD + 1];
};

/* Out of the way of 0..3, which the supervisor overwrites. */
static int move_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, REPORT_FD + 1);
    close(fd);
    return moved;
}

static bool open_pipe(struct ends *ends, int at, bool child_reads)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return false;
    }
    int child = child_reads ? fds[0] : fds[1];
    int own = child_reads ? fds[1] : fds[0];
    ends->child[at] = move_up(child);
    ends->ours[at] = own <= REPORT_FD ? move_up(own) : own;
    return ends->child[at] >= 0 && ends->ours[at] >= 0;
}

static void close_all(int *fds)
{
    for (int i = 0; i <= REPORT_FD; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static bool open_ends(struct ends *ends, bool want_stdin)
{
    for (int i = 0; i <= REPORT_FD; i++) {
        ends->child[i] = ends->ours[i] = -1;
    }
    if (want_stdin) {
        if (!open_pipe(ends, 0, true)) {
            return false;
        }
    } else {
        ends->child[0] = move_up(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    return ends->child[0] >= 0 && open_pipe(ends, 1, false) && open_pipe(ends, 2, false) &&
           open_pipe(ends, REPORT_FD, false);
}

/* The supervisor's first words: the pid, or minus errno. */
static int read_pid(int fd, pid_t *ret)
{
    int32_t told = 0;
    ssize_t len;
    do {
        len = read(fd, &told, sizeof(told));
    } while (len < 0 && errno == EINTR);
    if (len != (ssize_t)sizeof(told) || told <= 0) {
        errno = len == (ssize_t)sizeof(told) && told < 0 ? -told : ECHILD;
        return -1;
    }
    *ret = told;
    return 0;
}

int spawn_start(const struct spawn_spec *spec, struct spawned *ret, struct wire_error *error)
{
    struct ends ends;
    if (!open_ends(&ends, spec->want_stdin)) {
        int errnum = errno;
        close_all(ends.child);
        close_all(ends.ours);
        return wire_fail(error, WIRE_RESOURCE_EXHAUSTED, "error starting process: %s",
                         strerrordesc_np(errnum));
    }
    pid_t guest = getpid();
    pid_t supervisor = fork();
    if (supervisor == 0) {
        supervise(spec, ends.child, guest);
    }
    int errnum = errno;
    close_all(ends.child);
    pid_t pid = 0;
    if (supervisor < 0 || read_pid(ends.ours[REPORT_FD], &pid) < 0) {
        errnum = supervisor < 0 ? errnum : errno;
        close_all(ends.ours);
        return wire_fail(error, WIRE_RESOURCE_EXHAUSTED, "error starting process: %s",
                         strerrordesc_np(errnum));
    }
    for (int i = 0; i <= REPORT_FD; i++) {
        if (ends.ours[i] >= 0) {
            fcntl(ends.ours[i], F_SETFL, fcntl(ends.ours[i], F_GETFL) | O_NONBLOCK);
        }
    }
    *ret = (struct spawned){.pid = pid,
                            .supervisor = supervisor,
                            .in_fd = ends.ours[0],
                            .out_fd = ends.ours[1],
                            .err_fd = ends.ours[2],
                            .report_fd = ends.ours[REPORT_FD]};
    return 0;
}
