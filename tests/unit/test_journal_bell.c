/*
 * test_journal_bell.c - journal/bell: who hears what, waiting, stopping.
 */
#include "../lib/journal_fixture.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "journal/bell.h"

TestSuite(journal_bell, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

static struct bell *open_bell(int listen)
{
    struct bell *bell = NULL;
    struct err err = {0};
    cr_assert_eq(bell_open(scratch_db, listen, &bell, &err), 0, "%s", err.text);
    return bell;
}

static bool has_rung(const struct bell *bell)
{
    struct pollfd fd = {.fd = bell_fd(bell), .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

Test(journal_bell, each_listener_hears_its_own_sounds)
{
    autobell struct bell *engine = open_bell(BELL_WORK);
    autobell struct bell *follower = open_bell(BELL_NEWS);
    autobell struct bell *curious = open_bell(BELL_WORK | BELL_NEWS);
    autobell struct bell *ringer = open_bell(0);
    cr_assert_eq(bell_fd(ringer), -1);
    cr_assert(!has_rung(engine) && !has_rung(follower) && !has_rung(curious));
    bell_ring(ringer, BELL_WORK);
    cr_assert(has_rung(engine));
    cr_assert(!has_rung(follower));
    cr_assert(has_rung(curious));
    bell_drain(engine);
    bell_drain(curious);
    cr_assert(!has_rung(engine) && !has_rung(curious));
    bell_ring(engine, BELL_NEWS);
    cr_assert(!has_rung(engine), "an engine is not woken by its own news");
    cr_assert(has_rung(follower));
    cr_assert(has_rung(curious));
}

Test(journal_bell, it_wakes_another_process_after_the_commit)
{
    store_close(open_store());
    autobell struct bell *bell = open_bell(BELL_WORK);
    pid_t child = fork();
    if (child == 0) {
        struct store *store = open_store();
        struct bell *mine = open_bell(0);
        clock_sleep_ms(20);
        new_run(store, 1);
        bell_ring(mine, BELL_WORK);
        bell_close(mine);
        store_close(store);
        _exit(0);
    }
    cr_assert_eq(bell_wait(bell, 60000, -1, NULL), 0);
    autostore struct store *store = open_store();
    int64_t counts[EXECUTION_STATUS_COUNT];
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], 1);
    waitpid(child, NULL, 0);
}

Test(journal_bell, waiting_ends_by_time_or_by_stop)
{
    autobell struct bell *bell = open_bell(BELL_WORK);
    int stop = eventfd(0, EFD_CLOEXEC);
    cr_assert_eq(bell_wait(bell, 0, -1, NULL), 1);
    cr_assert_eq(bell_wait(bell, 5, stop, NULL), 1);
    eventfd_write(stop, 1);
    cr_assert_eq(bell_wait(bell, -1, stop, NULL), 1);
    bell_ring(bell, BELL_WORK);
    cr_assert_eq(bell_wait(bell, -1, stop, NULL), 0, "a ring counts also when stopped");
    cr_assert_eq(bell_wait(bell, 0, -1, NULL), 1, "and only once");
    close(stop);
}

Test(journal_bell, many_rings_never_block_the_ringer)
{
    autobell struct bell *bell = open_bell(BELL_WORK | BELL_NEWS);
    for (int i = 0; i < 50000; i++) {
        bell_ring(bell, i % 2 ? BELL_WORK : BELL_NEWS);
    }
    cr_assert_eq(bell_wait(bell, -1, -1, NULL), 0);
    cr_assert(!has_rung(bell));
    autofree char *path = mem_printf("%s.bell", scratch_db);
    struct str content = {0};
    cr_assert_eq(fs_read_file(path, 100, &content, NULL), 0);
    cr_assert_eq(content.len, 1, "it does not grow");
    str_free(&content);
}
