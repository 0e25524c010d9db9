/*
 * verdict.c - see verdict.h. Owns the tables. Pure.
 * Tests: tests/unit/test_factory_verdict.c
 */
#include "factory/verdict.h"

#include <stddef.h>

#include "base/str.h"

#define EXIT_LEAK 17

static const struct {
    const char *name;
    int exit_status;
} states[] = {
    [STATE_RUNNING] = {"RUNNING", 1},
    [STATE_SUCCEEDED] = {"SUCCEEDED", 0},
    [STATE_VERIFICATION_FAILED] = {"VERIFICATION_FAILED", 10},
    [STATE_AGENT_FAILED] = {"AGENT_FAILED", 11},
    [STATE_BLOCKED] = {"BLOCKED", 13},
    [STATE_GATE_TAMPERED] = {"GATE_TAMPERED", 12},
    [STATE_INVALID_REQUEST] = {"INVALID_REQUEST", 3},
    [STATE_CANCELLED] = {"CANCELLED", 16},
    [STATE_INFRASTRUCTURE_FAILED] = {"INFRASTRUCTURE_FAILED", 15},
};
_Static_assert(ARRAY_LEN(states) == STATE_COUNT, "one row a state");

static const char *const outcomes[] = {
    [OUTCOME_SKIPPED] = "SKIPPED",     [OUTCOME_SUCCESS] = "SUCCESS",
    [OUTCOME_FAILED] = "FAILED",       [OUTCOME_TIMED_OUT] = "TIMED_OUT",
    [OUTCOME_CANCELLED] = "CANCELLED", [OUTCOME_ERROR] = "ERROR",
};

static bool did_not_succeed(enum outcome outcome)
{
    return outcome == OUTCOME_FAILED || outcome == OUTCOME_TIMED_OUT || outcome == OUTCOME_ERROR;
}

enum run_state verdict_of(const struct facts *facts)
{
    const struct {
        bool holds;
        enum run_state state;
    } table[] = {
        {facts->invalid_request, STATE_INVALID_REQUEST},
        {facts->gate_tampered, STATE_GATE_TAMPERED},
        {facts->cancelled, STATE_CANCELLED},
        {facts->total_timed_out || facts->infrastructure_failed, STATE_INFRASTRUCTURE_FAILED},
        {facts->blocked, STATE_BLOCKED},
        {did_not_succeed(facts->agent), STATE_AGENT_FAILED},
        {facts->verification == OUTCOME_FAILED, STATE_VERIFICATION_FAILED},
        {facts->agent != OUTCOME_SUCCESS || facts->verification != OUTCOME_SUCCESS,
         STATE_INFRASTRUCTURE_FAILED},
        {facts->evidence_missing || facts->cleanup != OUTCOME_SUCCESS, STATE_INFRASTRUCTURE_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].holds) {
            return table[i].state;
        }
    }
    return STATE_SUCCEEDED;
}

const char *run_state_name(enum run_state state)
{
    return states[state].name;
}

bool run_state_parse(const char *name, enum run_state *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_eq(states[i].name, name)) {
            *ret = (enum run_state)i;
            return true;
        }
    }
    return false;
}

bool run_state_is_final(enum run_state state)
{
    return state != STATE_RUNNING;
}

bool run_state_is_security_stop(enum run_state state)
{
    return state == STATE_GATE_TAMPERED;
}

const char *outcome_name(enum outcome outcome)
{
    return outcomes[outcome];
}

bool outcome_parse(const char *name, enum outcome *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        if (str_eq(outcomes[i], name)) {
            *ret = (enum outcome)i;
            return true;
        }
    }
    return false;
}

int run_state_exit_status(enum run_state state, bool cleanup_failed)
{
    return cleanup_failed ? EXIT_LEAK : states[state].exit_status;
}
