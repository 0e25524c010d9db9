/*
 * watch.h - following a job in a sandbox into evidence: the agent's and the gates' common part.
 *
 * Owns: start once, follow from the beginning, stream both outputs into evidence, beat the heart,
 * and what to do when the engine wants the activity to stop:
 *   "stopping"   the engine leaves: the job goes on, the next engine follows it again
 *   "timed out"  within the job's own time: its heartbeats did not arrive (a server was away), and
 *                another attempt follows the job already
 *   otherwise    its whole process tree is killed, what it had printed is kept
 * Idempotent by the job's directory inside the sandbox: however often it is started, it runs once.
 */
#ifndef FACTORY_WATCH_H
#define FACTORY_WATCH_H

#include "factory/job.h"

struct watch {
    struct job *job;
    struct envd *envd;
    const char *dir;             /* the job's directory inside */
    struct envd_command command; /* argv, dir, env, stdin, timeout_ms */
    const char *stdout_path;     /* evidence */
    const char *stderr_path;
    /* results */
    struct envd_result result;
    int64_t started_ns; /* wall clock of the first start, also after a crash */
    bool lost;          /* ended without an exit status: killed */
    bool cancelled;     /* stopped on request */
};

/* 0: it ended (result), or was cancelled and killed (cancelled); 1: the engine is stopping, the job
 * goes on; <0: job->err. A program that cannot be started gives permanent "CannotStart". */
int watch_run(struct watch *watch);
void watch_free(struct watch *watch);

#endif
