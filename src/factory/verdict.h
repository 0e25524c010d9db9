/*
 * verdict.h - facts in, factory result out: the one table of precedence.
 *
 * Owns: the states of a run, the outcomes of its parts, which states are final and which are
 * security stops, and the rule that turns facts into one state. Pure: used by the workflow, by the
 * commands and by tests. Facts stay apart in evidence whatever the verdict is.
 *
 * Precedence, strongest first:
 *   INVALID_REQUEST          nothing was started
 *   GATE_TAMPERED            a protected path was changed (sticky: no later cancel or time-out
 * hides it) CANCELLED                asked for by an operator INFRASTRUCTURE_FAILED    total
 * time-out, a step that could not be done, missing evidence BLOCKED                  the agent said
 * that it cannot do the task AGENT_FAILED             exit status not 0, or its time was up
 *   VERIFICATION_FAILED      a mandatory gate failed
 *   INFRASTRUCTURE_FAILED    all gates passed, but cleanup or evidence could not be verified
 *   SUCCEEDED
 */
#ifndef FACTORY_VERDICT_H
#define FACTORY_VERDICT_H

#include <stdbool.h>

enum run_state {
    STATE_RUNNING,
    STATE_SUCCEEDED,
    STATE_VERIFICATION_FAILED,
    STATE_AGENT_FAILED,
    STATE_BLOCKED,
    STATE_GATE_TAMPERED,
    STATE_INVALID_REQUEST,
    STATE_CANCELLED,
    STATE_INFRASTRUCTURE_FAILED,
};
#define STATE_COUNT 9

enum outcome {
    OUTCOME_SKIPPED, /* never tried */
    OUTCOME_SUCCESS,
    OUTCOME_FAILED,
    OUTCOME_TIMED_OUT,
    OUTCOME_CANCELLED,
    OUTCOME_ERROR, /* tried, and nobody knows how it ended */
};

struct facts {
    bool invalid_request;
    bool cancelled;
    bool total_timed_out;
    bool infrastructure_failed; /* a step that the run needs could not be done */
    bool gate_tampered;
    bool blocked;
    bool evidence_missing; /* something that had to be recorded could not be */
    enum outcome agent;
    enum outcome verification;
    enum outcome cleanup; /* SKIPPED: there was nothing to clean up */
};

/* Of a run whose body has ended and whose cleanup was tried. Never STATE_RUNNING. */
enum run_state verdict_of(const struct facts *facts);

const char *run_state_name(enum run_state state); /* "SUCCEEDED" ... */
bool run_state_parse(const char *name, enum run_state *ret);
bool run_state_is_final(enum run_state state);
bool run_state_is_security_stop(enum run_state state);
const char *outcome_name(enum outcome outcome); /* "SUCCESS" ... */
bool outcome_parse(const char *name, enum outcome *ret);

/* Exit status of commands that wait for a run: 0 SUCCEEDED, 10 VERIFICATION_FAILED, 11
 * AGENT_FAILED, 12 security stop, 13 BLOCKED, 15 INFRASTRUCTURE_FAILED, 16 CANCELLED, 3
 * INVALID_REQUEST, 17 any of them with sandboxes left behind. */
int run_state_exit_status(enum run_state state, bool cleanup_failed);

#endif
