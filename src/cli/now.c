/*
 * now.c - see now.h.
 * Tests: tests/cli/t0615-status.sh
 */
#include "cli/now.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/format.h"
#include "cli/result.h"

#define TAIL_BYTES 4096
#define LABEL_COLUMNS 9

/* --- the log that grows ----------------------------------------------------------------------- */

bool now_last_line(struct cli *cli, const char *run_id, const char *path, struct str *ret,
                   int64_t *ret_at_ns)
{
    autofree char *full = result_path(cli->config->data_dir, run_id, path);
    autoclose int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    char bytes[TAIL_BYTES];
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        return false;
    }
    off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t got = pread(fd, bytes, sizeof(bytes), from);
    size_t end = got > 0 ? (size_t)got : 0;
    *ret_at_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    while (end && strchr(" \t\r\n", bytes[end - 1])) {
        end--;
    }
    size_t begin = end;
    while (begin && bytes[begin - 1] != '\n' && bytes[begin - 1] != '\r') {
        begin--;
    }
    format_clean(ret, bytes + begin, end - begin);
    return true;
}

static bool step_output(const struct now *n, struct str *line, int64_t *at_ns)
{
    autostr struct str out_name = {0}, err_name = {0}, other = {0};
    int64_t other_ns = 0;
    if (n->steps->current == STEP_AGENT) {
        str_add(&out_name, "agent/stdout.log");
        str_add(&err_name, "agent/stderr.log");
    } else if (n->steps->current == STEP_GATES && n->steps->current_gate) {
        str_addf(&out_name, "verification/%s.stdout", n->steps->current_gate);
        str_addf(&err_name, "verification/%s.stderr", n->steps->current_gate);
    } else {
        return false;
    }
    bool found = now_last_line(n->cli, n->view->run_id, str_c(&out_name), line, at_ns);
    if (now_last_line(n->cli, n->view->run_id, str_c(&err_name), &other, &other_ns) &&
        (!found || other_ns > *at_ns)) {
        str_reset(line);
        str_addn(line, str_c(&other), other.len);
        *at_ns = other_ns;
        found = true;
    }
    return found;
}

/* --- one line --------------------------------------------------------------------------------- */

static const struct admin_activity *pending(const struct now *n)
{
    return n->engine->pending.count ? &n->engine->pending.rows[0] : NULL;
}

static void add_failure(struct str *out, const struct admin_activity *a)
{
    if (a->last_failure) {
        str_add(out, ": ");
        format_clean(out, a->last_failure, strlen(a->last_failure));
    }
}

static void say_queue(struct str *out, const struct now *n, const struct admin_activity *a)
{
    str_addf(out, "waits for a slot of lane %s", a->lane);
    if (a->ahead != ADMIN_UNKNOWN) {
        str_addf(out, ", %lld ahead", (long long)a->ahead);
    }
    if (n->engine->slots) {
        str_addf(out, ", %lld of %lld busy", (long long)n->engine->lane.running,
                 (long long)n->engine->slots);
    }
}

static void say_backoff(struct str *out, const struct now *n, const struct admin_activity *a)
{
    str_addf(out, "attempt %d in ", a->attempt);
    format_age(out, a->next_attempt_ns - n->now_ns + NS_PER_S - 1);
}

void now_detail(struct str *out, const struct now *n)
{
    const struct admin_activity *a = pending(n);
    int64_t at_ns = 0;
    autostr struct str line = {0};
    if (n->steps->cancel_requested && n->steps->current != STEP_CLEANUP) {
        str_add(out, "cancelling … ");
    }
    if (!n->engine->server.is_serving) {
        str_add(out, "waiting for an engine");
        return;
    }
    if (a && a->state == ADMIN_BACKOFF) {
        say_backoff(out, n, a);
        add_failure(out, a);
        return;
    }
    if (a && a->state == ADMIN_WAITING) {
        say_queue(out, n, a);
        return;
    }
    if (a && a->attempt > 1) {
        str_addf(out, "attempt %d  ", a->attempt);
    }
    if (n->steps->current_gate) {
        str_addf(out, "%s  ", n->steps->current_gate);
    }
    if (step_output(n, &line, &at_ns)) {
        str_addn(out, str_c(&line), line.len);
    }
}

/* --- the block of status ---------------------------------------------------------------------- */

static void label(struct str *out, const char *name, const char *text, size_t width)
{
    str_add(out, "  ");
    format_pad(out, name, LABEL_COLUMNS);
    size_t room = width > LABEL_COLUMNS + 12 ? width - LABEL_COLUMNS - 2 : 10;
    autostr struct str wrapped = {0};
    format_wrap(&wrapped, text, LABEL_COLUMNS + 2, LABEL_COLUMNS + 2 + room);
    str_add(out, str_c(&wrapped) + LABEL_COLUMNS + 2);
}

static const char *step_name(const struct now *n)
{
    return n->steps->current >= 0 ? n->steps->step[n->steps->current].name
           : *n->view->step       ? n->view->step
                                  : "submitted";
}

static void say_now(struct str *out, const struct now *n)
{
    const struct admin_activity *a = pending(n);
    autostr struct str line = {0};
    int64_t at_ns = 0;
    str_add(out, step_name(n));
    if (n->steps->current_gate) {
        str_addf(out, " %s", n->steps->current_gate);
    }
    if (!a) {
        return;
    }
    str_add(out, ", ");
    if (a->state == ADMIN_BACKOFF) {
        say_backoff(out, n, a);
    } else if (a->state == ADMIN_WAITING) {
        say_queue(out, n, a);
    } else {
        str_addf(out, "attempt %d, ", a->attempt);
        format_duration(out, n->now_ns - a->started_ns);
        if (step_output(n, &line, &at_ns)) {
            str_add(out, ", last output ");
            format_age(out, n->now_ns - at_ns);
            str_add(out, " ago");
        }
    }
}

static void say_waiting(struct str *out, const struct now *n)
{
    const struct admin_activity *a = pending(n);
    if (!a || a->state != ADMIN_RUNNING) {
        return;
    }
    if (n->steps->current == STEP_AGENT) {
        str_add(out, "the agent's exit");
        int64_t left = a->started_ns + n->steps->agent_timeout_ms * NS_PER_MS - n->now_ns;
        if (n->steps->agent_timeout_ms && left > 0) {
            str_add(out, "; time-out in ");
            format_duration(out, left);
        }
    } else if (n->steps->current == STEP_GATES && n->steps->current_gate) {
        str_addf(out, "the exit of gate %s", n->steps->current_gate);
    }
}

static void say_engine(struct str *out, const struct now *n)
{
    const struct view_engine *e = n->engine;
    const struct admin_activity *a = pending(n);
    if (e->server.is_serving) {
        if (e->server.pid) {
            str_addf(out, "pid %lld", (long long)e->server.pid);
        } else {
            str_add(out, "on another host");
        }
        if (a && e->slots) {
            str_addf(out, ", lane %s %lld of %lld", a->lane, (long long)e->lane.running,
                     (long long)e->slots);
        } else if (a) {
            str_addf(out, ", lane %s", a->lane);
        }
        return;
    }
    str_addf(out, "none is running; the run is safe at event %lld (%s", (long long)n->view->events,
             step_name(n));
    if (a) {
        str_addf(out, ", attempt %d", a->attempt);
    }
    str_add(out, ")");
}

/* The two columns as they are, a line at a time. */
static void say_report(struct str *out, const char *report, size_t width)
{
    while (*report) {
        size_t len = strcspn(report, "\n");
        autostr struct str line = {0};
        format_clean(&line, report, len);
        str_add(out, line.len ? "  " : "");
        format_cut(out, str_c(&line), width > 2 ? width - 2 : width);
        str_addc(out, '\n');
        report += len + (report[len] == '\n');
    }
}

void now_block(struct str *out, const struct now *n, size_t width)
{
    autostr struct str text = {0};
    const struct admin_activity *a = pending(n);
    say_now(&text, n);
    label(out, "now", str_c(&text), width);
    str_reset(&text);
    if (a && a->last_failure) {
        str_addf(&text, "attempt %d", a->attempt - 1);
        add_failure(&text, a);
        label(out, "failed", str_c(&text), width);
        str_reset(&text);
    }
    say_waiting(&text, n);
    if (text.len && n->engine->server.is_serving) {
        label(out, "waiting", str_c(&text), width);
    }
    str_reset(&text);
    if (n->steps->cancel_requested) {
        label(out, "cancel", "asked for; the run ends as soon as it has cleaned up", width);
    }
    say_engine(&text, n);
    label(out, "engine", str_c(&text), width);
    if (!n->engine->server.is_serving) {
        label(out, "", "start one: factory worker      (any factory run also does)", width);
    }
    if (n->view->parked) {
        label(out, "parked", "its history does not fit the code of its workflow", width);
        say_report(out, n->view->parked, width);
    }
}
