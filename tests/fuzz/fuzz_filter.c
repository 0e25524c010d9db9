/*
 * fuzz_filter.c - any bytes as a list filter: refused with a place, or SQL with its parameters.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over
 * tests/fuzz/corpus/filter. What the parser accepts, SQLite prepares: no text of the filter is in
 * the SQL but parameters' numbers.
 */
#include <assert.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "journal/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sqlite3 *tables(void)
{
    static sqlite3 *db;
    if (!db) {
        int rc = sqlite3_open(":memory:", &db);
        assert(rc == SQLITE_OK);
        rc = sqlite3_exec(db,
                          "CREATE TABLE execution (id, workflow_id, run_id, type, task_queue, "
                          "status, started_ns, closed_ns, next_event_id, history_bytes, paused, "
                          "parent); CREATE TABLE event_batch (execution, "
                          "first_event_id, last_event_id, history_bytes); "
                          "CREATE TABLE search_attribute (name, value, execution);",
                          NULL, NULL, NULL);
        assert(rc == SQLITE_OK);
        (void)rc;
    }
    return db;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autoarena struct arena *arena = arena_new();
    autofree char *text = mem_strndup((const char *)data, size);
    struct filter filter;
    struct err err = {0};
    if (filter_parse(arena, text, &filter, &err) < 0) {
        assert(str_starts(err.text, "column ") && strcmp(err.name, "BadFilter") == 0);
        return 0;
    }
    autostr struct str sql = {0};
    sqlite3_stmt *stmt = NULL;
    str_addf(&sql, "SELECT id FROM execution WHERE (%s)", filter.sql);
    int rc = sqlite3_prepare_v2(tables(), str_c(&sql), -1, &stmt, NULL);
    assert(rc == SQLITE_OK);
    assert(sqlite3_bind_parameter_count(stmt) <= (int)filter.count);
    (void)rc;
    sqlite3_finalize(stmt);
    return 0;
}
