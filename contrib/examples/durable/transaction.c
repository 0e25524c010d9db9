/*
 * transaction.c - SQL on tables of one's own, in the very transaction that records the step:
 * exactly once, whatever breaks when.
 */
#include "example.h"

static const dur_migration schema[] = {
    {"0001_accounts", "CREATE TABLE account (name TEXT PRIMARY KEY, cents INTEGER NOT NULL "
                      "CHECK (cents >= 0)) STRICT;"
                      "INSERT INTO account VALUES ('ann', 1000), ('bob', 0);"},
    {NULL, NULL},
};

/* Takes from one, gives to the other. What fails takes all of it back. */
static int transfer(dur_sql *sql, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_sql_exec(sql,
                     "UPDATE account SET cents = cents + iif(name = :to, :cents, -:cents)"
                     " WHERE name IN (:from, :to)",
                     input) != DUR_OK) {
        return dur_sql_fail(sql, "NoMoney", "%s", dur_sql_error(sql)); /* the table's CHECK */
    }
    if (dur_sql_changes(sql) != 2) {
        return dur_sql_fail(sql, "NoAccount", "one of them has no account");
    }
    return dur_sql_rows(sql, "SELECT name, cents FROM account ORDER BY name", NULL, result);
}

static int payment(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run_transaction(ctx, "Transfer", input, result);
    (void)user;
    if (rc == DUR_FAILED) {
        *result = dur_ctx_jsonf(ctx, "%q", dur_failure(ctx)->cause->type);
        return DUR_OK;
    }
    return rc;
}

static void expect(dur_engine *engine, const char *id, const char *input, const char *expected)
{
    char *result = example_run(engine, "Payment", id, input);
    if (strcmp(result, expected) != 0) {
        fprintf(stderr, "%s: got %s, not %s\n", id, result, expected);
        exit(1);
    }
    dur_free(result);
}

int main(void)
{
    dur_options options = {0};
    dur_engine *engine;
    options.schema_name = "bank";
    options.schema = schema;
    engine = example_open_with(options);
    dur_register_transaction(engine, "Transfer", transfer, NULL);
    dur_register_workflow(engine, "Payment", payment, NULL);
    expect(engine, "p1", "{\"from\":\"ann\",\"to\":\"bob\",\"cents\":300}",
           "[{\"name\":\"ann\",\"cents\":700},{\"name\":\"bob\",\"cents\":300}]");
    expect(engine, "p2", "{\"from\":\"ann\",\"to\":\"bob\",\"cents\":900}", "\"NoMoney\"");
    expect(engine, "p3", "{\"from\":\"ann\",\"to\":\"eve\",\"cents\":1}", "\"NoAccount\"");
    expect(engine, "p4", "{\"from\":\"bob\",\"to\":\"ann\",\"cents\":300}",
           "[{\"name\":\"ann\",\"cents\":1000},{\"name\":\"bob\",\"cents\":0}]");
    return example_end(engine, "transaction: nothing was lost");
}
