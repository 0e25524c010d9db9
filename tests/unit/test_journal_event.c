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
        {.event_id = 3, .type = 6, .time_ns = -5, .attributes = "", .attributes_len = 0},
    };
    struct txn *txn = txn_begin(store);
    put_events(txn, other, 1, 5);
    event_append(txn, id, rows, 3);
    event_append(txn, id, NULL, 0);
    commit(txn);
    struct event_list list;
    cr_assert_eq(event_read(store_db(store), arena, id, 1, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.rows[0].type, 1);
    cr_assert_eq(list.rows[0].time_ns, 1796000000123456789);
    cr_assert_str_eq(list.rows[0].attributes, "{\"a\":1}");
    cr_assert_eq(list.rows[0].attributes_len, 7);
    cr_assert_null(list.rows[1].attributes);
    cr_assert_str_eq(list.rows[2].attributes, "");
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
    event_append(txn, id, &row, 1);
    event_append(txn, id, &row, 1);
    cr_assert_str_eq(txn_error(txn)->name, "StoreConstraint");
    txn_rollback(txn);
    row.event_id = 0;
    txn = txn_begin(store);
    event_append(txn, id, &row, 1);
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
        "UPDATE event SET type = 2",
        "DELETE FROM event WHERE event_id = 2",
        "PRAGMA recursive_triggers = ON;"
        "REPLACE INTO event VALUES (1, 2, 9, 9, NULL, NULL)",
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
            text[n] = (char)('a' + (n * 7 + n / 13 + i) % 26);
        }
        struct event_row row = {.event_id = (int64_t)i + 1,
                                .type = 26,
                                .time_ns = 1,
                                .attributes = text,
                                .attributes_len = sizes[i]};
        event_append(txn, id, &row, 1);
    }
    execution_set_head(txn, id, (int64_t)ARRAY_LEN(sizes) + 1, 1);
    commit(txn);
    struct event_list list;
    cr_assert_eq(event_read(store_db(store), arena, id, 1, 0, &list, NULL), 0);
    cr_assert_eq(list.count, ARRAY_LEN(sizes));
    for (size_t i = 0; i < list.count; i++) {
        const struct event_row *row = &list.rows[i];
        cr_assert_eq(row->attributes_len, sizes[i]);
        cr_assert_eq(strlen(row->attributes), sizes[i]);
        for (size_t n = 0; n < sizes[i]; n++) {
            cr_assert_eq(row->attributes[n], (char)('a' + (n * 7 + n / 13 + i) % 26));
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
        event_append(txn, id, &row, 1);
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
