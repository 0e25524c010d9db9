/*
 * test_journal_turnstile.c - journal/turnstile: one at a time, in order, time-outs, forks.
 */
#include "journal/turnstile.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/journal_fixture.h"
#include "base/clock.h"

#define WAITERS 8
#define LONG_MS 60000

TestSuite(journal_turnstile, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

struct line {
    struct turnstile *turnstile;
    atomic_int inside, came, order[WAITERS];
};

struct waiter_arg {
    struct line *line;
    int number;
};

static void *wait_in_line(void *user)
{
    const struct waiter_arg *arg = user;
    cr_expect(turnstile_enter(arg->line->turnstile, LONG_MS));
    cr_expect_eq(atomic_fetch_add(&arg->line->inside, 1), 0, "two are inside");
    arg->line->order[atomic_fetch_add(&arg->line->came, 1)] = arg->number;
    clock_sleep_ms(1);
    atomic_fetch_sub(&arg->line->inside, 1);
    turnstile_leave(arg->line->turnstile);
    return NULL;
}

Test(journal_turnstile, who_comes_first_is_served_first)
{
    struct line line = {.turnstile = turnstile_get("/some/store.db")};
    struct waiter_arg args[WAITERS];
    pthread_t threads[WAITERS];
    cr_assert(turnstile_enter(line.turnstile, LONG_MS));
    for (int i = 0; i < WAITERS; i++) {
        args[i] = (struct waiter_arg){&line, i};
        pthread_create(&threads[i], NULL, wait_in_line, &args[i]);
        clock_sleep_ms(20); /* until it stands in line */
    }
    cr_assert_eq(line.came, 0);
    turnstile_leave(line.turnstile);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < WAITERS; i++) {
        cr_expect_eq(line.order[i], i);
    }
    cr_assert(turnstile_enter(line.turnstile, 0), "nobody is left");
    turnstile_leave(line.turnstile);
    turnstile_put(line.turnstile);
}

Test(journal_turnstile, a_turn_that_does_not_come_is_given_up)
{
    struct turnstile *turnstile = turnstile_get("/some/store.db");
    cr_assert(turnstile_enter(turnstile, 0));
    cr_expect(!turnstile_enter(turnstile, 0));
    cr_expect(!turnstile_enter(turnstile, 30));
    turnstile_leave(turnstile);
    cr_assert(turnstile_enter(turnstile, 0), "who gave up is not in line any more");
    turnstile_leave(turnstile);
    turnstile_put(turnstile);
}

Test(journal_turnstile, one_a_file)
{
    struct turnstile *a = turnstile_get("/some/a.db");
    struct turnstile *b = turnstile_get("/some/b.db");
    struct turnstile *again = turnstile_get("/some/a.db");
    cr_expect_eq(a, again);
    cr_expect_neq(a, b);
    cr_assert(turnstile_enter(a, 0));
    cr_assert(turnstile_enter(b, 0), "another file's writers do not matter");
    turnstile_leave(b);
    turnstile_leave(a);
    turnstile_put(again);
    turnstile_put(b);
    turnstile_put(a);
    cr_expect_null(turnstile_put(NULL));
}

Test(journal_turnstile, a_child_is_not_held_up_by_its_parents_writers)
{
    struct turnstile *turnstile = turnstile_get("/some/store.db");
    cr_assert(turnstile_enter(turnstile, 0));
    pid_t pid = fork();
    if (pid == 0) {
        struct turnstile *own = turnstile_get("/some/store.db");
        bool good = own != turnstile && turnstile_enter(own, 0);
        _exit(good ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    turnstile_leave(turnstile);
    turnstile_put(turnstile);
}

static void *write_once(void *store)
{
    struct err err = {0};
    struct txn *txn = txn_begin(store);
    put_run(txn, 7);
    cr_expect_eq(txn_commit(txn, &err), 0, "%s", err.text);
    return NULL;
}

Test(journal_turnstile, two_handles_write_in_turns)
{
    autostore struct store *one = open_store();
    autostore struct store *two = open_store();
    pthread_t thread;
    struct txn *txn = txn_begin(one);
    put_run(txn, 1);
    pthread_create(&thread, NULL, write_once, two);
    clock_sleep_ms(30);
    cr_assert_eq(txn_commit(txn, NULL), 0);
    pthread_join(thread, NULL);
    int64_t counts[EXECUTION_STATUS_COUNT];
    cr_assert_eq(execution_counts(store_db(one), counts, NULL), 0);
    cr_expect_eq(counts[0], 2);
}

Test(journal_turnstile, a_writer_whose_turn_does_not_come_is_told_so)
{
    struct err err = {0};
    autostore struct store *one = open_store();
    struct store *two;
    cr_assert_eq(
        store_open(store_path(one), &(struct store_options){.busy_timeout_ms = 20}, &two, &err), 0,
        "%s", err.text);
    struct txn *txn = txn_begin(one);
    struct txn *late = txn_begin(two);
    cr_assert(txn_failed(late));
    cr_expect_str_eq(txn_error(late)->name, "StoreBusy");
    cr_expect_eq(txn_error(late)->kind, ERR_TRANSIENT);
    txn_rollback(late);
    txn_rollback(txn);
    late = txn_begin(two);
    cr_expect(!txn_failed(late));
    txn_rollback(late);
    store_close(two);
}
