/*
 * signal_request.h - table signal_request: which signal requests a run has taken already.
 *
 * Owns: (execution, request id). Written in the transaction that appends the signal, so a repeated
 * request finds it. A successor or a reset run starts with what its signals brought along.
 */
#ifndef JOURNAL_SIGNAL_REQUEST_H
#define JOURNAL_SIGNAL_REQUEST_H

#include "journal/store.h"

/* Remember it. False: it was there already (or the transaction has failed). */
bool signal_request_put(struct txn *txn, int64_t execution, const char *request_id);
/* All of one run count as seen by the other too. */
void signal_request_copy(struct txn *txn, int64_t from, int64_t to);

#endif
