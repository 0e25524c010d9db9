/*
 * attributes.c - what is known of runs from outside: memo, search attributes, filters.
 */
#include "example.h"

/* Tells how far it is while it works. */
static int order(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc;
    (void)result;
    (void)user;
    CHECK(strstr(dur_search_attributes(ctx), "CustomerId") != NULL);
    rc = dur_upsert_memo(ctx, "{\"step\":\"packing\"}"); /* for people: shown, not searched */
    if (rc == DUR_OK) {
        rc = dur_upsert_search_attributes(
            ctx, dur_ctx_jsonf(ctx, "{\"Cents\":%i64}", dur_json_int(input, "/cents", 0)));
    }
    return rc != DUR_OK ? rc : dur_receive(ctx, "packed", -1, NULL);
}

static void start(dur_engine *engine, const char *id, const char *customer, int cents)
{
    dur_start_options options = {0};
    char input[32], attributes[64];
    snprintf(input, sizeof(input), "{\"cents\":%d}", cents);
    snprintf(attributes, sizeof(attributes), "{\"CustomerId\":\"%s\"}", customer);
    options.search_attributes = attributes;
    options.memo = "{\"from\":\"the web shop\"}";
    OK(engine, dur_start(engine, "Order", id, input, &options));
}

static int add(void *user, int64_t token, const dur_description *description)
{
    char *ids = user;
    (void)token;
    snprintf(ids + strlen(ids), 100 - strlen(ids), "%s ", description->workflow_id);
    return 0;
}

/* The ids of those that pass, newest first. */
static void expect(dur_engine *engine, const char *filter, const char *ids)
{
    char got[100] = "";
    OK(engine, dur_list_where(engine, filter, 0, 10, add, got));
    if (strcmp(got, ids) != 0) {
        fprintf(stderr, "%s: got %s, not %s\n", filter, got, ids);
        exit(1);
    }
}

int main(void)
{
    dur_engine *engine = example_test();
    dur_description *description;
    dur_register_workflow(engine, "Order", order, NULL);
    start(engine, "o1", "ann", 100);
    start(engine, "o2", "ann", 9900);
    start(engine, "o3", "bob", 5000);
    OK(engine, dur_test_run(engine));
    OK(engine, dur_signal(engine, "o1", "packed", NULL));
    OK(engine, dur_test_run(engine));

    expect(engine, "CustomerId = 'ann'", "o2 o1 ");
    expect(engine, "Cents >= 5000 AND ExecutionStatus = 'Running'", "o3 o2 ");
    expect(engine, "CustomerId IN ('ann', 'eve') AND NOT ExecutionStatus = 'Completed'", "o2 ");
    CHECK(dur_list_where(engine, "Cents >=", 0, 10, add, NULL) == DUR_INVALID);

    OK(engine, dur_describe(engine, "o3", &description));
    CHECK(strstr(description->memo, "web shop") && strstr(description->memo, "packing"));
    dur_description_free(description);
    dur_close(engine);
    printf("attributes: found by customer, sum and status\n");
    return 0;
}
