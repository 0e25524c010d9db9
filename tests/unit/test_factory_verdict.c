/*
 * test_factory_verdict.c - facts to verdict: every combination against the written order of
 * precedence.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "factory/verdict.h"

/* The precedence as prose of verdict.h, written down a second time and in another way. */
static enum run_state expected(const struct facts *f)
{
    if (f->invalid_request) {
        return STATE_INVALID_REQUEST;
    }
    if (f->gate_tampered) {
        return STATE_GATE_TAMPERED;
    }
    if (f->cancelled) {
        return STATE_CANCELLED;
    }
    if (f->total_timed_out || f->infrastructure_failed) {
        return STATE_INFRASTRUCTURE_FAILED;
    }
    if (f->blocked) {
        return STATE_BLOCKED;
    }
    switch (f->agent) {
    case OUTCOME_FAILED:
    case OUTCOME_TIMED_OUT:
    case OUTCOME_ERROR:
        return STATE_AGENT_FAILED;
    case OUTCOME_SUCCESS:
        break;
    case OUTCOME_SKIPPED:
    case OUTCOME_CANCELLED:
        return f->verification == OUTCOME_FAILED ? STATE_VERIFICATION_FAILED
                                                 : STATE_INFRASTRUCTURE_FAILED;
    }
    if (f->verification == OUTCOME_FAILED) {
        return STATE_VERIFICATION_FAILED;
    }
    bool good =
        f->verification == OUTCOME_SUCCESS && f->cleanup == OUTCOME_SUCCESS && !f->evidence_missing;
    return good ? STATE_SUCCEEDED : STATE_INFRASTRUCTURE_FAILED;
}

Test(verdict, every_combination)
{
    int succeeded = 0;
    for (unsigned bits = 0; bits < 128; bits++) {
        for (int rest = 0; rest < 6 * 6 * 6; rest++) {
            struct facts f = {
                .invalid_request = bits & 1,
                .cancelled = bits & 2,
                .total_timed_out = bits & 4,
                .infrastructure_failed = bits & 8,
                .gate_tampered = bits & 16,
                .blocked = bits & 32,
                .evidence_missing = bits & 64,
                .agent = (enum outcome)(rest % 6),
                .verification = (enum outcome)(rest / 6 % 6),
                .cleanup = (enum outcome)(rest / 36),
            };
            enum run_state got = verdict_of(&f);
            cr_assert_eq(got, expected(&f), "bits %u rest %d: %s instead of %s", bits, rest,
                         run_state_name(got), run_state_name(expected(&f)));
            cr_assert(run_state_is_final(got));
            succeeded += got == STATE_SUCCEEDED;
        }
    }
    cr_assert_eq(succeeded, 1, "exactly one combination of facts is a success");
}

Test(verdict, security_stops_are_sticky)
{
    struct facts f = {.gate_tampered = true,
                      .cancelled = true,
                      .total_timed_out = true,
                      .infrastructure_failed = true,
                      .blocked = true,
                      .agent = OUTCOME_FAILED};
    cr_assert_eq(verdict_of(&f), STATE_GATE_TAMPERED);
    cr_assert(run_state_is_security_stop(STATE_GATE_TAMPERED));
    cr_assert(!run_state_is_security_stop(STATE_CANCELLED));
}

Test(verdict, a_failed_cleanup_masks_nothing)
{
    struct facts f = {
        .agent = OUTCOME_SUCCESS, .verification = OUTCOME_FAILED, .cleanup = OUTCOME_ERROR};
    cr_assert_eq(verdict_of(&f), STATE_VERIFICATION_FAILED);
}

Test(verdict, names_go_both_ways)
{
    for (int i = 0; i < STATE_COUNT; i++) {
        enum run_state state = STATE_RUNNING;
        cr_assert(run_state_parse(run_state_name((enum run_state)i), &state));
        cr_assert_eq((int)state, i);
        cr_assert_eq(run_state_is_final(state), i != STATE_RUNNING);
    }
    for (int i = OUTCOME_SKIPPED; i <= OUTCOME_ERROR; i++) {
        enum outcome outcome = OUTCOME_SKIPPED;
        cr_assert(outcome_parse(outcome_name((enum outcome)i), &outcome));
        cr_assert_eq((int)outcome, i);
    }
    enum run_state state;
    enum outcome outcome;
    cr_assert(!run_state_parse("succeeded", &state));
    cr_assert(!run_state_parse("", &state));
    cr_assert(!run_state_parse(NULL, &state));
    cr_assert(!outcome_parse("OK", &outcome));
    cr_assert(!outcome_parse(NULL, &outcome));
}

Test(verdict, exit_statuses)
{
    static const struct {
        enum run_state state;
        int status;
    } table[] = {
        {STATE_SUCCEEDED, 0},
        {STATE_INVALID_REQUEST, 3},
        {STATE_VERIFICATION_FAILED, 10},
        {STATE_AGENT_FAILED, 11},
        {STATE_GATE_TAMPERED, 12},
        {STATE_BLOCKED, 13},
        {STATE_INFRASTRUCTURE_FAILED, 15},
        {STATE_CANCELLED, 16},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        cr_assert_eq(run_state_exit_status(table[i].state, false), table[i].status);
        cr_assert_eq(run_state_exit_status(table[i].state, true), 17);
    }
}
