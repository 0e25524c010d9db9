/*
 * sealed.h - texts of columns that are sealed at rest, and table sealing_key: which keys sealed.
 *
 * Owns: which columns are sealed (in the form of base/sealed_text.h), and one row for each key that
 * ever sealed something in this store, with a proof by which another key of the same id is told.
 * The columns are those that hold what people wrote: memo, result, failure, parked, inputs,
 * answers, details, outcomes. Attributes of events are sealed by whoever encodes them
 * (history/sealing.h); of a schedule's definition, its input and memo are (schedule.c).
 *
 * Within this room columns are bound by bind_sealed() and read by row_sealed() (db.h). A store
 * without a sealer writes plain text. What cannot be opened is an error within a transaction, since
 * something could be decided by it; a plain reader gets the sealed form and can tell by
 * sealed_key(). Must not: know a cipher. Threads: any.
 */
#ifndef JOURNAL_SEALED_H
#define JOURNAL_SEALED_H

#include "base/sealed_text.h"
#include "journal/store.h"

struct sealing_key_row {
    const char *key_id;
    const char *proof; /* a fixed text in the sealed form */
    int64_t first_used_ns;
};
struct sealing_key_list {
    struct sealing_key_row *rows;
    size_t count;
};

/* False: it is there already (or the transaction has failed). */
bool sealing_key_put(struct txn *txn, const struct sealing_key_row *row);
int sealing_key_list(struct db *db, struct arena *arena, struct sealing_key_list *ret,
                     struct err *err);

#endif
