/*
 * supervise.c - run one test program with a time limit and leave no process behind.
 *
 * Usage: supervise SECONDS RESULT COMMAND [ARGUMENT...]
 * Owns: the test's process tree. It is a subreaper, so whatever the test started, also what called
 * setsid() or lost its parent, is its descendant, and all of it is killed before supervise returns.
 * Must not: interpret the test's output; build-aux/run-tests does.
 * Format of RESULT, one line: OUTCOME VALUE SECONDS LEFT, where OUTCOME is exit, signal, timeout or
 * interrupted; VALUE its status, signal number or 0; SECONDS the wall time; LEFT the number of
 * processes that were still there when the test had ended.
 * Status: 0 when RESULT was written, whatever the test did; 125 otherwise. SIGINT, SIGTERM and
 * SIGHUP end the test.
 * Thread rule: single-threaded.
 * Tests: tests/tidy/selftest.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 4096 /* of one test; more are killed in the next round */
#define GRACE_MS 300       /* what ends by itself this soon after the test is not counted as left */
#define KILL_ROUNDS 500    /* of 20 ms each; what survives SIGKILL that long hangs in the kernel */

struct process {
    pid_t pid;
    pid_t parent;
};

struct outcome {
    const char *name;
    int value;
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Parses "/proc/PID/stat": the parent is the second field after the last ')'. False for zombies. */
static int read_process(const char *name, struct process *ret_process)
{
    char path[64], text[512];
    const char *at;
    char state;
    int parent;
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    f = fopen(path, "re");
    if (f == NULL) {
        return 0;
    }
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    at = strrchr(text, ')');
    if (at == NULL || sscanf(at + 1, " %c %d", &state, &parent) != 2 || state == 'Z') {
        return 0;
    }
    ret_process->pid = (pid_t)strtol(name, NULL, 10);
    ret_process->parent = parent;
    return 1;
}

static size_t read_processes(struct process *all, size_t max)
{
    size_t n = 0;
    DIR *dir = opendir("/proc");
    const struct dirent *entry;

    if (dir == NULL) {
        return 0;
    }
    while (n < max && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_process(entry->d_name, &all[n])) {
            n++;
        }
    }
    closedir(dir);
    return n;
}

/* Sends signo to every living descendant; 0 only counts them. */
static int signal_descendants(int signo)
{
    static struct process all[MAX_PROCESSES];
    static char ours[MAX_PROCESSES];
    size_t n = read_processes(all, MAX_PROCESSES);
    pid_t self = getpid();
    int found = 0, grew = 1;

    memset(ours, 0, sizeof ours);
    while (grew) {
        grew = 0;
        for (size_t i = 0; i < n; i++) {
            int parent_is_ours = all[i].parent == self;

            for (size_t j = 0; !parent_is_ours && j < n; j++) {
                parent_is_ours = ours[j] && all[j].pid == all[i].parent;
            }
            if (!ours[i] && parent_is_ours) {
                ours[i] = 1;
                grew = 1;
                found++;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (ours[i] && signo != 0) {
            kill(all[i].pid, signo);
        }
    }
    return found;
}

/* Reaps what has ended. True while there may be children. */
static int reap(void)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    return pid == 0;
}

static void nap_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* Kills everything below us; returns how many processes outlived the test. */
static int end_tree(int at_once)
{
    int left = 0;

    for (int64_t until = now_ms() + (at_once ? 0 : GRACE_MS); reap() && now_ms() < until;) {
        nap_ms(10);
    }
    if (reap()) {
        left = signal_descendants(0);
    }
    for (int round = 0; round < KILL_ROUNDS && reap(); round++) {
        signal_descendants(SIGKILL);
        nap_ms(round < 5 ? 2 : 20);
    }
    return left;
}

static pid_t start(char **argv, const sigset_t *mask)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0) {
        return pid;
    }
    setsid();
    sigprocmask(SIG_SETMASK, mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(125);
    }
    execvp(argv[0], argv);
    fprintf(stderr, "supervise: cannot run %s: %m\n", argv[0]);
    _exit(127);
}

/* Waits until the test ends, its time is over, or we are told to stop. */
static struct outcome watch(pid_t test, int64_t limit_ms, const sigset_t *signals)
{
    int64_t deadline = now_ms() + limit_ms;

    for (;;) {
        int64_t rest = deadline - now_ms();
        struct timespec wait = {.tv_sec = rest / 1000, .tv_nsec = rest % 1000 * 1000000};
        int status, signo;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid == test && WIFSIGNALED(status)) {
                return (struct outcome){"signal", WTERMSIG(status)};
            }
            if (pid == test) {
                return (struct outcome){"exit", WEXITSTATUS(status)};
            }
        }
        if (rest <= 0) {
            return (struct outcome){"timeout", 0};
        }
        signo = sigtimedwait(signals, NULL, &wait);
        if (signo > 0 && signo != SIGCHLD) {
            return (struct outcome){"interrupted", signo};
        }
    }
}

int main(int argc, char **argv)
{
    struct outcome outcome;
    sigset_t signals, before;
    int64_t began, took;
    char *end = NULL;
    long seconds;
    pid_t test;
    FILE *f;
    int left;

    seconds = argc < 4 ? 0 : strtol(argv[1], &end, 10);
    if (seconds < 1 || seconds > INT_MAX / 1000 || *end != '\0') {
        fprintf(stderr, "usage: supervise SECONDS RESULT COMMAND [ARGUMENT...]\n");
        return 125;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    began = now_ms();
    test = start(argv + 3, &before);
    if (test < 0) {
        fprintf(stderr, "supervise: fork: %m\n");
        return 125;
    }
    outcome = watch(test, seconds * 1000, &signals);
    took = now_ms() - began;
    left = end_tree(outcome.name[0] == 't' || outcome.name[0] == 'i');
    f = fopen(argv[2], "we");
    if (f == NULL || fprintf(f, "%s %d %lld.%02lld %d\n", outcome.name, outcome.value,
                             (long long)(took / 1000), (long long)(took % 1000 / 10), left) < 0) {
        fprintf(stderr, "supervise: %s: %m\n", argv[2]);
        return 125;
    }
    return fclose(f) == 0 ? 0 : 125;
}
