/*
 * process.c - see process.h.
 *
 * Owns: starting, reading, feeding, ending and forgetting. The life of the tree (signals, kill
 * passes, reaping) is process_tree.c.
 * Back-pressure: a pipe is read only while every reader that still reads has room in the ring; one
 * that has not pulled for STALL_NS does not count (stream_is_holding).
 * Tests: tests/unit/test_guest_process.c, tests/unit/test_guest_limits.c
 */
#include "guest/process.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "guest/process_tree.h"
#include "guest/spawn.h"
#include "guest/stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES ((size_t)32 << 10)
#define STRAYS_NS (10 * NS_PER_MS)
#define HOLD_RECHECK_NS (250 * NS_PER_MS)
#define AFTER_KILL_NS (200 * NS_PER_MS) /* an inherited pipe may outlive a killed tree */
#define ENDED_BYTES_MAX ((size_t)64 << 20)

/* --- output --- */

static bool has_room(const struct process *p, int k)
{
    for (const struct stream *s = p->streams; s; s = stream_next(s)) {
        if (stream_is_holding(s) && output_room(&p->output[k], stream_pos(s, k)) < READ_BYTES) {
            return false;
        }
    }
    return true;
}

static void wake_streams(struct process *p)
{
    for (struct stream *s = p->streams; s; s = stream_next(s)) {
        stream_wake(s);
    }
}

/* Bytes are lost, and only that: the process itself goes on. */
static void note_broken(struct process *p, int errnum)
{
    log_error("guest", "process %d: a pipe to it fails: %s", p->pid, strerrorname_np(errnum));
    p->broken = errnum;
}

static void read_pipe(struct process *p, int k)
{
    static char buffer[READ_BYTES];
    if (!has_room(p, k)) {
        loop_set(p->guest->loop_fd, &p->pipe[k], 0);
        p->held = true;
        return;
    }
    ssize_t len = read(p->pipe[k].fd, buffer, sizeof(buffer));
    if (len > 0) {
        output_write(&p->output[k], buffer, (size_t)len);
        wake_streams(p);
    } else if (len == 0) {
        loop_close(p->guest->loop_fd, &p->pipe[k]);
    } else if (errno != EAGAIN && errno != EINTR) {
        note_broken(p, errno);
        loop_close(p->guest->loop_fd, &p->pipe[k]);
    }
}

static void out_ready(struct watch *watch, uint32_t events is_unused)
{
    read_pipe(watch->user, OUT);
}

static void err_ready(struct watch *watch, uint32_t events is_unused)
{
    read_pipe(watch->user, ERR);
}

void process_unhold(struct process *p)
{
    if (p->held) {
        p->held = false;
        loop_set(p->guest->loop_fd, &p->pipe[OUT], EPOLLIN);
        loop_set(p->guest->loop_fd, &p->pipe[ERR], EPOLLIN);
    }
}

/* --- stdin --- */

static void wake_waiters(struct process *p)
{
    while (p->waiters) {
        struct process_waiter *waiter = p->waiters;
        p->waiters = waiter->next;
        waiter->next = NULL;
        waiter->wake(waiter->user);
    }
}

static void close_stdin(struct process *p)
{
    loop_close(p->guest->loop_fd, &p->in);
    str_free(&p->in_queue);
    p->in_off = 0;
    wake_waiters(p);
}

/* Write what the pipe takes now; wait for the rest. */
static void flush_stdin(struct process *p)
{
    while (p->in.fd >= 0 && p->in_off < p->in_queue.len) {
        ssize_t len = write(p->in.fd, p->in_queue.ptr + p->in_off, p->in_queue.len - p->in_off);
        if (len > 0) {
            p->in_off += (size_t)len;
        } else if (errno == EAGAIN) {
            loop_set(p->guest->loop_fd, &p->in, EPOLLOUT);
            return;
        } else if (errno != EINTR) {
            if (errno != EPIPE) { /* else nobody reads it any more */
                note_broken(p, errno);
            }
            close_stdin(p);
            return;
        }
    }
    str_reset(&p->in_queue);
    p->in_off = 0;
    loop_set(p->guest->loop_fd, &p->in, 0);
    if (p->in_closing) {
        close_stdin(p);
    }
    wake_waiters(p);
}

static void in_ready(struct watch *watch, uint32_t events is_unused)
{
    flush_stdin(watch->user);
}

int process_input(struct process *p, const char *bytes, size_t len, struct wire_error *error)
{
    if (p->in.fd < 0 || p->in_closing) {
        return wire_fail(error, WIRE_INTERNAL,
                         "error writing to stdin: stdin of process %d is disabled or closed",
                         p->pid);
    }
    size_t queued = p->in_queue.len - p->in_off;
    if (queued > 0 && queued + len > PROCESS_INPUT_MAX) {
        return 1;
    }
    str_addn(&p->in_queue, bytes, len);
    flush_stdin(p);
    return 0;
}

void process_wait_input(struct process *p, struct process_waiter *waiter)
{
    waiter->next = p->waiters;
    p->waiters = waiter;
}

void process_forget_waiter(struct process *p, const struct process_waiter *waiter)
{
    for (struct process_waiter **at = &p->waiters; *at; at = &(*at)->next) {
        if (*at == waiter) {
            *at = waiter->next;
            return;
        }
    }
}

int process_close_stdin(struct process *p, struct wire_error *error)
{
    if (p->in.fd < 0) {
        return wire_fail(error, WIRE_INTERNAL,
                         "error closing stdin: stdin of process %d is disabled or closed", p->pid);
    }
    p->in_closing = true;
    flush_stdin(p);
    return 0;
}

/* --- start --- */

static void report_ready(struct watch *watch, uint32_t events is_unused)
{
    struct process *p = watch->user;
    struct spawn_report report;
    ssize_t len = read(watch->fd, &report, sizeof(report));
    if (len == (ssize_t)sizeof(report)) {
        process_exited(p, report.wait_status);
    } else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
        loop_close(p->guest->loop_fd, watch);
        p->tree_gone = true;
    }
}

static void add_var(char ***vars, size_t *count, size_t *cap, char *text)
{
    size_t len = strcspn(text, "=") + 1;
    for (size_t i = 0; i < *count; i++) {
        if (strncmp((*vars)[i], text, len) == 0) {
            free((*vars)[i]);
            (*vars)[i] = text;
            return;
        }
    }
    mem_reserve(*vars, cap, *count + 2);
    (*vars)[(*count)++] = text;
    (*vars)[*count] = NULL;
}

/* PATH HOME USER LOGNAME, then /init's, then the request's; the last one of a name wins. */
static char **environment(const struct guest *guest, char *const *envs)
{
    char **vars = NULL;
    size_t count = 0;
    size_t cap = 0;
    add_var(&vars, &count, &cap, mem_printf("PATH=%s", guest->path));
    add_var(&vars, &count, &cap, mem_printf("HOME=%s", guest->home));
    add_var(&vars, &count, &cap, mem_printf("USER=%s", guest->user));
    add_var(&vars, &count, &cap, mem_printf("LOGNAME=%s", guest->user));
    for (size_t i = 0; i < guest->var_count; i++) {
        add_var(&vars, &count, &cap, mem_strdup(guest->vars[i]));
    }
    for (; *envs; envs++) {
        add_var(&vars, &count, &cap, mem_strdup(*envs));
    }
    return vars;
}

static void watch_init(struct process *p, struct watch *watch, int fd,
                       void (*ready)(struct watch *, uint32_t))
{
    *watch = (struct watch){.fd = fd, .ready = ready, .user = p};
}

static struct process *adopt(struct guest *guest, const struct process_request *request,
                             const struct spawned *spawned)
{
    struct process *p = mem_alloc(sizeof(*p));
    p->guest = guest;
    p->pid = spawned->pid;
    p->supervisor = spawned->supervisor;
    p->tag = mem_strdup(request->tag);
    p->config = mem_strdup(request->config);
    p->started_wall_ns = clock_wall_ns();
    p->deadline_mono_ns =
        request->timeout_ms > 0 ? clock_mono_ns() + request->timeout_ms * NS_PER_MS : 0;
    output_init(&p->output[OUT], guest->head_bytes, guest->tail_bytes);
    output_init(&p->output[ERR], guest->head_bytes, guest->tail_bytes);
    watch_init(p, &p->in, spawned->in_fd, in_ready);
    watch_init(p, &p->pipe[OUT], spawned->out_fd, out_ready);
    watch_init(p, &p->pipe[ERR], spawned->err_fd, err_ready);
    watch_init(p, &p->report, spawned->report_fd, report_ready);
    loop_set(guest->loop_fd, &p->pipe[OUT], EPOLLIN);
    loop_set(guest->loop_fd, &p->pipe[ERR], EPOLLIN);
    loop_set(guest->loop_fd, &p->report, EPOLLIN);
    p->next = guest->processes;
    guest->processes = p;
    return p;
}

int process_start(struct guest *guest, const struct process_request *request, struct process **ret,
                  struct wire_error *error)
{
    struct stat st;
    if (process_alive(guest) >= guest->max_processes) {
        return wire_fail(error, WIRE_RESOURCE_EXHAUSTED, "%zu processes are running already",
                         guest->max_processes);
    }
    if (stat(request->cwd, &st) < 0 || !S_ISDIR(st.st_mode)) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "cwd '%.256s' does not exist", request->cwd);
    }
    char **vars = environment(guest, request->envs);
    struct spawned spawned;
    int rc = spawn_start(&(struct spawn_spec){.argv = request->argv,
                                              .envp = vars,
                                              .dir = request->cwd,
                                              .want_stdin = request->want_stdin},
                         &spawned, error);
    for (char **var = vars; *var; var++) {
        free(*var);
    }
    free(vars);
    if (rc < 0) {
        return rc;
    }
    *ret = adopt(guest, request, &spawned);
    log_info("guest", "process %d started tag=%s", (*ret)->pid, request->tag ? request->tag : "-");
    return 0;
}

struct process *process_find(const struct guest *guest, pid_t pid, const char *tag)
{
    struct process *ended = NULL;
    for (struct process *p = guest->processes; p; p = p->next) {
        bool match = pid > 0 ? p->pid == pid : p->tag && str_eq(p->tag, tag);
        if (match && !p->ended) {
            return p;
        }
        ended = match && !ended ? p : ended;
    }
    return ended;
}

/* --- end --- */

static void finish(struct process *p)
{
    loop_close(p->guest->loop_fd, &p->pipe[OUT]);
    loop_close(p->guest->loop_fd, &p->pipe[ERR]);
    close_stdin(p);
    p->ended = true;
    p->ended_wall_ns = clock_wall_ns();
    guest_touch(p->guest);
    wake_streams(p);
    log_info("guest", "process %d ended %s %d%s", p->pid,
             WIFSIGNALED(p->wait_status) ? "by signal" : "with status",
             WIFSIGNALED(p->wait_status) ? WTERMSIG(p->wait_status) : WEXITSTATUS(p->wait_status),
             p->timed_out ? " (timeout)" : "");
}

static int64_t give_up_ns(const struct process *p)
{
    int64_t from = p->killed_mono_ns > p->exited_mono_ns ? p->killed_mono_ns : p->exited_mono_ns;
    return from + AFTER_KILL_NS;
}

static bool is_over(const struct process *p, int64_t now)
{
    if (!p->exited || p->ended) {
        return false;
    }
    bool open = p->pipe[OUT].fd >= 0 || p->pipe[ERR].fd >= 0;
    return !open || (p->killing && !p->held && now > give_up_ns(p));
}

static void destroy(struct process *p)
{
    for (int k = 0; k < STREAMS; k++) {
        loop_close(p->guest->loop_fd, &p->pipe[k]);
        output_free(&p->output[k]);
    }
    loop_close(p->guest->loop_fd, &p->in);
    loop_close(p->guest->loop_fd, &p->report);
    str_free(&p->in_queue);
    free(p->tag);
    free(p->config);
    free(p);
}

static bool can_go(const struct process *p)
{
    return p->ended && p->tree_gone && !p->streams && !p->waiters;
}

/* The one to forget: the oldest that was collected, else the oldest. */
static struct process **victim(struct guest *guest)
{
    struct process **oldest = NULL;
    struct process **collected = NULL;
    for (struct process **at = &guest->processes; *at; at = &(*at)->next) {
        if (can_go(*at)) {
            oldest = at;
            collected = (*at)->collected ? at : collected;
        }
    }
    return collected ? collected : oldest;
}

static void evict(struct guest *guest)
{
    size_t count = 0;
    size_t bytes = 0;
    for (const struct process *p = guest->processes; p; p = p->next) {
        if (can_go(p)) {
            count++;
            bytes += output_memory(&p->output[OUT]) + output_memory(&p->output[ERR]);
        }
    }
    while (count > GUEST_ENDED_MAX || (bytes > ENDED_BYTES_MAX && count > 1)) {
        struct process **at = victim(guest);
        if (!at) {
            return;
        }
        struct process *gone = *at;
        *at = gone->next;
        count--;
        bytes -= output_memory(&gone->output[OUT]) + output_memory(&gone->output[ERR]);
        destroy(gone);
    }
}

void process_housekeep(struct guest *guest)
{
    int64_t now = clock_mono_ns();
    process_kill_pass(guest, now);
    for (struct process *p = guest->processes; p; p = p->next) {
        if (!p->ended && p->deadline_mono_ns && now >= p->deadline_mono_ns && !p->timed_out) {
            p->timed_out = true;
            process_kill(p);
        }
        if (is_over(p, now)) {
            finish(p);
        }
        process_unhold(p); /* to look again whether its readers still hold it */
    }
    evict(guest);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t process_due(const struct guest *guest)
{
    int64_t now = clock_mono_ns();
    int64_t due = guest->strays ? now + STRAYS_NS : INT64_MAX;
    for (const struct process *p = guest->processes; p; p = p->next) {
        if (!p->ended && p->deadline_mono_ns && !p->timed_out) {
            due = earlier(due, p->deadline_mono_ns);
        }
        if (p->killing && !p->tree_gone) {
            due = earlier(due, p->kill_next_ns);
        }
        if (p->killing && p->exited && !p->ended) {
            due = earlier(due, give_up_ns(p) + NS_PER_MS);
        }
        if (p->tree_gone && !p->exited) { /* its process is dying without a supervisor */
            due = earlier(due, now + STRAYS_NS);
        }
        if (p->held) {
            due = earlier(due, now + HOLD_RECHECK_NS);
        }
    }
    return due;
}

void process_abandon_all(struct guest *guest)
{
    for (struct process *p = guest->processes; p; p = p->next) {
        close_stdin(p);
    }
}

void process_free_all(struct guest *guest)
{
    while (guest->processes) {
        struct process *p = guest->processes;
        guest->processes = p->next;
        destroy(p);
    }
}
