/*
 * attempt_fixture.h - attempts of activities without an engine, for unit tests of worker/.
 * Owns: an inbox and attempts that report to it.
 */
#ifndef TESTS_ATTEMPT_FIXTURE_H
#define TESTS_ATTEMPT_FIXTURE_H

#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/mem.h"
#include "activity/attempt.h"
#include "worker/inbox.h"

static struct inbox inbox;

is_unused static void inbox_make(void)
{
    struct err err = {0};
    cr_assert_eq(inbox_init(&inbox, &err), 0, "%s", err.text);
}

is_unused static void inbox_end(void)
{
    inbox_free(&inbox);
}

is_unused static struct dur_activity *make_attempt(dur_activity_fn fn, const char *input)
{
    struct arena *arena = arena_new();
    struct dur_activity *attempt = inbox_attempt(arena, &inbox, NULL);
    attempt->fn = fn;
    attempt->type = "type";
    attempt->input = arena_strdup(arena, input);
    attempt->attempt = 1;
    return attempt;
}

#endif
