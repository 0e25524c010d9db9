/*
 * test_journal_blob.c - journal/blob: once, compressed, counted, checked.
 */
#include "../lib/journal_fixture.h"

#include <sqlite3.h>

#include "base/rng.h"
#include "journal/blob.h"

TestSuite(journal_blob, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

static int64_t ask(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s", sql);
    int rc = sqlite3_step(stmt);
    int64_t value = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -rc;
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

Test(journal_blob, content_is_stored_once_and_comes_back)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    size_t size = 200000;
    char *text = arena_alloc(arena, size);
    memset(text, 'a', size);
    int64_t a = new_run(store, 1);
    int64_t b = new_run(store, 2);
    char digest[SHA256_HEX_BYTES];
    char expect[SHA256_HEX_BYTES];
    struct txn *txn = txn_begin(store);
    int64_t first = blob_put(txn, a, text, size, digest);
    cr_assert_eq(blob_put(txn, a, text, size, NULL), first);
    cr_assert_eq(blob_put(txn, b, text, size, NULL), first);
    commit(txn);
    sha256_hex(text, size, expect);
    cr_assert_str_eq(digest, expect);
    cr_assert_eq(ask("SELECT count(*) FROM blob"), 1);
    cr_assert_lt(ask("SELECT length(bytes) FROM blob"), 1000, "it is compressed");
    char *back = NULL;
    size_t len = 0;
    cr_assert_eq(blob_get(store_db(store), arena, first, &back, &len, NULL), 0);
    cr_assert_eq(len, size);
    cr_assert_eq(memcmp(back, text, size), 0);
    cr_assert_eq(back[size], 0);
    cr_assert_eq(blob_get(store_db(store), arena, 4711, &back, &len, NULL), 1);
}

Test(journal_blob, what_does_not_compress_is_kept_as_it_is)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    char noise[5000];
    rng_bytes(noise, sizeof(noise));
    char *back = NULL;
    size_t len = 1;
    int64_t run = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    int64_t id = blob_put(txn, run, noise, sizeof(noise), NULL);
    int64_t none = blob_put(txn, run, "", 0, NULL);
    commit(txn);
    cr_assert_eq(ask("SELECT codec FROM blob WHERE size = 5000"), 0);
    cr_assert_eq(blob_get(store_db(store), arena, id, &back, &len, NULL), 0);
    cr_assert_eq(len, sizeof(noise));
    cr_assert_eq(memcmp(back, noise, len), 0);
    cr_assert_eq(blob_get(store_db(store), arena, none, &back, &len, NULL), 0);
    cr_assert_eq(len, 0);
}

Test(journal_blob, it_goes_with_its_last_run)
{
    autostore struct store *store = open_store();
    int64_t a = new_run(store, 1);
    int64_t b = new_run(store, 2);
    struct txn *txn = txn_begin(store);
    blob_put(txn, a, "shared", 6, NULL);
    blob_put(txn, b, "shared", 6, NULL);
    execution_close(txn, a, EXECUTION_COMPLETED, 1, "1", NULL);
    execution_close(txn, b, EXECUTION_COMPLETED, 1, "1", NULL);
    execution_delete(txn, a);
    commit(txn);
    cr_assert_eq(ask("SELECT count(*) FROM blob"), 1);
    check_store(store);
    txn = txn_begin(store);
    execution_delete(txn, b);
    commit(txn);
    cr_assert_eq(ask("SELECT count(*) FROM blob"), 0);
    cr_assert_eq(ask("SELECT count(*) FROM blob_ref"), 0);
    check_store(store);
}

Test(journal_blob, damage_is_noticed)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct err err = {0};
    char *back = NULL;
    size_t len = 0;
    int64_t run = new_run(store, 1);
    char text[4000];
    memset(text, 'b', sizeof(text));
    struct txn *txn = txn_begin(store);
    int64_t packed = blob_put(txn, run, text, sizeof(text), NULL);
    int64_t plain = blob_put(txn, run, "short", 5, NULL);
    int64_t cut = blob_put(txn, run, "other", 5, NULL);
    commit(txn);
    cr_assert_eq(ask("UPDATE blob SET size = 1"), -SQLITE_CONSTRAINT, "blobs are frozen");
    cr_assert_eq(ask("DROP TRIGGER blob_frozen"), -SQLITE_DONE);
    cr_assert_eq(ask("UPDATE blob SET bytes = zeroblob(length(bytes)) WHERE size = 4000"),
                 -SQLITE_DONE);
    cr_assert_eq(ask("UPDATE blob SET bytes = x'0000000000' WHERE bytes = CAST('short' AS BLOB)"),
                 -SQLITE_DONE);
    cr_assert_eq(ask("UPDATE blob SET bytes = x'00' WHERE bytes = CAST('other' AS BLOB)"),
                 -SQLITE_DONE);
    cr_assert_lt(blob_get(store_db(store), arena, packed, &back, &len, &err), 0);
    cr_assert_str_eq(err.name, "StoreCorrupt");
    cr_assert_lt(blob_get(store_db(store), arena, plain, &back, &len, &err), 0);
    cr_assert_lt(blob_get(store_db(store), arena, cut, &back, &len, &err), 0);
}

Test(journal_blob, too_large_fails_the_transaction)
{
    autostore struct store *store = open_store();
    int64_t run = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    cr_assert_eq(blob_put(txn, run, "x", BLOB_MAX_BYTES + 1, NULL), 0);
    cr_assert_str_eq(txn_error(txn)->name, "BlobTooLarge");
    txn_rollback(txn);
}
