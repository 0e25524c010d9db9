/*
 * blob.h - tables blob and blob_ref: large content, stored once.
 *
 * Owns: content addressed by SHA-256, zstd-compressed where that helps, and which runs use it. A
 * blob goes with its last reference (trigger), references go with their run (cascade). Must not be
 * used for small values: a row of text is cheaper below some kilobytes.
 */
#ifndef JOURNAL_BLOB_H
#define JOURNAL_BLOB_H

#include <stddef.h>

#include "base/digest.h"
#include "journal/store.h"

#define BLOB_MAX_BYTES ((size_t)900 << 20) /* SQLite holds 10^9 bytes in one row */

/* Store content for a run. Returns the blob's row id (0 when the transaction has failed);
 * ret_digest may be NULL. Larger than BLOB_MAX_BYTES fails the transaction (name "BlobTooLarge").
 */
int64_t blob_put(struct txn *txn, int64_t execution, const void *bytes, size_t len,
                 char ret_digest[SHA256_HEX_BYTES]);
/* 0, with a NUL behind the content; 1: not there; <0 also when the content does not match its
 * digest (name "StoreCorrupt"). */
int blob_get(struct db *db, struct arena *arena, int64_t id, char **ret, size_t *ret_len,
             struct err *err);
int blob_find(struct db *db, const char *digest, int64_t *ret_id, struct err *err);

#endif
