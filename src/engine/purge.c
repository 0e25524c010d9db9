/*
 * purge.c - dur_purge: closed runs go now, by whoever asks (client.h).
 *
 * Owns: the loop of slices, each a transaction of its own, with a pause between two in which an
 * engine that serves has its turns; and giving the pages back. Which runs go is journal/purge.c's.
 * Must not: hold the store for longer than a slice.
 * Tests: tests/unit/test_engine_purge.c
 */
#include "journal/purge.h"

#include <string.h>

#include "base/clock.h"
#include "engine/engine.h"

#define SLICE_RUNS 256
#define SLICE_NS (8 * NS_PER_MS)
#define PAUSE_MS 2 /* whoever waits for the store has it by then */
#define SHRINK_PAGES 1024

static int read_policy(dur_engine *engine, const dur_purge_options *o, struct purge_policy *ret)
{
    int64_t age_ns;
    if (o->older_than_ms < 0 || o->keep_runs < 0) {
        return engine_refuse(engine, DUR_INVALID, "an age or a number of runs is not negative");
    }
    if (o->older_than_ms == 0 && o->keep_runs == 0) {
        return engine_refuse(engine, DUR_INVALID,
                             "say how old runs are that may go, or how many "
                             "stay");
    }
    if (__builtin_mul_overflow(o->older_than_ms, NS_PER_MS, &age_ns)) {
        age_ns = INT64_MAX;
    }
    int64_t now_ns = engine_now_ns(engine);
    *ret = (struct purge_policy){.closed_before_ns =
                                     age_ns > 0 && age_ns < now_ns ? now_ns - age_ns : 0,
                                 .keep_runs = o->keep_runs > 0 ? o->keep_runs : -1};
    return DUR_OK;
}

/* 1: there is more. */
static int remove_some(dur_engine *engine, const struct purge_policy *policy,
                       struct purge_count *count, struct err *err)
{
    struct purge_count slice = {0};
    struct txn *txn = txn_begin(engine->store);
    int more = purge_slice(txn, policy, SLICE_RUNS, clock_mono_ns() + SLICE_NS, &slice);
    if (txn_commit(txn, err) < 0) {
        return -1;
    }
    count->runs += slice.runs;
    count->events += slice.events;
    count->history_bytes += slice.history_bytes;
    return more;
}

static int give_back(dur_engine *engine, struct err *err)
{
    struct store_facts facts;
    int rc;
    while ((rc = store_facts(engine->store, &facts, err)) == 0 && facts.free_db_bytes > 0) {
        int64_t before_bytes = facts.free_db_bytes;
        if (store_shrink(engine->store, SHRINK_PAGES, err) < 0 ||
            store_facts(engine->store, &facts, err) < 0) {
            return -1;
        }
        if (facts.free_db_bytes >= before_bytes) { /* a store that was made without that */
            break;
        }
        clock_sleep_ms(PAUSE_MS);
    }
    return rc;
}

static int purge(dur_engine *engine, const struct purge_policy *policy, struct purge_count *count,
                 int64_t *ret_freed_bytes)
{
    struct store_facts before, after;
    struct err err = {0};
    int more = store_facts(engine->store, &before, &err) < 0 ? -1 : 1;
    while (more > 0) {
        more = remove_some(engine, policy, count, &err);
        if (more > 0) {
            clock_sleep_ms(PAUSE_MS);
        }
    }
    if (more < 0 || give_back(engine, &err) < 0 || store_facts(engine->store, &after, &err) < 0) {
        return engine_fail(engine, &err);
    }
    int64_t freed_bytes = before.db_bytes - after.db_bytes;
    *ret_freed_bytes = freed_bytes > 0 ? freed_bytes : 0;
    return DUR_OK;
}

int dur_purge_at(dur_engine *engine, dur_purged *ret, const dur_purge_options *options,
                 size_t options_size)
{
    dur_purge_options o = {0};
    struct purge_policy policy;
    struct purge_count count = {0};
    struct err err = {0};
    int64_t freed_bytes = 0;
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    int rc = engine_store_ready(engine, !o.dry_run, "a server removes runs by its own retention");
    if (rc != DUR_OK || (rc = read_policy(engine, &o, &policy)) != DUR_OK) {
        return rc;
    }
    if (!o.dry_run) {
        rc = purge(engine, &policy, &count, &freed_bytes);
    } else if (purge_preview(store_db(engine->store), &policy, &count, &err) < 0) {
        rc = engine_fail(engine, &err);
    }
    if (ret) {
        *ret = (dur_purged){count.runs, count.events, count.history_bytes, freed_bytes};
    }
    return rc;
}
