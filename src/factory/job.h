/*
 * job.h - what every activity of the factory begins and ends with.
 *
 * Owns: struct job: the input, the run's row with its pinned request, configuration and plan,
 * evidence, and the bridge from the engine's cancellation to the flag that sandboxes and
 * repositories poll. The run's secrets are registered with base/redact before anything of it is
 * written: an engine that was started after a crash knows them too. An activity is `int
 * name(dur_activity *act, const char *input, const char **result, void *factory)`; it calls
 * job_begin, works, and returns job_end(...).
 */
#ifndef FACTORY_JOB_H
#define FACTORY_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/json.h"
#include "factory/evidence.h"
#include "factory/factory.h"
#include "harness/generic.h"

struct job {
    struct factory *factory;
    dur_activity *act;
    struct arena *arena;
    const struct json *input;
    const char *run_id;
    const char *execution_id;
    const char *sandbox_id; /* of the input, or NULL */
    struct ledger_run row;  /* empty before ValidateRequest wrote it */
    struct request request;
    struct config *config; /* pinned */
    const struct harness_config *harness;
    const struct profile_config *profile;
    const struct json *plan; /* NULL before validation */
    struct evidence *evidence;
    struct err err; /* steps of the activity report here */
    atomic_bool cancel;
    pthread_t pump;
    bool pumping;
    atomic_bool pump_stop;
    int pump_fd;
};

/* The parts that need no row: arena, cancellation. For ValidateRequest, which makes the row. */
int job_open(struct job *job, dur_activity *act, void *factory);
/* job_open, and everything above from the ledger. On failure the job still is to be ended. */
int job_begin(struct job *job, dur_activity *act, const char *input, void *factory);
/* Free all and translate: rc 0: *result is JSON made by job_result*; else job->err becomes the
 * failure (kinds as base/err.h; cancelled when the engine asked for it). */
int job_end(struct job *job, int rc);

/* The agent that this run uses, in the harness room's words. */
struct harness job_harness(const struct job *job);
/* A data-plane client for the sandbox of the input. GONE or dead: permanent "SandboxLost". */
int job_attach(struct job *job, struct sandbox **ret_sandbox, struct envd **ret_envd);
const char *job_plan_text(const struct job *job, const char *key); /* "" when absent */
int64_t job_plan_number(const struct job *job, const char *key);
/* For *result: text (JSON) with every known secret scrubbed, living with the attempt. */
const char *job_text(struct job *job, const struct str *text);

#endif
