/*
 * test_journal_clock.c - journal/clock: by how much deadlines move, which ones, and what is kept of
 * it.
 */
#include "journal/clock.h"

#include "../lib/journal_fixture.h"
#include "journal/activity.h"
#include "journal/timer.h"

#define T0 (1796000000 * NS_PER_S)

TestSuite(journal_clock, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static const struct clock_anchor anchor = {
    .boot_id = "one", .boot_ns = 500 * NS_PER_S, .wall_ns = T0};

static struct clock_reading reading(const char *boot_id, int64_t boot_ns, int64_t wall_ns)
{
    return (struct clock_reading){.boot_id = boot_id, .boot_ns = boot_ns, .wall_ns = wall_ns};
}

Test(journal_clock, by_how_much)
{
    static const struct {
        const char *boot_id;
        int64_t boot_s, wall_ms, want_ms;
        bool is_boot;
    } cases[] = {
        {"one", 500, 0, 0, false},
        {"one", 600, 100000, 0, false}, /* time passed */
        {"one", 600, 100049, 0, false}, /* less than a step */
        {"one", 600, 99951, 0, false},
        {"one", 600, 3700000, 3600000, false},   /* set forward by an hour */
        {"one", 600, -3500000, -3600000, false}, /* and back */
        {"one", 499, 100000, 0, true},           /* behind: not the same boot's clock */
        {"one", 499, -7000, -7000, true},
        {"two", 3, 90000, 0, true}, /* a new boot: nobody knows how long it took */
        {"two", 90000, 5000, 0, true},
        {"two", 3, -1000000000, -1000000000, true}, /* whose clock has lost its battery */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_boot;
        struct clock_reading now = reading(cases[i].boot_id, cases[i].boot_s * NS_PER_S,
                                           T0 + cases[i].wall_ms * NS_PER_MS);
        cr_expect_eq(clock_moved_ns(&anchor, &now, &is_boot), cases[i].want_ms * NS_PER_MS,
                     "case %zu", i);
        cr_expect_eq(is_boot, cases[i].is_boot, "case %zu", i);
    }
}

static void settle(struct store *store, const char *boot_id, int64_t boot_s, int64_t wall_s)
{
    struct clock_reading now = reading(boot_id, boot_s * NS_PER_S, T0 + wall_s * NS_PER_S);
    struct txn *txn = txn_begin(store);
    clock_settle(txn, &now);
    commit(txn);
}

/* The due times of one run with everything, less T0, in seconds. */
static void expect_due(struct store *store, int64_t id, int64_t want_s, int64_t first_s)
{
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct timer_list timers;
    struct activity_list activities;
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    cr_assert_eq(timer_list(store_db(store), arena, id, &timers, NULL), 0);
    cr_assert_eq(activity_list(store_db(store), arena, id, &activities, NULL), 0);
    int64_t want = T0 + want_s * NS_PER_S;
    cr_expect_eq(row.run_deadline_ns, want);
    cr_expect_eq(row.expires_ns, INT64_MAX, "what never comes stays");
    cr_expect_eq(row.first_task_ns, T0 + first_s * NS_PER_S);
    cr_expect_eq(row.started_ns, T0, "when it started is not moved");
    cr_expect_eq(timers.rows[0].due_ns, want);
    cr_expect_eq(activities.rows[0].next_attempt_ns, want);
    cr_expect_eq(activities.rows[0].deadline_ns, want);
    cr_expect_eq(activities.rows[0].scheduled_ns, want);
    cr_expect_eq(activities.rows[0].started_ns, 0, "what has not happened stays so");
}

static int64_t put_waiting(struct store *store, bool by_wall)
{
    int64_t due = T0 + 60 * NS_PER_S;
    struct txn *txn = txn_begin(store);
    int64_t id = execution_insert(txn, &(struct execution_row){.workflow_id = by_wall ? "c" : "w",
                                                               .run_id = by_wall ? "c" : "w",
                                                               .type = "T",
                                                               .task_queue = "q",
                                                               .status = EXECUTION_RUNNING,
                                                               .started_ns = T0,
                                                               .run_deadline_ns = due,
                                                               .expires_ns = INT64_MAX,
                                                               .first_task_ns = due,
                                                               .first_task_by_wall = by_wall});
    timer_insert(txn, &(struct timer_row){
                          .execution = id, .started_event_id = 5, .timer_id = "5", .due_ns = due});
    activity_insert(txn, &(struct activity_row){.execution = id,
                                                .scheduled_event_id = 6,
                                                .activity_id = "6",
                                                .type = "A",
                                                .task_queue = "q",
                                                .attempt = 2,
                                                .state = ACTIVITY_BACKOFF,
                                                .scheduled_ns = due,
                                                .next_attempt_ns = due,
                                                .deadline_ns = due});
    commit(txn);
    return id;
}

Test(journal_clock, deadlines_move_with_the_clock)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct clock_jump_list jumps;
    int64_t id = put_waiting(store, false);
    int64_t cron = put_waiting(store, true);
    settle(store, "one", 100, 0);
    settle(store, "one", 110, 10);
    expect_due(store, id, 60, 60);
    cr_assert_eq(clock_jump_list(store_db(store), arena, 0, 10, &jumps, NULL), 0);
    cr_expect_eq(jumps.count, 0, "time that passes is no jump");
    settle(store, "one", 120, 3620); /* forward by an hour */
    expect_due(store, id, 3660, 3660);
    expect_due(store, cron, 3660, 60);
    settle(store, "one", 120, 3620); /* known already */
    expect_due(store, id, 3660, 3660);
    settle(store, "one", 130, 30); /* and back */
    expect_due(store, id, 60, 60);
    settle(store, "two", 5, 1000); /* another boot */
    expect_due(store, id, 60, 60);
    settle(store, "three", 5, -5000); /* whose clock is wrong */
    expect_due(store, id, 60 - 6000, 60 - 6000);
    settle(store, "three", 15, 2000); /* and is set right ten seconds later */
    expect_due(store, id, 60 + 990, 60 + 990);
    cr_assert_eq(clock_jump_list(store_db(store), arena, 0, 10, &jumps, NULL), 0);
    cr_assert_eq(jumps.count, 5);
    cr_expect_eq(jumps.rows[0].kind, CLOCK_JUMP_SET);
    cr_expect_eq(jumps.rows[0].moved_ns, 6990 * NS_PER_S);
    cr_expect_eq(jumps.rows[1].kind, CLOCK_JUMP_BOOT);
    cr_expect_eq(jumps.rows[2].kind, CLOCK_JUMP_BOOT);
    cr_expect_eq(jumps.rows[2].moved_ns, 0);
    cr_expect_eq(jumps.rows[4].size_ns, 3600 * NS_PER_S);
    check_store(store);
}

Test(journal_clock, a_jump_that_is_not_committed_comes_again)
{
    autostore struct store *store = open_store();
    int64_t id = put_waiting(store, false);
    settle(store, "one", 100, 0);
    struct clock_reading now = reading("one", 100 * NS_PER_S, T0 + 50 * NS_PER_S);
    struct txn *txn = txn_begin(store);
    clock_settle(txn, &now);
    txn_rollback(txn);
    expect_due(store, id, 60, 60);
    settle(store, "one", 100, 50);
    expect_due(store, id, 110, 110);
}

Test(journal_clock, the_record_has_an_end)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct clock_jump_list jumps;
    struct txn *txn = txn_begin(store);
    for (int i = 0; i < CLOCK_JUMPS_KEPT + 50; i++) {
        clock_note_suspend(txn, T0 + i, 5 * NS_PER_S);
    }
    commit(txn);
    cr_assert_eq(clock_jump_list(store_db(store), arena, 0, 5000, &jumps, NULL), 0);
    cr_expect_eq(jumps.count, CLOCK_JUMPS_KEPT);
    cr_expect_eq(jumps.rows[0].at_ns, T0 + CLOCK_JUMPS_KEPT + 49);
    cr_assert_eq(clock_jump_list(store_db(store), arena, jumps.rows[2].at_ns, 5000, &jumps, NULL),
                 0);
    cr_expect_eq(jumps.count, 3);
}
