/*
 * process_tree.c - see process_tree.h.
 *
 * Killing is a loop, not a call: each pass signals what /proc shows below the supervisor, and the
 * supervisor's leaving (EOF on its report pipe) is the proof that nothing is left. From the third
 * pass on the tree is stopped first, so that one that forks faster than we read cannot win.
 * A supervisor killed from inside takes its process along (parent-death signal); what else it had
 * comes to us as strays, which are killed: a tree cannot be left by killing its root.
 * Tests: tests/unit/test_guest_kill.c
 */
#include "guest/process_tree.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "guest/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define PASS_NS (5 * NS_PER_MS)
#define PASS_SLOW_NS (50 * NS_PER_MS)
#define FAST_PASSES 20

void process_exited(struct process *p, int wait_status)
{
    if (!p->exited) {
        p->exited = true;
        p->wait_status = wait_status;
        p->exited_mono_ns = clock_mono_ns();
    }
}

void process_kill(struct process *p)
{
    if (!p->killing) {
        p->killing = true;
        p->kill_next_ns = 0;
        p->killed_mono_ns = clock_mono_ns();
    }
}

/* Every living tree as a root, so that each process is counted to the nearest one. Caller frees. */
static struct tree_root *living_roots(const struct guest *guest, int64_t now, size_t *ret_count,
                                      bool *ret_stop)
{
    struct tree_root *roots = NULL;
    size_t cap = 0;
    size_t count = 0;
    *ret_stop = false;
    for (const struct process *p = guest->processes; p; p = p->next) {
        if (!p->tree_gone) {
            bool due = p->killing && now >= p->kill_next_ns;
            mem_reserve(roots, &cap, count + 1);
            roots[count++] = (struct tree_root){.pid = p->supervisor, .wanted = due};
            *ret_stop = *ret_stop || (due && p->kill_passes >= 2);
        }
    }
    *ret_count = count;
    return roots;
}

/* The supervisor is gone without a word about its process. */
static void settle_lost(struct process *p)
{
    if (kill(p->pid, SIGKILL) < 0 && errno == ESRCH) {
        process_exited(p, SIGKILL);
        process_kill(p); /* strays may hold the pipes: do not wait for them */
    }
}

static bool any_due(struct guest *guest, int64_t now)
{
    bool due = false;
    for (struct process *p = guest->processes; p; p = p->next) {
        if (p->tree_gone && !p->exited) {
            guest->strays = true;
            settle_lost(p);
        }
        due = due || (p->killing && !p->tree_gone && now >= p->kill_next_ns);
    }
    return due || guest->strays;
}

void process_kill_pass(struct guest *guest, int64_t now)
{
    if (!any_due(guest, now)) {
        return;
    }
    size_t count;
    bool stop;
    struct tree_root *roots = living_roots(guest, now, &count, &stop);
    if (stop) {
        tree_signal(roots, count, guest->strays, SIGSTOP);
    }
    int reached = tree_signal(roots, count, guest->strays, SIGKILL);
    if (reached < 0) {
        log_error("guest", "cannot read /proc: process trees cannot be killed");
    }
    size_t in_roots = 0;
    for (size_t i = 0; i < count; i++) {
        in_roots += roots[i].reached;
    }
    guest->strays = guest->strays && reached > (int)in_roots;
    free(roots);
    for (struct process *p = guest->processes; p; p = p->next) {
        if (p->killing && !p->tree_gone && now >= p->kill_next_ns) {
            kill(p->supervisor, SIGCONT); /* a stopped one could not reap */
            p->kill_passes++;
            p->kill_next_ns = now + (p->kill_passes < FAST_PASSES ? PASS_NS : PASS_SLOW_NS);
        }
    }
}

int process_signal(struct process *p, int signal, struct wire_error *error)
{
    if (p->tree_gone || (p->ended && tree_count(p->supervisor) == 0)) {
        return wire_fail(error, WIRE_NOT_FOUND, "process with pid %d not found", p->pid);
    }
    if (signal == SIGKILL) {
        process_kill(p);
        process_kill_pass(p->guest, clock_mono_ns());
        return 0;
    }
    size_t count;
    bool stop;
    struct tree_root *roots = living_roots(p->guest, 0, &count, &stop);
    for (size_t i = 0; i < count; i++) {
        roots[i].wanted = roots[i].pid == p->supervisor;
    }
    int reached = tree_signal(roots, count, false, signal);
    free(roots);
    if (reached < 0) {
        return wire_fail(error, WIRE_INTERNAL, "error sending signal: /proc cannot be read");
    }
    return 0;
}

void process_reap(struct guest *guest)
{
    int status;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
        for (struct process *p = guest->processes; p; p = p->next) {
            if (p->supervisor == pid && status != 0) {
                guest->strays = true; /* killed, not left: what it had is ours now */
            }
            if (p->pid == pid && !p->exited) { /* ours only when its supervisor is gone */
                process_exited(p, status);
                process_kill(p);
            }
        }
    }
}

size_t process_alive(const struct guest *guest)
{
    size_t alive = 0;
    for (const struct process *p = guest->processes; p; p = p->next) {
        alive += !p->ended || !p->tree_gone;
    }
    return alive;
}

void process_kill_all(struct guest *guest)
{
    for (struct process *p = guest->processes; p; p = p->next) {
        process_kill(p);
    }
    process_kill_pass(guest, clock_mono_ns());
}
