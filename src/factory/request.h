/*
 * request.h - what is asked of a run, and its one JSON form.
 *
 * Owns: struct request, its checks, and the JSON that is the workflow's input: the request as
 * received together with the configuration text that the run pins, so that editing factory.ini
 * never changes a run that exists. Secrets are not in it: the configuration names where they are.
 */
#ifndef FACTORY_REQUEST_H
#define FACTORY_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "factory/config.h"

#define REQUEST_TASK_BYTES_MAX (1024 * 1024)

struct request {
    const char *run_id; /* NULL or "": one is made */
    const char *task;
    const char *repository; /* URL, or NULL */
    const char *local_path; /* or NULL; exactly one of the two */
    const char *revision;
    const char *agent;        /* NULL: the first declared */
    const char *model;        /* NULL: the agent's */
    const char *profile;      /* NULL: the first declared */
    int64_t agent_timeout_ms; /* 0: the limit */
};

/* Everything that can be said without touching the repository: fields present, names declared, run
 * id, revision syntax, URL allowed, time-outs within limits. Canonical names are written back into
 * the request; local_path becomes absolute. Memory from arena. All problems in one error, name
 * "BadRequest". */
int request_check(struct arena *arena, const struct config *config, struct request *request,
                  struct err *err);
/* JSON text in arena. The request was checked. */
const char *request_print(struct arena *arena, const struct config *config,
                          const struct request *request);
/* The inverse: texts in arena; *ret_config is the pinned configuration (free it). */
int request_parse(struct arena *arena, const char *json, struct request *ret,
                  struct config **ret_config, struct err *err);

#endif
