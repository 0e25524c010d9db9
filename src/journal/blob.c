/*
 * blob.c - see blob.h. Tables blob and blob_ref.
 * Format: codec 0 is the content itself, 1 a zstd frame (level 3); digest is over the content.
 * zstd's filter-level damage goes unnoticed without a checksum, so every read checks the digest.
 * Tests: tests/unit/test_journal_blob.c
 */
#include "journal/blob.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"
#include "journal/db.h"

enum codec {
    CODEC_PLAIN = 0,
    CODEC_ZSTD = 1,
};
#define ZSTD_LEVEL 3 /* higher levels gain next to nothing on JSON */

static int64_t find(struct txn *txn, const char *digest)
{
    int64_t id = 0;
    return blob_find(txn_db(txn), digest, &id, NULL) == 0 ? id : 0;
}

static int64_t insert(struct txn *txn, const char *digest, const void *bytes, size_t len)
{
    static const char SQL[] =
        "INSERT INTO blob (digest, size, codec, bytes) VALUES (?1, ?2, ?3, ?4)";
    size_t cap = ZSTD_compressBound(len);
    autofree void *packed = mem_alloc(cap);
    size_t packed_len = ZSTD_compress(packed, cap, bytes, len, ZSTD_LEVEL);
    bool helps = !ZSTD_isError(packed_len) && packed_len < len - len / 8;
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, digest);
    bind_i64(stmt, 2, (int64_t)len);
    bind_i64(stmt, 3, helps ? CODEC_ZSTD : CODEC_PLAIN);
    sqlite3_bind_blob64(stmt, 4,
                        helps ? packed
                        : len ? bytes
                              : "",
                        helps ? packed_len : len, SQLITE_STATIC);
    txn_run(txn, stmt);
    if (stmt) {
        sqlite3_clear_bindings(stmt); /* packed dies here */
    }
    return txn_last_rowid(txn);
}

int64_t blob_put(struct txn *txn, int64_t execution, const void *bytes, size_t len,
                 char ret_digest[SHA256_HEX_BYTES])
{
    static const char REF[] = "INSERT INTO blob_ref (execution, blob) VALUES (?1, ?2) "
                              "ON CONFLICT DO NOTHING";
    char digest[SHA256_HEX_BYTES];
    if (txn_failed(txn)) {
        return 0;
    }
    if (len > BLOB_MAX_BYTES) {
        struct err why;
        err_set(&why, ERR_PERMANENT, "BlobTooLarge", "content of %zu bytes (limit %zu)", len,
                BLOB_MAX_BYTES);
        txn_fail(txn, &why);
        return 0;
    }
    sha256_hex(bytes, len, digest);
    int64_t id = find(txn, digest);
    if (!id) {
        id = insert(txn, digest, bytes, len);
    }
    txn_run_key(txn, REF, execution, id);
    if (ret_digest) {
        memcpy(ret_digest, digest, SHA256_HEX_BYTES);
    }
    return txn_failed(txn) ? 0 : id;
}

static int damaged(int64_t id, struct err *err)
{
    return err_set(err, ERR_PERMANENT, "StoreCorrupt",
                   "blob %lld does not match its digest: restore the database from a backup",
                   (long long)id);
}

/* It needs memory of its own, and its want of that says nothing about the bytes. */
static int unpack(int64_t id, char *content, size_t len, const void *packed, size_t packed_len,
                  struct err *err)
{
    size_t got = ZSTD_decompress(content, len, packed, packed_len);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) {
        mem_note_short();
        got = ZSTD_decompress(content, len, packed, packed_len);
    }
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) {
        return err_set(err, ERR_TRANSIENT, "OutOfMemory", "no memory to unpack blob %lld",
                       (long long)id);
    }
    return got == len ? 0 : damaged(id, err);
}

int blob_get(struct db *db, struct arena *arena, int64_t id, char **ret, size_t *ret_len,
             struct err *err)
{
    static const char SQL[] = "SELECT digest, size, codec, bytes FROM blob WHERE id = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, id);
    int rc = query_next(&q);
    if (rc <= 0) {
        return rc < 0 ? rc : 1;
    }
    const char *digest = column_text(q.stmt, 0);
    uint64_t len = (uint64_t)row_i64(&q, 1);
    const void *stored = column_blob(q.stmt, 3);
    size_t stored_len = (size_t)sqlite3_column_bytes(q.stmt, 3);
    if (len > BLOB_MAX_BYTES) {
        return damaged(id, err);
    }
    char *content = arena_alloc(arena, (size_t)len + 1);
    if (row_i64(&q, 2) == CODEC_ZSTD) {
        if (unpack(id, content, (size_t)len, stored, stored_len, err) < 0) {
            return -1;
        }
    } else if (stored_len != len) {
        return damaged(id, err);
    } else if (len > 0) {
        memcpy(content, stored, (size_t)len);
    }
    char check[SHA256_HEX_BYTES];
    sha256_hex(content, (size_t)len, check);
    if (!str_eq(check, digest)) {
        return damaged(id, err);
    }
    *ret = content;
    *ret_len = (size_t)len;
    return 0;
}

int blob_find(struct db *db, const char *digest, int64_t *ret_id, struct err *err)
{
    static const char SQL[] = "SELECT id FROM blob WHERE digest = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, digest);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret_id = row_i64(&q, 0);
        return 0;
    }
    return rc < 0 ? rc : 1;
}
