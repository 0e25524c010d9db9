/*
 * test_journal_event.c - journal/event: append-only histories, ranges, large attributes.
 */
#include "../lib/journal_fixture.h"

#include <sqlite3.h>

TestSuite(journal_event, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

Test(journal_event, what_was_appended_is_read_back_in_order)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    int64_t other = new_run(store, 2);
    int64_t n = 0;
    struct event_row rows[] = {
        {.event_id = 1,
         .type = 1,
         .time_ns = 1796000000123456789,
         .attributes = "{\"a\":1}",
         .attributes_len = 7},
        {.event_id = 2, .type = 5, .time_ns = 20},
        {.event_id = 3, .type = 6, .time_ns = -5, .attributes = "{}", .attributes_len = 2},
    };
    struct txn *txn = txn_begin(store);
    put_events(txn, other, 1, 5);
    event_append(txn, id, rows, 3, 60);
    event_append(txn, id, NULL, 0, 60);
    commit(txn);
    struct event_list list;
    cr_assert_eq(event_read(store_db(store), arena, id, 1, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.rows[0].type, 1);
    cr_assert_eq(list.rows[0].time_ns, 1796000000123456789);
    cr_assert_str_eq(list.rows[0].attributes, "{\"a\":1}");
    cr_assert_eq(list.rows[0].attributes_len, 7);
    cr_assert_null(list.rows[1].attributes);
    cr_assert_str_eq(list.rows[2].attributes, "{}");
    cr_assert_eq(list.rows[2].time_ns, -5);
    cr_assert_eq(event_count(store_db(store), other, &n, NULL), 0);
    cr_assert_eq(n, 5);
    cr_assert_eq(event_read(store_db(store), arena, 4711, 1, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 0);
}

Test(journal_event, a_range_is_a_range)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 100);
    commit(txn);
    struct event_list list;
    cr_assert_eq(event_read(store_db(store), arena, id, 40, 10, &list, NULL), 0);
    cr_assert_eq(list.count, 10);
    cr_assert_eq(list.rows[0].event_id, 40);
    cr_assert_eq(list.rows[9].event_id, 49);
    cr_assert_eq(event_read(store_db(store), arena, id, 96, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 5);
    cr_assert_eq(event_read(store_db(store), arena, id, 101, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 0);
}

Test(journal_event, an_event_id_is_used_once)
{
    autostore struct store *store = open_store();
    int64_t id = new_run(store, 1);
    struct event_row row = {.event_id = 1, .type = 1, .time_ns = 1};
    struct txn *txn = txn_begin(store);
    event_append(txn, id, &row, 1, 16);
    event_append(txn, id, &row, 1, 16);
    cr_assert_str_eq(txn_error(txn)->name, "StoreConstraint");
    txn_rollback(txn);
    row.event_id = 0;
    txn = txn_begin(store);
    event_append(txn, id, &row, 1, 16);
    cr_assert(txn_failed(txn), "event ids begin at 1");
    txn_rollback(txn);
}

Test(journal_event, histories_cannot_be_changed_by_sql)
{
    autostore struct store *store = open_store();
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 3);
    commit(txn);
    static const char *const attempts[] = {
        "UPDATE event_batch SET events = '[]'",
        "DELETE FROM event_batch WHERE first_event_id = 2",
        "PRAGMA recursive_triggers = ON;"
        "REPLACE INTO event_batch VALUES (1, 1, 2, 2, 9, 9, '[[9,0,null]]')",
        "UPDATE execution SET status = 2, closed_ns = 1; UPDATE execution SET status = 1, "
        "closed_ns = NULL",
    };
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        int rc = sqlite3_exec(db, attempts[i], NULL, NULL, NULL);
        cr_assert_eq(rc, SQLITE_CONSTRAINT, "%s gave %d", attempts[i], rc);
    }
    sqlite3_close(db);
    autoarena struct arena *arena = arena_new();
    struct event_list list;
    cr_assert_eq(event_read(store_db(store), arena, id, 1, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.rows[1].type, 26);
}

/* The nth byte of a JSON text of so many. */
static char letter(size_t n, size_t size, size_t salt)
{
    return size == 1                 ? '7'
           : n == 0 || n + 1 == size ? '"'
                                     : (char)('a' + (n * 7 + n / 13 + salt) % 26);
}

Test(journal_event, attributes_of_any_size)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    static const size_t sizes[] = {
        1,      900,    4000, EVENT_INLINE_BYTES - 1, EVENT_INLINE_BYTES, EVENT_INLINE_BYTES + 1,
        300000, 3000000};
    struct txn *txn = txn_begin(store);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *text = arena_alloc(arena, sizes[i] + 1);
        for (size_t n = 0; n < sizes[i]; n++) {
            text[n] = letter(n, sizes[i], i);
        }
        struct event_row row = {.event_id = (int64_t)i + 1,
                                .type = 26,
                                .time_ns = 1,
                                .attributes = text,
                                .attributes_len = sizes[i]};
        event_append(txn, id, &row, 1, 16);
    }
    commit(txn);
    struct event_list list;
    cr_assert_eq(event_read(store_db(store), arena, id, 1, 0, &list, NULL), 0);
    cr_assert_eq(list.count, ARRAY_LEN(sizes));
    for (size_t i = 0; i < list.count; i++) {
        const struct event_row *row = &list.rows[i];
        cr_assert_eq(row->attributes_len, sizes[i]);
        cr_assert_eq(strlen(row->attributes), sizes[i]);
        for (size_t n = 0; n < sizes[i]; n++) {
            cr_assert_eq(row->attributes[n], letter(n, sizes[i], i));
        }
    }
    check_store(store);
}

Test(journal_event, the_last_of_a_kind)
{
    autostore struct store *store = open_store();
    int64_t id = new_run(store, 1);
    int64_t event = 0;
    int type = 0;
    static const int types[] = {1, 5, 6, 7, 10, 26};
    struct txn *txn = txn_begin(store);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct event_row row = {.event_id = (int64_t)i + 1, .type = types[i], .time_ns = 1};
        event_append(txn, id, &row, 1, 16);
    }
    commit(txn);
    cr_assert_eq(event_last(store_db(store), id, 5, 9, &event, &type, NULL), 0);
    cr_assert_eq(event, 4);
    cr_assert_eq(type, 7);
    cr_assert_eq(event_last(store_db(store), id, 26, 26, &event, &type, NULL), 0);
    cr_assert_eq(event, 6);
    cr_assert_eq(event_last(store_db(store), id, 20, 21, &event, &type, NULL), 1);
    cr_assert_eq(event_last(store_db(store), 4711, 1, 99, &event, &type, NULL), 1);
}

/* Rows of one append, with attributes that try to look like the end of them. */
static const char *const odd_attributes[] = {NULL,
                                             "{}",
                                             "{\"a\":\"]]\"}",
                                             "{\"a\":\"\\\"],[9,9,\"}",
                                             "{\"a\":[[1,2],[3,{\"b\":[]}]]}",
                                             "{\"\\\\\":\"\\\\\"}",
                                             "{\"null\":null}",
                                             "[1,[2]]",
                                             "\"null\"",
                                             "-1.5e7",
                                             "{\"a\":\"\\u005d\"}"};

Test(journal_event, a_batch_gives_back_what_was_put_in)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    struct event_row rows[1000];
    struct event_list list;
    int64_t bytes = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = odd_attributes[i % ARRAY_LEN(odd_attributes)];
        rows[i] = (struct event_row){.event_id = (int64_t)i + 1,
                                     .type = (int)(i % 61),
                                     .time_ns = INT64_MAX - (int64_t)((i * 37) % 1000),
                                     .attributes = text,
                                     .attributes_len = text ? strlen(text) : 0};
        bytes += (int64_t)rows[i].attributes_len + EVENT_ROW_BYTES;
    }
    struct txn *txn = txn_begin(store);
    event_append(txn, id, rows, ARRAY_LEN(rows), bytes);
    commit(txn);
    for (int64_t from = 1; from <= 1001; from += 125) {
        cr_assert_eq(event_read(store_db(store), arena, id, from, 300, &list, NULL), 0);
        cr_assert_eq(list.count, from > 701 ? (size_t)(1001 - from) : 300);
        for (size_t i = 0; i < list.count; i++) {
            const struct event_row *want = &rows[from - 1 + (int64_t)i];
            const struct event_row *got = &list.rows[i];
            cr_assert_eq(got->event_id, want->event_id);
            cr_assert_eq(got->type, want->type);
            cr_assert_eq(got->time_ns, want->time_ns);
            cr_assert_eq(got->attributes_len, want->attributes_len);
            cr_assert(str_eq(got->attributes, want->attributes), "%s", got->attributes);
        }
    }
    struct execution_row row;
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    cr_assert_eq(row.next_event_id, 1001);
    cr_assert_eq(row.history_bytes, bytes);
    check_store(store);
}

/* What the check of a store says when this SQL has been at work in it. */
static void expect_complaint(const char *sql, const char *want)
{
    autostore struct store *store = open_store();
    struct err err = {0};
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 3);
    commit(txn);
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, "DROP TRIGGER event_batch_frozen; DROP TRIGGER event_batch_kept",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    cr_assert_lt(store_check(store, &err), 0, "%s", sql);
    cr_expect(strstr(err.text, want), "%s: %s", sql, err.text);
}

Test(journal_event, the_check_finds_a_gap)
{
    expect_complaint("DELETE FROM event_batch WHERE first_event_id = 2", "history with a gap");
}

Test(journal_event, the_check_finds_an_overlap)
{
    expect_complaint("UPDATE event_batch SET last_event_id = 3 WHERE first_event_id = 2",
                     "history with a gap");
}

Test(journal_event, the_check_finds_a_batch_that_cannot_be_read)
{
    expect_complaint("UPDATE event_batch SET events = '[[1,0,null' WHERE first_event_id = 3",
                     "events that cannot be read");
}

Test(journal_event, the_check_finds_a_batch_with_too_few_events)
{
    expect_complaint("UPDATE event_batch SET events = '[]' WHERE first_event_id = 3",
                     "events that cannot be read");
}

Test(journal_event, the_check_finds_a_blob_that_is_gone)
{
    expect_complaint("UPDATE event_batch SET events = '[[1,0,null,4711]]' WHERE first_event_id = 3",
                     "event without its blob");
}

Test(journal_event, a_damaged_batch_is_an_error_that_names_it)
{
    static const char *const texts[] = {"",
                                        "[",
                                        "[]",
                                        "[[1,0,null]",
                                        "[[1,0]]",
                                        "[[1,0,]]",
                                        "[[x,0,null]]",
                                        "[[1,0,null,0]]",
                                        "[[1,0,null,x]]",
                                        "[[-1,0,null]]",
                                        "[[1,0,{\"a\":\"}]]",
                                        "[[1,0,null]]x",
                                        "[[1,0,null],[2,0,null]]",
                                        "[[1,99999999999999999999,null]]",
                                        "{\"a\":1}"};
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 1);
    commit(txn);
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    sqlite3_exec(db, "DROP TRIGGER event_batch_frozen", NULL, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct event_list list;
        struct err err = {0};
        char *sql = sqlite3_mprintf("UPDATE event_batch SET events = %Q", texts[i]);
        cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_free(sql);
        cr_expect_lt(event_read(store_db(store), arena, id, 1, 0, &list, &err), 0, "%s", texts[i]);
        cr_expect_str_eq(err.name, "StoreCorrupt");
        cr_expect_str_eq(err.text, "events 1 to 1 cannot be read");
    }
    sqlite3_close(db);
}
