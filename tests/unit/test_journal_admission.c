/*
 * test_journal_admission.c - who may start: slots, rate, keys, order; decided from rows alone.
 */
#include "../lib/journal_fixture.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "journal/admission.h"

#define EPOCH 3
#define T0 (1000 * NS_PER_S)

static struct store *store;
static int64_t run;

static void make(void)
{
    scratch_make();
    store = open_store();
    run = new_run(store, 1);
}

static void done(void)
{
    check_store(store);
    store_close(store);
    scratch_remove();
}

TestSuite(journal_admission, .init = make, .fini = done, .timeout = 60);

static void set_limits(int slots, double rate, int burst, int per_key)
{
    struct txn *txn = txn_begin(store);
    queue_put(
        txn,
        &(struct queue_row){
            .name = "q", .slots = slots, .rate_per_s = rate, .burst = burst, .per_key = per_key},
        T0);
    commit(txn);
}

static void wait_in_line(int64_t event, int64_t since, int priority, const char *key)
{
    struct txn *txn = txn_begin(store);
    struct activity_row row = some_activity(run, event);
    row.task_queue = "q";
    row.queued_ns = since;
    row.priority = priority;
    row.concurrency_key = key;
    activity_insert(txn, &row);
    commit(txn);
}

/* "5 7 9": who was let through, in order; then " +MS" when the rate holds others back until then.
 */
static char *ask(int free_slots, int64_t now_ns)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct admission_list list;
    struct txn *txn = txn_begin(store);
    queue_admit(txn, arena,
                &(struct queue_ask){.name = "q",
                                    .types_json = "[\"Other\",\"Charge\"]",
                                    .free_slots = free_slots,
                                    .epoch = EPOCH,
                                    .now_ns = now_ns},
                &list);
    for (size_t i = 0; i < list.count; i++) {
        str_addf(&text, "%s%lld", text.len ? " " : "", (long long)list.rows[i].scheduled_event_id);
    }
    if (list.more_at_ns) {
        str_addf(&text, " +%lld", (long long)((list.more_at_ns - now_ns) / NS_PER_MS));
    }
    commit(txn);
    return str_take(&text);
}

#define expect_ask(free_slots, now_ns, expected)                                                   \
    do {                                                                                           \
        autofree char *got_ = ask(free_slots, now_ns);                                             \
        cr_assert_str_eq(got_, expected, "got \"%s\"", got_);                                      \
    } while (0)

static void end(int64_t event)
{
    struct txn *txn = txn_begin(store);
    cr_assert(activity_delete(txn, run, event));
    commit(txn);
}

Test(journal_admission, oldest_first_within_a_priority)
{
    set_limits(4, 0, 0, 0);
    wait_in_line(5, 50, 3, NULL);
    wait_in_line(6, 40, 3, NULL);
    wait_in_line(7, 90, 1, NULL);
    wait_in_line(8, 10, 5, NULL);
    expect_ask(3, T0, "7 6 5");
    expect_ask(3, T0, "8"); /* the fourth slot */
    wait_in_line(9, 100, 1, NULL);
    expect_ask(3, T0, "");
    end(6);
    expect_ask(3, T0, "9");
    expect_ask(3, T0, "");
}

Test(journal_admission, slots_are_counted_from_attempts_that_live)
{
    set_limits(2, 0, 0, 0);
    wait_in_line(5, 50, 3, NULL);
    wait_in_line(6, 51, 3, NULL);
    wait_in_line(7, 52, 3, NULL);
    expect_ask(1, T0, "5"); /* no more threads than that */
    expect_ask(8, T0, "6");
    expect_ask(8, T0, "");
    struct txn *txn = txn_begin(store);
    activity_set_async(txn, run, 5, 1, T0, 0); /* it needs no slot any more */
    commit(txn);
    expect_ask(8, T0, "7");
    wait_in_line(8, 53, 3, NULL);
    txn = txn_begin(store);
    activity_start(txn, run, 6, 1, T0, 0, EPOCH - 1); /* of an engine that died */
    commit(txn);
    expect_ask(8, T0, "8");
}

Test(journal_admission, a_full_key_does_not_hold_up_others)
{
    set_limits(10, 0, 0, 2);
    for (int i = 0; i < 50; i++) {
        wait_in_line(100 + i, 1 + i, 3, "big");
    }
    wait_in_line(200, 500, 3, "small");
    wait_in_line(201, 501, 3, NULL);
    wait_in_line(202, 502, 1, "big");
    expect_ask(10, T0, "202 100 200 201");
    expect_ask(10, T0, "");
    struct txn *txn = txn_begin(store);
    activity_set_async(txn, run, 100, 1, T0, 0); /* still counts for its key */
    commit(txn);
    expect_ask(10, T0, "");
    end(202);
    expect_ask(10, T0, "101");
}

Test(journal_admission, a_rate_lets_through_as_its_bucket_fills)
{
    set_limits(100, 4.0, 2, 0);
    for (int i = 0; i < 6; i++) {
        wait_in_line(10 + i, 1 + i, 3, NULL);
    }
    expect_ask(100, T0, "10 11 +250");
    expect_ask(100, T0 + 100 * NS_PER_MS, " +150");
    expect_ask(100, T0 + 260 * NS_PER_MS, "12 +240");
    expect_ask(100, T0 - 60 * NS_PER_S, " +240"); /* a clock that was set back gives nothing */
    expect_ask(100, T0 + 3600 * NS_PER_S, "13 14 +250"); /* no more than the bucket holds */
    set_limits(100, 4.0, 1, 0);
    expect_ask(100, T0 + 3601 * NS_PER_S, "15 +250");
}

Test(journal_admission, what_may_not_start)
{
    set_limits(10, 0, 0, 0);
    struct txn *txn = txn_begin(store);
    struct activity_row row = some_activity(run, 5);
    row.task_queue = "q";
    activity_insert(txn, &row); /* waits in memory: its queue had no limits */
    row.scheduled_event_id = 6;
    row.queued_ns = 1;
    row.type = "Unknown";
    activity_insert(txn, &row);
    row.scheduled_event_id = 7;
    row.type = "Charge";
    row.state = ACTIVITY_BACKOFF;
    row.next_attempt_ns = 5;
    activity_insert(txn, &row);
    commit(txn);
    expect_ask(10, T0, "");
    txn = txn_begin(store);
    cr_assert(activity_requeue(txn, run, 7, 2));
    commit(txn);
    expect_ask(10, T0, "7");
    expect_ask(0, T0, "");
}

Test(journal_admission, limits_are_those_of_the_newest_engine)
{
    struct queue_list list;
    struct err err = {0};
    autoarena struct arena *arena = arena_new();
    set_limits(3, 2.5, 5, 1);
    wait_in_line(5, 1, 3, NULL);
    wait_in_line(6, 1, 3, NULL);
    expect_ask(1, T0, "5");
    cr_assert_eq(queue_list(store_db(store), arena, &list, &err), 0, "%s", err.text);
    cr_assert_eq(list.count, 1);
    cr_assert_str_eq(list.rows[0].name, "q");
    cr_assert_eq(list.rows[0].slots, 3);
    cr_assert_eq(list.rows[0].per_key, 1);
    cr_assert_eq(list.rows[0].waiting, 1);
    cr_assert_eq(list.rows[0].running, 1);
    struct txn *txn = txn_begin(store);
    queue_keep(txn, "[\"other\"]");
    commit(txn);
    expect_ask(10, T0, "");
    cr_assert_eq(queue_list(store_db(store), arena, &list, &err), 0, "%s", err.text);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(list.rows[0].slots, 0);
}
