/*
 * test_journal_sealed.c - columns that are sealed: every one that holds what people wrote, read
 * back, in the file without its text; what cannot be opened; texts that only look sealed.
 */
#include "journal/sealed.h"

#include "base/keyring.h"
#include "journal/question.h"
#include "journal/report.h"
#include "journal/run_update.h"
#include "journal/schedule.h"
#include "tests/lib/journal_fixture.h"

TestSuite(journal_sealed, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

#define SECRET "swordfish"
#define JSON "{\"word\":\"" SECRET "\"}"
#define RING(active)                                                                               \
    "{\"active\":\"" active "\",\"keys\":{\"a\":\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\"," \
    "\"b\":\"YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=\"}}"

static struct keyring *ring(const char *text)
{
    struct err err = {0};
    struct keyring *keyring = NULL;
    autofree char *path = mem_printf("%s/ring.json", scratch_dir);
    cr_assert_eq(fs_write_file(path, text, strlen(text), 0600, &err), 0, "%s", err.text);
    cr_assert_eq(keyring_load(path, &keyring, &err), 0, "%s", err.text);
    return keyring;
}

static struct store *open_with(const struct keyring *keyring)
{
    struct store *store = NULL;
    struct err err = {0};
    struct store_options options = {.reserve_bytes = -1, .sealer = keyring_sealer(keyring)};
    cr_assert_eq(store_open(scratch_db, &options, &store, &err), 0, "%s", err.text);
    return store;
}

static bool file_has(const char *suffix, const char *needle)
{
    autofree char *path = mem_printf("%s%s", scratch_db, suffix);
    autostr struct str bytes = {0};
    return fs_exists(path) && fs_read_file(path, 64 << 20, &bytes, NULL) == 0 &&
           memmem(bytes.ptr, bytes.len, needle, strlen(needle)) != NULL;
}

static void write_updates(struct txn *txn, int64_t id)
{
    for (int i = 0; i < 3; i++) {
        struct run_update_row update = {.execution = id,
                                        .update_id = i == 0   ? "u0"
                                                     : i == 1 ? "u1"
                                                              : "u2",
                                        .created_ns = 1,
                                        .name = "change",
                                        .input = JSON};
        run_update_admit(txn, &update);
    }
    run_update_accept(txn, id, "u0", 7);
    run_update_complete(txn, id, "u0", JSON, NULL);
    run_update_accept(txn, id, "u1", 8);
    run_update_complete(txn, id, "u1", NULL, JSON);
    run_update_reject(txn, id, "u2", JSON);
}

/* One row of each table with all that people write, and every way to write it again. */
static void write_all(struct store *store)
{
    struct txn *txn = txn_begin(store);
    struct execution_row run = {.workflow_id = "w",
                                .run_id = "r",
                                .type = "T",
                                .task_queue = "q",
                                .status = EXECUTION_RUNNING,
                                .next_event_id = 1,
                                .started_ns = 1,
                                .memo = JSON,
                                .result = JSON,
                                .failure = JSON,
                                .parked = "parked by " SECRET};
    int64_t id = execution_insert(txn, &run);
    run.workflow_id = "w2";
    run.run_id = "r2";
    int64_t other = execution_insert(txn, &run);
    execution_set_memo(txn, other, JSON);
    execution_set_parked(txn, other, "parked by " SECRET);
    execution_close(txn, other, EXECUTION_FAILED, 2, JSON, JSON);
    activity_insert(txn, &(struct activity_row){.execution = id,
                                                .scheduled_event_id = 5,
                                                .activity_id = "1",
                                                .type = "A",
                                                .task_queue = "q",
                                                .attempt = 1,
                                                .state = ACTIVITY_SCHEDULED,
                                                .input = JSON,
                                                .heartbeat_details = JSON,
                                                .last_failure = JSON});
    activity_start(txn, id, 5, 1, 2, 0, 1);
    activity_heartbeat(txn, id, 5, 1, 3, 0, JSON);
    activity_backoff(txn, id, 5, 2, 4, 0, JSON);
    write_updates(txn, id);
    struct question_row question = {
        .execution = id, .created_ns = 1, .expires_ns = 2, .name = "ask", .input = JSON};
    question.id = question_ask(txn, &question);
    question.answered_ns = 2;
    question.answer = JSON;
    question.failure_type = "T";
    question.failure = "no " SECRET;
    question_answer(txn, &question);
    report_put(txn, &(struct report_row){.execution = id,
                                         .scheduled_event_id = 5,
                                         .kind = REPORT_OUTCOME,
                                         .attempt = 1,
                                         .body = JSON});
    schedule_insert(
        txn, &(struct schedule_row){.name = "s",
                                    .definition = "{\"spec\":{\"cron\":[\"* * * * *\"]},\"action\":"
                                                  "{\"workflowType\":\"T\",\"input\":" JSON
                                                  ",\"memo\":" JSON "},\"policy\":{}}",
                                    .created_ns = 1,
                                    .changed_ns = 1,
                                    .last_result = JSON,
                                    .last_failure = JSON});
    commit(txn);
}

static void read_all(struct db *db, const char *expected, const char *text)
{
    autoarena struct arena *arena = arena_new();
    struct err err = {0};
    struct execution_row run;
    struct activity_list activities;
    struct run_update_row update;
    struct question_row question;
    struct schedule_row schedule;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(execution_find_run(db, arena, i ? "r2" : "r", &run, &err), 0, "%s", err.text);
        cr_expect_str_eq(run.memo, expected);
        cr_expect_str_eq(run.result, expected);
        cr_expect_str_eq(run.failure, expected);
        cr_expect(i || str_eq(run.parked, text));
    }
    cr_assert_eq(execution_find_run(db, arena, "r", &run, &err), 0);
    cr_assert_eq(activity_list(db, arena, run.id, &activities, &err), 0);
    cr_expect_str_eq(activities.rows[0].input, expected);
    cr_expect_str_eq(activities.rows[0].heartbeat_details, expected);
    cr_expect_str_eq(activities.rows[0].last_failure, expected);
    cr_assert_eq(run_update_get(db, arena, run.id, "u0", &update, &err), 0);
    cr_expect_str_eq(update.input, expected);
    cr_expect_str_eq(update.result, expected);
    cr_assert_eq(run_update_get(db, arena, run.id, "u1", &update, &err), 0);
    cr_expect_str_eq(update.failure, expected);
    cr_assert_eq(run_update_get(db, arena, run.id, "u2", &update, &err), 0);
    cr_expect_str_eq(update.failure, expected);
    cr_assert_eq(question_get(db, arena, 1, &question, &err), 0);
    cr_expect_str_eq(question.input, expected);
    cr_expect_str_eq(question.answer, expected);
    cr_assert_eq(schedule_find(db, arena, "s", &schedule, &err), 0);
    cr_expect_str_eq(schedule.last_result, expected);
    cr_expect_str_eq(schedule.last_failure, expected);
    cr_expect_str_eq(schedule.definition,
                     "{\"spec\":{\"cron\":[\"* * * * *\"]},\"action\":{\"workflowType\":\"T\","
                     "\"input\":" JSON ",\"memo\":" JSON "},\"policy\":{}}");
}

Test(journal_sealed, no_column_shows_what_people_wrote)
{
    autokeyring struct keyring *keyring = ring(RING("a"));
    autostore struct store *store = open_with(keyring);
    struct report_list reports;
    autoarena struct arena *arena = arena_new();
    write_all(store);
    cr_expect(!file_has("-wal", SECRET));
    cr_expect(file_has("-wal", "$sealed:a:"));
    read_all(store_db(store), JSON, "parked by " SECRET);
    struct txn *txn = txn_begin(store);
    read_all(txn_db(txn), JSON, "parked by " SECRET);
    report_take(txn, arena, 1, &reports);
    cr_assert_eq(reports.count, 1);
    cr_expect_str_eq(reports.rows[0].body, JSON);
    commit(txn);
    cr_assert_eq(store_checkpoint(store, NULL), 0);
    cr_expect(!file_has("", SECRET));
}

/* The test sees what it looks for. */
Test(journal_sealed, without_a_sealer_all_of_it_shows)
{
    autostore struct store *store = open_store();
    write_all(store);
    cr_expect(file_has("-wal", SECRET));
    cr_expect(!file_has("-wal", "$sealed"));
    read_all(store_db(store), JSON, "parked by " SECRET);
}

Test(journal_sealed, plain_text_from_before_is_read)
{
    struct store *store = open_store();
    write_all(store);
    store_close(store);
    autokeyring struct keyring *keyring = ring(RING("a"));
    autostore struct store *again = open_with(keyring);
    read_all(store_db(again), JSON, "parked by " SECRET);
}

Test(journal_sealed, another_active_key_reads_what_the_old_one_sealed)
{
    autokeyring struct keyring *a = ring(RING("a"));
    autokeyring struct keyring *b = ring(RING("b"));
    struct store *store = open_with(a);
    write_all(store);
    store_close(store);
    autostore struct store *again = open_with(b);
    read_all(store_db(again), JSON, "parked by " SECRET);
}

Test(journal_sealed, without_the_key_a_reader_sees_that_it_is_sealed)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    struct execution_row run;
    struct err err = {0};
    const char *opened = NULL;
    struct store *sealed = open_with(keyring);
    write_all(sealed);
    store_close(sealed);
    autostore struct store *store = open_store();
    cr_assert_eq(execution_find_run(store_db(store), arena, "r", &run, &err), 0);
    cr_assert_str_eq(sealed_key(arena, run.memo), "a");
    cr_assert_null(sealed_key(arena, JSON));
    cr_assert_null(sealed_key(arena, NULL));
    cr_assert_lt(sealed_open(NULL, arena, run.memo, &opened, &err), 0);
    cr_assert_str_eq(err.name, "UnknownSealingKey");
    /* Within a transaction something could be decided by it. */
    struct txn *txn = txn_begin(store);
    execution_find_run(txn_db(txn), arena, "r", &run, NULL);
    cr_assert(txn_failed(txn));
    cr_assert_str_eq(txn_error(txn)->name, "UnknownSealingKey");
    txn_rollback(txn);
}

Test(journal_sealed, what_was_changed_is_not_opened)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    const struct sealer *sealer = keyring_sealer(keyring);
    struct err err = {0};
    const char *opened = NULL;
    char *text = arena_strdup(arena, sealed_text(sealer, arena, JSON));
    cr_assert_eq(sealed_open(sealer, arena, text, &opened, &err), 0, "%s", err.text);
    cr_assert_str_eq(opened, JSON);
    for (size_t i = strlen("\"$sealed:a:"); i < strlen(text); i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        cr_assert_lt(sealed_open(sealer, arena, text, &opened, &err), 0, "%s", text);
        cr_assert_str_eq(err.name, "BrokenSeal");
        text[i] = was;
    }
    text[strlen(text) - 1] = '\0';
    cr_assert_lt(sealed_open(sealer, arena, text, &opened, &err), 0);
    cr_assert_null(sealed_text(sealer, arena, NULL));
    cr_assert_eq(sealed_open(sealer, arena, NULL, &opened, &err), 0);
    cr_assert_null(opened);
}

/* What a program gives may begin as a sealed text does. */
Test(journal_sealed, what_only_looks_sealed_is_plain)
{
    static const char look[] = "\"$sealed:a:QUJD\"";
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    struct execution_row run = {.workflow_id = "w",
                                .run_id = "r",
                                .type = "T",
                                .task_queue = "q",
                                .status = EXECUTION_COMPLETED,
                                .started_ns = 1,
                                .closed_ns = 2,
                                .result = look};
    struct execution_row back;
    for (int i = 0; i < 2; i++) {
        autostore struct store *store = open_with(i ? keyring : NULL);
        struct txn *txn = txn_begin(store);
        run.run_id = i ? "r1" : "r0";
        execution_insert(txn, &run);
        commit(txn);
        cr_assert_eq(execution_find_run(store_db(store), arena, run.run_id, &back, NULL), 0);
        cr_assert_str_eq(back.result, i ? look : "\"\\u0024sealed:a:QUJD\"");
    }
}

Test(journal_sealed, keys_are_remembered)
{
    autoarena struct arena *arena = arena_new();
    autostore struct store *store = open_store();
    struct sealing_key_list list;
    struct sealing_key_row a = {"a", "proof a", 2}, b = {"b", "proof b", 1};
    struct txn *txn = txn_begin(store);
    cr_assert(sealing_key_put(txn, &a));
    cr_assert(!sealing_key_put(txn, &a));
    cr_assert(sealing_key_put(txn, &b));
    commit(txn);
    cr_assert_eq(sealing_key_list(store_db(store), arena, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_str_eq(list.rows[0].key_id, "b");
    cr_assert_str_eq(list.rows[1].proof, "proof a");
}
