/*
 * flow.h - one run of the factory as its workflow sees it: facts, conditions, where it is.
 *
 * Owns: struct flow, shared by workflow.c (the order of steps) and flow.c (noting and reporting).
 * Everything here is deterministic: times are dur_now_ns(), decisions read activity results only.
 * Live status is the run's memo: keys "state", "step", "agent", ... and one "condition.TYPE" per
 * condition; what is noted between two activities becomes one memo event in the same commit as the
 * next activity's scheduling.
 */
#ifndef FACTORY_FLOW_H
#define FACTORY_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "durable.h"
#include "factory/verdict.h"

#define FLOW_CONDITIONS_MAX 16
#define FLOW_TEXT_BYTES 512

struct condition {
    const char *type;   /* "Validated" ... static text */
    const char *status; /* "True", "False", "Unknown" */
    const char *reason; /* static text, CamelCase */
    char message[FLOW_TEXT_BYTES];
    int64_t at_ns; /* of the last change of status */
    bool fresh;    /* not in the memo yet */
};

struct flow {
    dur_ctx *ctx; /* the step's: the cancellable body's, or the disconnected one of the ending */
    dur_ctx *root;
    const char *run_id; /* the factory's run id */
    const char *request;
    const char *plan;      /* JSON from ValidateRequest, NULL before */
    const char *step;      /* current step */
    const char *sandbox;   /* JSON from CreateSandbox (the agent's): how it is contained, or NULL */
    const char *prepared;  /* JSON from PrepareSandbox (the agent's), or NULL */
    const char *agent;     /* JSON from RunAgent, or NULL */
    const char *collected; /* JSON from CollectArtifacts, or NULL */
    const char *integrity; /* JSON from CheckGateIntegrity, or NULL */
    const char *drift;     /* JSON from CollectDrift, or NULL */
    const char *cleanup;   /* JSON from DestroySandbox, or NULL */
    struct str gates;      /* gate results: JSON objects with commas between */
    const char *sandbox_id;        /* where the agent works, NULL before */
    const char *verify_sandbox_id; /* where the gates run */
    bool create_tried;
    struct facts facts;
    char error[FLOW_TEXT_BYTES]; /* first thing that went wrong, for people */
    struct condition conditions[FLOW_CONDITIONS_MAX];
    int condition_count;
    bool memo_dirty;
    int64_t started_ns;
};

/* Where the run is now; shown live. */
void flow_step(struct flow *f, const char *step);
/* Set a condition. status True/False/Unknown; the time changes only when the status does. */
void flow_condition(struct flow *f, const char *type, const char *status, const char *reason,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Remember what went wrong (the first stays). */
void flow_error(struct flow *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Activity classes: time-outs, retries and lane together. */
enum flow_class {
    CLASS_VALIDATE,
    CLASS_CONTROL,
    CLASS_AGENT,
    CLASS_GATE,
    CLASS_CLEANUP,
    CLASS_FINAL,
};
/* Note what is new in the memo, then run the activity. Code as dur_run(). timeout_ms: of one
 * attempt; 0: the class's own. */
int flow_run(struct flow *f, enum flow_class class, const char *activity, const char *input,
             const char **result, int64_t timeout_ms);
/* Message of the failure that flow_run returned, innermost; never NULL. */
const char *flow_failure(const struct flow *f);
/* Is it about the world (a network, a disk, a time-out, a program that this host lacks) and not
 * about the request? The innermost failure's kind and type say so. */
bool flow_failure_is_of_host(const struct flow *f);
/* The facts for FinalizeResult, as JSON in the run's memory. */
const char *flow_facts(struct flow *f);
/* Final state into the memo. */
void flow_finish(struct flow *f, enum run_state state);

#endif
