/*
 * watch.c - see watch.h. Owns the loop's callbacks and the evidence logs while they grow.
 * Tests: tests/unit/test_factory_workflow.c, tests/crash/
 */
#include "factory/watch.h"

#include <string.h>

#include "base/clock.h"

#define KILL_GRACE_MS 2000
#define INSIDE_MARGIN_MS                                                                           \
    60000 /* the sandbox's own bound is for when nobody follows: we act first */

struct stream {
    struct watch *watch;
    struct evidence_log *out, *err;
    bool failed;
};

static int on_output(void *user, enum envd_stream which, const void *bytes, size_t len)
{
    struct stream *s = user;
    struct evidence_log *log = which == ENVD_STDOUT ? s->out : s->err;
    if (evidence_log_add(log, bytes, len, &s->watch->job->err) < 0) {
        s->failed = true;
        return 1;
    }
    return dur_heartbeat(s->watch->job->act, NULL) == DUR_CANCELLED && !s->watch->cancelled;
}

static int on_idle(void *user)
{
    struct stream *s = user;
    return dur_heartbeat(s->watch->job->act, NULL) == DUR_CANCELLED;
}

/* Wall-clock start of the job: from an earlier attempt's heartbeat, else now, made durable first.
 */
static int begin(struct watch *w)
{
    dur_activity *act = w->job->act;
    const char *before = dur_heartbeat_details(act);
    int64_t pid = 0;
    w->started_ns = dur_json_int(before, "/started_ns", 0);
    if (w->started_ns == 0) {
        w->started_ns = clock_wall_ns();
        dur_heartbeat_sync(
            act, dur_jsonf(act, "{\"job\":%q,\"started_ns\":%i64}", w->dir, w->started_ns));
    }
    struct envd_command command = w->command;
    if (command.timeout_ms > 0) {
        command.timeout_ms += INSIDE_MARGIN_MS;
    }
    int rc = envd_job_start(w->envd, w->dir, &command, &pid, &w->job->err);
    return rc < 0 ? -1 : 0; /* ENVD_EXISTS: an earlier attempt started it */
}

static int follow(struct watch *w, struct stream *s, const atomic_bool *cancel)
{
    struct envd_job_pos pos = {0};
    struct envd_command command = {.timeout_ms = w->command.timeout_ms,
                                   .grace_ms = KILL_GRACE_MS,
                                   .capture_bytes = 4096,
                                   .on_output = on_output,
                                   .on_idle = on_idle,
                                   .user = s};
    if (command.timeout_ms > 0) {
        command.timeout_ms -= (clock_wall_ns() - w->started_ns) / NS_PER_MS;
        command.timeout_ms = command.timeout_ms < 1 ? 1 : command.timeout_ms;
    }
    envd_result_free(&w->result);
    return envd_job_follow(w->envd, w->dir, &command, &pos, cancel, &w->result, &w->job->err);
}

static int open_logs(struct watch *w, struct stream *s)
{
    struct job *job = w->job;
    return evidence_log_open(job->evidence, w->stdout_path, &s->out, &job->err) < 0 ||
                   evidence_log_open(job->evidence, w->stderr_path, &s->err, &job->err) < 0
               ? -1
               : 0;
}

static int close_logs(struct watch *w, struct stream *s)
{
    struct err err = {0};
    int rc = evidence_log_finish(s->out, &err);
    int rc2 = evidence_log_finish(s->err, rc == 0 ? &err : NULL);
    s->out = s->err = NULL;
    if (rc < 0 || rc2 < 0) {
        w->job->err = err;
        return -1;
    }
    return 0;
}

/* An attempt that was given up for want of heartbeats has a successor, which follows the same job.
 */
static bool has_successor(const struct watch *w, const char *reason)
{
    int64_t took_ms = (clock_wall_ns() - w->started_ns) / NS_PER_MS;
    return str_eq(reason, "stopping") ||
           (str_eq(reason, "timed out") && took_ms < w->command.timeout_ms);
}

/* The engine asked for a stop. */
static int stop(struct watch *w, struct stream *s)
{
    const char *reason = "";
    dur_activity_cancelled(w->job->act, &reason);
    if (has_successor(w, reason)) {
        return 1;
    }
    if (envd_job_kill(w->envd, w->dir, KILL_GRACE_MS, &w->job->err) < 0) {
        return -1;
    }
    close_logs(w, s);
    if (open_logs(w, s) < 0) {
        return -1;
    }
    /* Its last words; the heart no longer decides. */
    struct envd_job_pos pos = {0};
    struct envd_command command = {
        .timeout_ms = 10000, .capture_bytes = 4096, .on_output = on_output, .user = s};
    w->cancelled = true;
    envd_result_free(&w->result);
    int rc = envd_job_follow(w->envd, w->dir, &command, &pos, NULL, &w->result, &w->job->err);
    return rc < 0 ? -1 : 0;
}

int watch_run(struct watch *w)
{
    struct stream s = {.watch = w};
    if (begin(w) < 0 || open_logs(w, &s) < 0) {
        close_logs(w, &s);
        return -1;
    }
    int rc = follow(w, &s, &w->job->cancel);
    if (rc == ENVD_LOST) {
        w->lost = true;
        rc = 0;
    } else if (rc == ENVD_ABSENT) {
        rc = err_set(&w->job->err, ERR_TRANSIENT, "JobAbsent", "job %s is not there", w->dir);
    } else if (rc == ENVD_CANCELLED) {
        rc = s.failed ? -1 : stop(w, &s);
    }
    struct err kept = w->job->err;
    if (close_logs(w, &s) < 0 && rc >= 0) {
        return -1;
    }
    if (rc < 0) {
        w->job->err = kept;
    }
    return rc;
}

void watch_free(struct watch *w)
{
    envd_result_free(&w->result);
}
