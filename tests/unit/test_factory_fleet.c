/*
 * test_factory_fleet.c - whose sandbox is it? Every class, and the run that ends while we look.
 */
#include "factory/fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/lib/temp_path.h"

#define STORE_ID "0123456789abcdef01234567"

/* A provider that lists what the test says; calls beyond the first leave `gone` out. */
static struct {
    struct sandbox_info items[8];
    size_t count;
    const char *gone;
    const char *engine; /* label of all of them, or NULL */
    int calls;
    bool fails;
} world;

static struct sandbox_label *labels_of(const char *origin, const char *run, const char *execution,
                                       const char *store)
{
    const struct sandbox_label all[] = {{mem_strdup(LABEL_ORIGIN), mem_strdup(origin)},
                                        {mem_strdup(LABEL_RUN), mem_strdup(run)},
                                        {mem_strdup(LABEL_EXECUTION), mem_strdup(execution)},
                                        {mem_strdup(LABEL_STORE), mem_strdup(store)}};
    struct sandbox_label *labels = mem_array(5, sizeof(*labels));
    memcpy(labels, all, sizeof(all));
    return labels;
}

static int list(struct provider *provider, struct sandbox_list *ret, struct err *err)
{
    struct sandbox_list found = {.items = mem_array(8, sizeof(*found.items))};
    (void)provider;
    world.calls++;
    if (world.fails) {
        free(found.items);
        return err_set(err, ERR_TRANSIENT, "ListFailed", "not now");
    }
    for (size_t i = 0; i < world.count; i++) {
        const struct sandbox_info *info = &world.items[i];
        if (world.calls > 1 && str_eq(info->id, world.gone)) {
            continue;
        }
        struct sandbox_info *copy = &found.items[found.count++];
        *copy = *info;
        copy->label_count = info->label_count ? 5 : 0;
        copy->id = mem_strdup(info->id);
        copy->template_name = mem_strdup("");
        if (info->label_count) {
            copy->labels = labels_of(info->labels[0].value, info->labels[1].value,
                                     info->labels[2].value, info->labels[3].value);
            copy->labels[4] =
                (struct sandbox_label){mem_strdup(world.engine ? LABEL_ENGINE : "other"),
                                       mem_strdup(world.engine ? world.engine : "")};
        }
    }
    *ret = found;
    return 0;
}

static const struct provider_ops ops = {.name = "fake", .list = list};
static struct provider fake = {.ops = &ops};

static void put(const char *id, enum sandbox_state state, struct sandbox_label *labels)
{
    world.items[world.count++] = (struct sandbox_info){.id = mem_strdup(id),
                                                       .provider = "fake",
                                                       .state = state,
                                                       .labels = labels,
                                                       .label_count = labels ? 4 : 0};
}

static int look(dur_engine *engine, bool readable, const char *store_id, struct fleet *ret,
                struct err *err)
{
    const struct fleet_owner owner = {
        .store_id = store_id, .engine = engine, .readable = readable, .engine_name = "sqlite"};
    return fleet_look(&fake, &owner, ret, err);
}

static void expect_class(const struct fleet *fleet, const char *id, enum fleet_class class)
{
    for (size_t i = 0; i < fleet->list.count; i++) {
        if (str_eq(fleet->list.items[i].id, id)) {
            cr_expect_eq(fleet->classes[i], class, "%s is %s", id,
                         fleet_class_name(fleet->classes[i]));
            return;
        }
    }
    cr_expect(false, "%s is not listed", id);
}

static int never(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, DUR_DAYS);
}

/* An open run and a closed one; their execution ids. */
static dur_engine *store_with_runs(char **open, char **closed)
{
    autofree char *path = temp_path("fleet.db");
    dur_engine *engine;
    dur_description *d;
    cr_assert_eq(dur_open(&engine, path, NULL), DUR_OK, "%s", dur_error(engine));
    dur_register_workflow(engine, "W", never, NULL);
    cr_assert_eq(dur_start(engine, "W", "factory-run-open", "{}", NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "W", "factory-run-closed", "{}", NULL), DUR_OK);
    cr_assert_eq(dur_terminate(engine, "factory-run-closed", "test"), DUR_OK);
    cr_assert_eq(dur_describe(engine, "factory-run-open", &d), DUR_OK);
    *open = mem_strdup(d->run_id);
    dur_description_free(d);
    cr_assert_eq(dur_describe(engine, "factory-run-closed", &d), DUR_OK);
    *closed = mem_strdup(d->run_id);
    dur_description_free(d);
    return engine;
}

Test(fleet, every_class_by_labels_and_store, .timeout = 60)
{
    autofree char *open = NULL, *closed = NULL;
    autofleet struct fleet fleet = {0};
    struct err err = {0};
    dur_engine *engine = store_with_runs(&open, &closed);
    put("active", SANDBOX_RUNNING, labels_of("factory", "open", open, STORE_ID));
    put("paused", SANDBOX_PAUSED, labels_of("factory", "open", open, STORE_ID));
    put("dead", SANDBOX_DEAD, labels_of("factory", "open", open, STORE_ID));
    put("closed", SANDBOX_RUNNING, labels_of("factory", "closed", closed, STORE_ID));
    put("older", SANDBOX_RUNNING, labels_of("factory", "open", "another-execution", STORE_ID));
    put("theirs", SANDBOX_RUNNING, labels_of("factory", "open", open, "another-store"));
    put("stranger", SANDBOX_RUNNING, labels_of("somebody", "open", open, STORE_ID));
    put("damaged", SANDBOX_DEAD, NULL);
    cr_assert_eq(look(engine, true, STORE_ID, &fleet, &err), 0, "%s", err.text);
    expect_class(&fleet, "active", FLEET_ACTIVE);
    expect_class(&fleet, "paused", FLEET_ACTIVE);
    expect_class(&fleet, "dead", FLEET_DEAD);
    expect_class(&fleet, "closed", FLEET_ORPHANED);
    expect_class(&fleet, "older", FLEET_ORPHANED);
    expect_class(&fleet, "theirs", FLEET_FOREIGN);
    expect_class(&fleet, "stranger", FLEET_FOREIGN);
    expect_class(&fleet, "damaged", FLEET_ORPHANED);
    cr_assert_eq(fleet.counts[FLEET_ACTIVE], 2);
    cr_assert_eq(fleet.counts[FLEET_ORPHANED], 3);
    dur_close(engine);
}

Test(fleet, what_a_run_removed_meanwhile_is_no_orphan, .timeout = 60)
{
    autofree char *open = NULL, *closed = NULL;
    autofleet struct fleet fleet = {0};
    struct err err = {0};
    dur_engine *engine = store_with_runs(&open, &closed);
    put("left", SANDBOX_RUNNING, labels_of("factory", "closed", closed, STORE_ID));
    put("removed", SANDBOX_RUNNING, labels_of("factory", "closed", closed, STORE_ID));
    world.gone = "removed";
    cr_assert_eq(look(engine, true, STORE_ID, &fleet, &err), 0);
    cr_assert_eq(fleet.list.count, 1);
    expect_class(&fleet, "left", FLEET_ORPHANED);
    dur_close(engine);
}

Test(fleet, without_a_store)
{
    autofleet struct fleet none = {0}, unreadable = {0}, nameless = {0};
    struct err err = {0};
    put("sandbox", SANDBOX_RUNNING, labels_of("factory", "run", "execution", STORE_ID));
    cr_assert_eq(look(NULL, true, STORE_ID, &none, &err), 0);
    expect_class(&none, "sandbox", FLEET_ORPHANED);
    cr_assert_eq(look(NULL, false, STORE_ID, &unreadable, &err), 0);
    expect_class(&unreadable, "sandbox", FLEET_UNKNOWN);
    cr_assert_eq(look(NULL, true, NULL, &nameless, &err), 0);
    expect_class(&nameless, "sandbox", FLEET_FOREIGN);
}

/* A site that moved to a server, and back: nobody's run is taken for an orphan. */
Test(fleet, of_another_engine, .timeout = 60)
{
    autofree char *open = NULL, *closed = NULL;
    autofleet struct fleet before = {0}, after = {0};
    struct err err = {0};
    dur_engine *engine = store_with_runs(&open, &closed);
    put("sandbox", SANDBOX_RUNNING, labels_of("factory", "closed", closed, STORE_ID));
    const struct fleet_owner server = {.store_id = STORE_ID,
                                       .engine = engine,
                                       .readable = true,
                                       .engine_name = "temporal:default@127.0.0.1:7233"};
    cr_assert_eq(fleet_look(&fake, &server, &before, &err), 0);
    expect_class(&before, "sandbox", FLEET_UNKNOWN);
    world.engine = "temporal:default@127.0.0.1:7233";
    cr_assert_eq(look(engine, true, STORE_ID, &after, &err), 0);
    expect_class(&after, "sandbox", FLEET_UNKNOWN);
    fleet_free(&after);
    cr_assert_eq(fleet_look(&fake, &server, &after, &err), 0);
    expect_class(&after, "sandbox", FLEET_ORPHANED);
    dur_close(engine);
}

Test(fleet, a_provider_that_cannot_list)
{
    autofleet struct fleet fleet = {0};
    struct err err = {0};
    world.fails = true;
    cr_assert_lt(look(NULL, true, STORE_ID, &fleet, &err), 0);
    cr_assert_eq(err.kind, ERR_TRANSIENT);
    cr_assert_str_eq(fleet_class_name(FLEET_FOREIGN), "foreign");
}
