/*
 * test_exec_fiber.c - exec/fiber.h: switching, pools, registers, many fibers, overflow.
 */
#include <criterion/criterion.h>
#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "exec/fiber.h"

#define TEST(name) Test(exec_fiber, name, .timeout = 30)

struct state {
    struct fiber *fiber;
    int steps;
    int limit;
    double sum;
};

static void steps(void *arg)
{
    struct state *s = arg;

    for (int i = 0; i < s->limit; i++) {
        s->steps++;
        s->sum += 1.0 / (i + 1);
        fiber_yield(s->fiber);
    }
}

TEST(a_fiber_runs_in_steps_until_it_returns)
{
    struct state s = {.limit = 3};

    s.fiber = fiber_new(NULL, steps, &s);
    cr_assert(s.fiber);
    cr_expect_eq(s.steps, 0);
    for (int i = 1; i <= 3; i++) {
        fiber_resume(s.fiber);
        cr_expect_eq(s.steps, i);
        cr_expect_not(fiber_done(s.fiber));
    }
    fiber_resume(s.fiber);
    cr_expect(fiber_done(s.fiber));
    cr_expect_null(fiber_free(s.fiber));
}

TEST(fibers_interleave_and_keep_their_floating_point)
{
    struct state s[8] = {0};
    struct fiber_pool *pool = fiber_pool_new(4);

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++) {
            s[i] = (struct state){.limit = 10 + i};
            s[i].fiber = fiber_new(pool, steps, &s[i]);
        }
        for (int done = 0; done < 8;) {
            done = 0;
            for (int i = 0; i < 8; i++) {
                if (!fiber_done(s[i].fiber)) {
                    fiber_resume(s[i].fiber);
                }
                done += fiber_done(s[i].fiber);
            }
        }
        for (int i = 0; i < 8; i++) {
            cr_expect_eq(s[i].steps, 10 + i);
            cr_expect_gt(s[i].sum, 2.9);
            fiber_free(s[i].fiber);
        }
    }
    cr_expect_null(fiber_pool_free(pool));
}

static void rounding(void *arg)
{
    struct state *s = arg;

    s->steps = fegetround();
    fesetround(FE_UPWARD);
    fiber_yield(s->fiber);
    s->limit = fegetround();
}

TEST(the_rounding_mode_belongs_to_its_fiber)
{
    struct state s = {0};

    s.fiber = fiber_new(NULL, rounding, &s);
    fiber_resume(s.fiber);
    cr_expect_eq(s.steps, FE_TONEAREST);
    cr_expect_eq(fegetround(), FE_TONEAREST);
    fiber_resume(s.fiber);
    cr_expect_eq(s.limit, FE_UPWARD);
    cr_expect_eq(fegetround(), FE_TONEAREST);
    fiber_free(s.fiber);
}

static void nested(void *arg)
{
    struct state *s = arg;
    struct state inner = {.limit = 2};

    inner.fiber = fiber_new(NULL, steps, &inner);
    fiber_resume(inner.fiber);
    fiber_yield(s->fiber);
    fiber_resume(inner.fiber);
    fiber_resume(inner.fiber);
    s->steps = inner.steps;
    fiber_free(inner.fiber);
}

TEST(a_fiber_may_drive_another)
{
    struct state s = {0};

    s.fiber = fiber_new(NULL, nested, &s);
    fiber_resume(s.fiber);
    fiber_resume(s.fiber);
    cr_expect(fiber_done(s.fiber));
    cr_expect_eq(s.steps, 2);
    fiber_free(s.fiber);
}

static void deep(void *arg)
{
    volatile char page[128 * 1024];

    for (size_t i = 0; i < sizeof(page); i += 512) {
        page[i] = (char)i;
    }
    struct state *s = arg;
    fiber_yield(s->fiber);
    for (size_t i = 0; i < sizeof(page); i += 512) {
        s->steps += page[i] == (char)i;
    }
}

TEST(trimming_keeps_live_frames)
{
    struct state s = {0};

    s.fiber = fiber_new(NULL, deep, &s);
    fiber_resume(s.fiber);
    fiber_trim(s.fiber);
    fiber_resume(s.fiber);
    cr_expect_eq(s.steps, 256);
    fiber_free(s.fiber);
}

TEST(suspended_fibers_may_be_freed_and_their_stacks_reused)
{
    struct fiber_pool *pool = fiber_pool_new(2);

    for (int i = 0; i < 50; i++) {
        struct state s = {.limit = 5};
        s.fiber = fiber_new(pool, steps, &s);
        fiber_resume(s.fiber);
        fiber_free(s.fiber);
    }
    fiber_pool_free(pool);
    cr_expect_null(fiber_pool_free(NULL));
    cr_expect_null(fiber_free(NULL));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static int recurse(volatile int depth)
{
    volatile char frame[1024];

    frame[0] = (char)depth;
    return depth <= 0 ? frame[0] : recurse(depth - 1) + frame[0];
}

static void overflow(void *arg)
{
    struct state *s = arg;

    s->steps = recurse(1000000);
}

Test(exec_fiber, an_overflow_hits_the_guard_page, .signal = SIGSEGV, .timeout = 30)
{
    struct state s = {0};

    s.fiber = fiber_new(NULL, overflow, &s);
    fiber_resume(s.fiber);
}
#endif
