/*
 * test_journal_filter.c - the list filter language: which runs pass, and where mistakes are.
 */
#include "../lib/journal_fixture.h"

#include "journal/filter.h"

TestSuite(journal_filter, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static void add_run(struct txn *txn, const char *id, const char *type, int64_t started_ns,
                    const char *attributes)
{
    int64_t run = execution_insert(txn, &(struct execution_row){.workflow_id = id,
                                                                .run_id = id,
                                                                .type = type,
                                                                .task_queue = "default",
                                                                .status = EXECUTION_RUNNING,
                                                                .started_ns = started_ns,
                                                                .search_attributes = attributes});
    event_append(txn, run, (struct event_row[]){{.event_id = 1}, {.event_id = 2}}, 2, 0);
}

/* Five runs; b is closed, c is paused. */
static struct store *fill(void)
{
    struct store *store = open_store();
    struct txn *txn = txn_begin(store);
    add_run(txn, "a", "Order", 1767323045000000000,
            "{\"Customer\":\"c1\",\"Amount\":12,\"Paid\":true,\"Tags\":[\"x\",\"y\"]}");
    add_run(txn, "b", "Order", 1767323046000000000,
            "{\"Customer\":\"c2\",\"Amount\":2.5,\"Paid\":false,"
            "\"Due\":{\"type\":\"Datetime\",\"value\":\"2026-01-02T03:04:05.000000000Z\"}}");
    add_run(txn, "c", "Refund", 1767323047000000000,
            "{\"Customer\":\"12\",\"Tags\":[\"y\"],\"Odd name\":\"it's\"}");
    add_run(txn, "d", "Order", 1767323048000000000, NULL);
    add_run(txn, "e", "Ord", 1767323049000000000,
            "{\"Amount\":{\"type\":\"Double\",\"value\":12},\"Note\":{\"type\":\"Text\","
            "\"value\":\"long words\"}}");
    execution_close(txn, 2, EXECUTION_COMPLETED, 1767323136000000000, "1", NULL);
    execution_set_paused(txn, 3, "lunch");
    cr_assert_eq(txn_commit(txn, NULL), 0);
    return store;
}

/* Ids of the runs that pass, oldest first. */
static const char *passing(struct store *store, struct arena *arena, const char *text)
{
    struct filter filter;
    struct execution_list list;
    struct err err = {0};
    if (filter_parse(arena, text, &filter, &err) < 0) {
        return arena_strdup(arena, err.text);
    }
    cr_assert_eq(execution_list_where(store_db(store), arena, &filter, 0, 100, &list, &err), 0,
                 "%s: %s", text, err.text);
    autostr struct str ids = {0};
    for (size_t i = list.count; i-- > 0;) {
        str_add(&ids, list.rows[i].workflow_id);
    }
    return arena_strdup(arena, str_c(&ids));
}

static const struct {
    const char *filter, *ids;
} passes[] = {
    {"", "abcde"},
    {" \n", "abcde"},
    {"WorkflowType = 'Order'", "abd"},
    {"WorkflowType != \"Order\"", "ce"},
    {"WorkflowType <> 'Order' and WorkflowId <> 'c'", "e"},
    {"WorkflowType STARTS_WITH 'Ord'", "abde"},
    {"WorkflowType NOT STARTS_WITH 'Order'", "ce"},
    {"WorkflowId IN ('a', 'e', 'zz')", "ae"},
    {"WorkflowId NOT IN ('a')", "bcde"},
    {"RunId >= 'c'", "cde"},
    {"TaskQueue = 'default' AND NOT WorkflowId = 'a'", "bcde"},
    {"ExecutionStatus = 'Running'", "ade"},
    {"ExecutionStatus = 'running' OR ExecutionStatus = 'Paused'", "acde"},
    {"ExecutionStatus = 'Paused'", "c"},
    {"ExecutionStatus != 'Running'", "bc"},
    {"ExecutionStatus IN ('Completed', 'Paused')", "bc"},
    {"ExecutionStatus = 2", "b"},
    {"StartTime > '2026-01-02T03:04:06Z'", "cde"},
    {"StartTime BETWEEN '2026-01-02T03:04:06Z' AND '2026-01-02T04:04:07+01:00'", "bc"},
    {"StartTime NOT BETWEEN '2026-01-02T03:04:06Z' AND '2026-01-02T03:04:07Z'", "ade"},
    {"StartTime = 1767323045000000000", "a"},
    {"CloseTime IS NULL", "acde"},
    {"CloseTime IS NOT NULL", "b"},
    {"ExecutionDuration >= '1m30s'", "b"},
    {"ExecutionDuration > '1m30s'", ""},
    {"HistoryLength = 2", "abcde"},
    {"HistorySizeBytes > 0", ""},
    {"Customer = 'c1'", "a"},
    {"Customer = '12'", "c"},
    {"Customer = 12", ""},
    {"Customer != 'c1'", "bc"},
    {"NOT Customer = 'c1'", "bcde"},
    {"NOT (Customer != 'c1')", "ade"},
    {"Customer IS NULL", "de"},
    {"Customer IS NOT NULL", "abc"},
    {"Customer IN ('c1', 'c2')", "ab"},
    {"Customer NOT IN ('c1', 'c2')", "c"},
    {"Customer STARTS_WITH 'c'", "ab"},
    {"Amount = 12", "ae"},
    {"Amount = 12.0", "ae"},
    {"Amount < 12", "b"},
    {"Amount > -1e3", "abe"},
    {"Amount >= 'a'", ""},
    {"Amount BETWEEN 2 AND 3", "b"},
    {"Paid = true", "a"},
    {"Paid = FALSE", "b"},
    {"Tags = 'y'", "ac"},
    {"Tags = 'x' OR Tags = 'z'", "a"},
    {"Tags != 'x'", "c"},
    {"Tags IN ('x', 'z')", "a"},
    {"Due = '2026-01-02T03:04:05Z'", "b"},
    {"Due = '2026-01-02T04:04:05.0+01:00'", "b"},
    {"Due < '2026-01-02T03:04:05.1Z'", "b"},
    {"Due > '2026-01-02T03:04:05.1Z'", ""},
    {"Note = 'long words'", "e"},
    {"`Odd name` = 'it''s'", "c"},
    {"`Odd name` = \"it's\"", "c"},
    {"Nobody = 'x'", ""},
    {"Nobody IS NULL", "abcde"},
    {"customer = 'c1'", ""}, /* names are exact */
    {"WorkflowType = 'Order' AND (Amount > 10 OR Paid = false)", "ab"},
    {"WorkflowType = 'Ord' OR WorkflowType = 'Order' AND Amount > 10", "ae"},
    {"not not WorkflowId = 'a'", "a"},
    {"(((WorkflowId = 'a')))", "a"},
    {"WorkflowId = ''", ""},
    {"WorkflowId = 'a'' OR 1=1 --'", ""},
    {"WorkflowId = '?1'", ""},
    {"ParentWorkflowId IS NULL", "abcde"},
    {"ParentRunId = 'a'", ""},
};

Test(journal_filter, runs_that_pass)
{
    struct store *store = fill();
    for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
        autoarena struct arena *arena = arena_new();
        cr_expect_str_eq(passing(store, arena, passes[i].filter), passes[i].ids, "%s: %s",
                         passes[i].filter, passing(store, arena, passes[i].filter));
    }
    store_close(store);
}

Test(journal_filter, mistakes_have_a_place)
{
    static const struct {
        const char *filter, *error;
    } rows[] = {
        {"WorkflowType", "column 13: a comparison (=, !=, <, IN, BETWEEN, STARTS_WITH, IS) is "
                         "wanted, but the filter ends here"},
        {"WorkflowType =", "column 15: a value ('text', a number, true or false) is wanted, but "
                           "the filter ends here"},
        {"= 1", "column 1: a name is wanted, not ="},
        {"A = 1 B = 2", "column 7: AND, OR or the end is wanted, not B"},
        {"A = 'x", "column 5: this ' is never closed"},
        {"A = x", "column 5: a value ('text', a number, true or false) is wanted, not x"},
        {"A = 1)", "column 6: AND, OR or the end is wanted, not )"},
        {"(A = 1", "column 7: ) is wanted, but the filter ends here"},
        {"A IN 1", "column 6: ( is wanted, not 1"},
        {"A IN ()", "column 7: a value ('text', a number, true or false) is wanted, not )"},
        {"A BETWEEN 1 OR 2", "column 13: AND is wanted, not OR"},
        {"A IS 1", "column 6: NULL is wanted, not 1"},
        {"A ; 1", "column 3: ';' has no meaning here"},
        {"A = 1.2.3", "column 5: 1.2.3 is no number"},
        {"A = 1e999", "column 5: 1e999 is no number"},
        {"ExecutionStatus = 'Gone'", "column 19: no such status (Running, Completed, Failed, "
                                     "Canceled, Terminated, ContinuedAsNew, TimedOut, Paused)"},
        {"ExecutionStatus > 1", "column 19: a status is equal or not; it has no order"},
        {"StartTime > 'noon'", "column 13: StartTime wants a time, '2026-01-02T03:04:05Z'"},
        {"ExecutionDuration > '1x'", "column 21: ExecutionDuration wants a duration, '1h30m'"},
        {"WorkflowId = 1", "column 14: WorkflowId wants a 'text'"},
        {"HistoryLength = 'x'", "column 17: HistoryLength wants a number"},
        {"HistoryLength STARTS_WITH 1", "column 27: STARTS_WITH compares texts"},
        {"A STARTS_WITH 1", "column 15: STARTS_WITH compares texts"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena struct arena *arena = arena_new();
        struct filter filter;
        struct err err = {0};
        cr_expect_eq(filter_parse(arena, rows[i].filter, &filter, &err), -1, "%s", rows[i].filter);
        cr_expect_str_eq(err.text, rows[i].error);
        cr_expect_str_eq(err.name, "BadFilter");
    }
}

/* Limits: depth, count, length. */
Test(journal_filter, limits)
{
    autoarena struct arena *arena = arena_new();
    struct filter filter;
    struct err err = {0};
    autostr struct str text = {0};
    for (int i = 0; i < 200; i++) {
        str_addc(&text, '(');
    }
    cr_expect_eq(filter_parse(arena, str_c(&text), &filter, &err), -1);
    cr_expect(strstr(err.text, "nested deeper than 50"), "%s", err.text);
    str_reset(&text);
    for (int i = 0; i < 600; i++) {
        str_add(&text, i ? " AND WorkflowId = 'a'" : "WorkflowId = 'a'");
    }
    cr_expect_eq(filter_parse(arena, str_c(&text), &filter, &err), -1);
    cr_expect(strstr(err.text, "more than 500 names and values"), "%s", err.text);
    str_reset(&text);
    for (int i = 0; i < 70000; i++) {
        str_addc(&text, ' ');
    }
    cr_expect_eq(filter_parse(arena, str_c(&text), &filter, &err), -1);
    cr_expect(strstr(err.text, "at most 65536 bytes"), "%s", err.text);
}

/* The largest filter that passes the parser is one that SQLite takes. */
Test(journal_filter, the_largest_filter_runs)
{
    struct store *store = fill();
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    for (int i = 0; i < 24; i++) {
        str_add(&text, "NOT (");
    }
    for (int i = 0; i < 160; i++) { /* a name, a time and its other spelling: three each */
        str_add(&text, i ? " OR Due = '2027-01-02T03:04:05Z'" : "Due = '2027-01-02T03:04:05Z'");
    }
    for (int i = 0; i < 24; i++) {
        str_addc(&text, ')');
    }
    cr_expect_str_eq(passing(store, arena, str_c(&text)), "");
    store_close(store);
}

/* Rows follow the runs' attributes, and go with the runs. */
Test(journal_filter, the_index_follows)
{
    struct store *store = fill();
    autoarena struct arena *arena = arena_new();
    struct txn *txn = txn_begin(store);
    execution_set_search_attributes(txn, 1, "{\"Customer\":\"c9\"}");
    execution_set_search_attributes(txn, 2, NULL);
    cr_assert_eq(txn_commit(txn, NULL), 0);
    cr_expect_str_eq(passing(store, arena, "Customer = 'c9'"), "a");
    cr_expect_str_eq(passing(store, arena, "Customer IN ('c1', 'c2')"), "");
    cr_expect_str_eq(passing(store, arena, "Tags = 'x' OR Due IS NOT NULL"), "");
    txn = txn_begin(store);
    execution_close(txn, 1, EXECUTION_COMPLETED, 1767323136000000000, "1", NULL);
    execution_delete(txn, 1);
    cr_assert_eq(txn_commit(txn, NULL), 0);
    cr_expect_str_eq(passing(store, arena, "Customer = 'c9'"), "");
    store_close(store);
}
