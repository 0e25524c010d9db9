/*
 * purge.c - retention while an engine serves (host.h).
 *
 * Owns: when closed runs are looked at, and that it costs the others little: a slice is a
 * transaction of its own between two turns, of PURGE_SLICE_NS at most (but one run at least), with
 * a pause between two that is several times as long; then free pages go back to the file system in
 * slices as well. Between two runs that fall due there is one deadline among the engine's others
 * and no polling. Must not: hold a run open, or the engine up: what fails is tried again later.
 * Which runs go is journal/purge.c's; a commit of an activity waits for one slice at most.
 * Tests: tests/unit/test_engine_purge.c
 */
#include "journal/purge.h"

#include "base/clock.h"
#include "worker/host.h"

#define SLICE_RUNS 256
#define SLICE_NS (8 * NS_PER_MS)
#define PAUSE_NS (40 * NS_PER_MS) /* between two slices: so a loaded engine gives it a sixth */
#define LATER_NS (10 * NS_PER_S)  /* after a failure */
#define GATHER_NS (NS_PER_S / 5)  /* runs that close after one another are one look */
#define SHRINK_PAGES 256          /* of 4 KiB in a slice */
#define SPARE_PAGES 1024          /* stay free: what comes next would only have to grow again */

static struct purge_policy policy_of(const struct host *host)
{
    return (struct purge_policy){.closed_before_ns =
                                     host->keep_closed_ns ? host->now_ns - host->keep_closed_ns : 0,
                                 .keep_runs = host->keep_closed_runs ? host->keep_closed_runs : -1};
}

static bool is_on(const struct host *host)
{
    return host->keep_closed_ns || host->keep_closed_runs;
}

/* A look at that time; an earlier one that is armed will do. */
static void arm(struct host *host, int64_t at_ns)
{
    if (!host->purge_ns || at_ns < host->purge_ns) {
        host->purge_ns = at_ns;
        heap_push(&host->wall, &(struct due){.at_ns = at_ns, .kind = DUE_PURGE});
    }
}

void purge_begin(struct host *host)
{
    if (is_on(host)) {
        arm(host, host_wall_ns(host));
    }
}

void purge_closed(struct host *host)
{
    if (host->keep_closed_runs) {
        arm(host, host->now_ns + GATHER_NS);
    } else if (host->keep_closed_ns) {
        arm(host, time_later(host->now_ns, host->keep_closed_ns + GATHER_NS));
    }
}

void purge_due(struct host *host)
{
    host->purge_ns = 0; /* of several entries the first counts; the others look in vain */
    host->is_purging = true;
}

/* When the oldest run is old enough; with a count alone, the next one that closes arms. */
static void arm_next(struct host *host)
{
    int64_t closed_ns;
    struct err err = {0};
    if (!host->keep_closed_ns) {
        return;
    }
    int rc = purge_oldest(store_db(host->store), &closed_ns, &err);
    if (rc == 0) {
        int64_t at_ns = time_later(closed_ns, host->keep_closed_ns + GATHER_NS);
        int64_t soonest_ns = host->now_ns + GATHER_NS; /* a mark is in the way of the oldest */
        arm(host, at_ns > soonest_ns ? at_ns : soonest_ns);
    } else if (rc < 0) {
        arm(host, host->now_ns + LATER_NS);
    }
}

/* 1: there is more to give back. */
static int shrink(struct host *host, struct err *err)
{
    struct store_facts facts;
    if (store_facts(host->store, &facts, err) < 0) {
        return -1;
    }
    int64_t pages = facts.free_db_bytes / STORE_PAGE_SIZE;
    int64_t used = facts.db_bytes / STORE_PAGE_SIZE - pages;
    int64_t spare = used / 16 > SPARE_PAGES ? used / 16 : SPARE_PAGES;
    if (pages <= spare) {
        return 0;
    }
    int64_t now = pages - spare < SHRINK_PAGES ? pages - spare : SHRINK_PAGES;
    return store_shrink(host->store, now, err) < 0 ? -1 : 1;
}

static int remove_some(struct host *host, struct err *err)
{
    struct purge_policy policy = policy_of(host);
    struct purge_count gone = {0};
    struct txn *txn = txn_begin(host->store);
    int more = purge_slice(txn, &policy, SLICE_RUNS, clock_mono_ns() + SLICE_NS, &gone);
    if (gone.runs == 0 && !txn_failed(txn)) {
        txn_rollback(txn);
        return more;
    }
    return txn_commit(txn, err) < 0 ? -1 : more;
}

bool purge_pass(struct host *host)
{
    struct err err = {0};
    if (!host->is_purging) {
        return false;
    }
    host->is_purging = false;
    host->now_ns = host_wall_ns(host);
    int more = remove_some(host, &err);
    if (more == 0) {
        more = shrink(host, &err);
    }
    if (more > 0) {
        arm(host, host->now_ns + PAUSE_NS);
    } else if (more == 0) {
        arm_next(host);
    } else {
        host_log(host, HOST_LOG_WARN, "closed runs cannot be removed now: %s", err.text);
        arm(host, host->now_ns + LATER_NS);
    }
    return true;
}
