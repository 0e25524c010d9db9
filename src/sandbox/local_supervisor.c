/*
 * local_supervisor.c - the one process of a local sandbox that lives outside of it.
 *
 * Owns: starting bubblewrap, watching limits, writing down how it ended. Must not: talk to the
 * engine or need it: the engine may die and come back at any moment.
 *
 *     engine --- starts ---> launcher --- fork ---> supervisor (own session)
 *     engine <-- exit 0 ---- launcher                  writes `supervisor`, looks for `doomed`
 *                                                      fork ---> bubblewrap -> init -> guest -> ...
 *                                                      waits, watches, writes `ended`
 *
 * Kill chain: the supervisor's death kills bubblewrap (parent death signal), whose death kills the
 * sandbox's init, whose death kills everything in its pid namespace. The guest's end ends init.
 *
 * Against destroy(): it writes `doomed` and then reads `supervisor`; we write `supervisor` and then
 * look for `doomed`: at least one of the two sees the other.
 *
 * Single-threaded, so fork() is fine here.
 * Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/local_record.h"
#include "sandbox/local_start.h"
#include "sandbox/local_watch.h"

#define EXIT_FAILED 1
#define EXIT_DOOMED 3
#define LISTEN_FD_MIN 20

static int complain(const struct err *err)
{
    dprintf(STDERR_FILENO, "%s\n", err->text);
    return EXIT_FAILED;
}

static int open_log(const char *dir)
{
    autofree char *path = fs_join(dir, "log");
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        return -1;
    }
    close(fd);
    return 0;
}

static void tell_end(const struct local_record *record, int status)
{
    autofree char *text = NULL;

    if (WIFSIGNALED(status)) {
        text = mem_printf("killed by signal %d\n", WTERMSIG(status));
    } else if (WEXITSTATUS(status) == 0) {
        text = mem_strdup(record->idle_ms > 0 ? "idle timeout\n" : "its guest was told to end\n");
    } else if (WEXITSTATUS(status) > 128) {
        text = mem_printf("killed by signal %d\n", WEXITSTATUS(status) - 128);
    } else {
        text = mem_printf("its guest ended with status %d\n", WEXITSTATUS(status));
    }
    local_put_mark(record->dir, "ended", text, NULL);
}

/* Until bubblewrap has ended. Returns its wait status. */
static int watch_child(const struct local_record *record, pid_t child)
{
    struct local_watch watch = {.record = record, .supervisor = getpid()};
    int interval = local_watch_interval_ms(record);
    autoclose int fd = pidfd_open(child, 0);
    int status = 0;

    while (waitpid(child, &status, interval < 0 && fd < 0 ? 0 : WNOHANG) != child) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        poll(&wait, fd >= 0, fd >= 0 ? interval : interval < 0 ? 1000 : interval);
        if (interval >= 0) {
            local_watch_tick(&watch);
        }
    }
    return status;
}

static pid_t start_child(const struct local_record *record, int listen_fd)
{
    pid_t child = fork();

    if (child == 0) {
        struct err err = {0};
        signal(SIGHUP, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        local_start_exec(record, listen_fd, &err);
        _exit(complain(&err));
    }
    return child;
}

/* The supervisor proper. tell_fd gets one byte when it stands. */
static int supervise(const struct local_record *record, int tell_fd)
{
    struct local_ident self;
    struct err err = {0};

    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    local_ident_self(&self);
    if (local_ident_write(record->dir, &self, &err)) {
        return complain(&err);
    }
    if (local_has_mark(record->dir, "doomed")) {
        return EXIT_DOOMED;
    }
    /* Standard input is the listening socket; it moves out of the way of 0, 1 and 2. */
    int listen_fd = fcntl(STDIN_FILENO, F_DUPFD, LISTEN_FD_MIN);
    autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (listen_fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || open_log(record->dir)) {
        err_sys(&err, errno, "StartFailed", "sandbox %s: its descriptors", record->id);
        return complain(&err);
    }
    pid_t child = start_child(record, listen_fd);
    if (child < 0) {
        err_sys(&err, errno, "StartFailed", "sandbox %s: fork", record->id);
        return complain(&err);
    }
    close(listen_fd);
    if (write(tell_fd, "", 1) != 1) {
        kill(child, SIGKILL);
    }
    close(tell_fd);
    if (chdir("/")) {
        kill(child, SIGKILL);
    }
    tell_end(record, watch_child(record, child));
    return 0;
}

static int probe(int argc, char **argv)
{
    struct err err = {0};

    if (argc != 6) {
        dprintf(STDERR_FILENO, "usage: --probe BWRAP UID GID DROP\n");
        return EXIT_FAILED;
    }
    local_probe_exec(argv[2], (uid_t)strtoul(argv[3], NULL, 10), (gid_t)strtoul(argv[4], NULL, 10),
                     str_eq(argv[5], "1"), &err);
    return complain(&err);
}

int local_supervisor_main(int argc, char **argv)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    struct err err = {0};
    int tell[2];
    char byte = 0;

    if (argc >= 2 && str_eq(argv[1], "--probe")) {
        return probe(argc, argv);
    }
    if (argc != 2 || argv[1][0] != '/') {
        dprintf(STDERR_FILENO, "the sandbox supervisor is started by factory itself\n");
        return EXIT_FAILED;
    }
    autofree char *top = fs_dirname(argv[1]);
    int rc = local_record_read(arena, top, fs_basename(argv[1]), &record, &err);
    if (rc) {
        if (rc > 0) {
            err_set(&err, ERR_PERMANENT, "BadRecord", "no sandbox in %s", argv[1]);
        }
        return complain(&err);
    }
    if (pipe2(tell, O_CLOEXEC)) {
        err_sys(&err, errno, "StartFailed", "sandbox: pipe");
        return complain(&err);
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(tell[0]);
        _exit(supervise(&record, tell[1]));
    }
    close(tell[1]);
    if (pid > 0 && read(tell[0], &byte, 1) == 1) {
        return 0;
    }
    return EXIT_FAILED;
}
