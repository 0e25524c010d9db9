/*
 * purge.h - retention: closed runs that may go, oldest first, with all that is theirs.
 *
 * Owns: which runs go, and how much of it fits into one transaction. A run goes whole, by foreign
 * keys: its history, requests, updates, search attributes, references to blobs, and the blobs that
 * nobody refers to any more; nothing of it is left (store_check() and the tests look). What others
 * keep of it stays theirs: a parent's history holds its child's result, a schedule its last result.
 * Must not: touch an open run, or one that an engine has still to look at (a mark waits for it:
 * journal/task.h); pages become free, the file shrinks by store_shrink().
 * Time is the wall clock's, as closed_ns is.
 */
#ifndef JOURNAL_PURGE_H
#define JOURNAL_PURGE_H

#include "journal/store.h"

struct purge_policy {
    int64_t closed_before_ns; /* those that closed earlier may go; 0: none by age */
    int64_t keep_runs; /* so many closed ones stay, the newest; the rest may go; <0: all stay */
};

struct purge_count {
    int64_t runs;
    int64_t events;
    int64_t history_bytes; /* as dur_description counts them */
};

/* In the transaction: removes some of those that may go: at most `runs`, and none that it would
 * begin after `until_ns` (clock_mono_ns()), but at least one. Adds to *ret. 1: there may be more,
 * 0: there are none, <0 with the transaction's error. */
int purge_slice(struct txn *txn, const struct purge_policy *policy, int runs, int64_t until_ns,
                struct purge_count *ret);
/* What it would remove in all; removes nothing. O(closed runs). */
int purge_preview(struct db *db, const struct purge_policy *policy, struct purge_count *ret,
                  struct err *err);
/* When the oldest closed run closed. 1: none is closed. */
int purge_oldest(struct db *db, int64_t *ret_closed_ns, struct err *err);

#endif
