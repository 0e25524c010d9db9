/*
 * test_factory_ledger.c - the factory's tables: rows once written stay, repeated writes change
 * nothing.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "factory/ledger.h"
#include "tests/lib/temp_path.h"

static char *make_store(void)
{
    char *path = temp_path("factory.db");
    dur_engine *engine;
    dur_options options = {.schema_name = FACTORY_SCHEMA_NAME, .schema = factory_schema()};
    cr_assert_eq(dur_open(&engine, path, &options), DUR_OK, "%s", dur_error(engine));
    dur_close(engine);
    return path;
}

static struct ledger *open_ledger(const char *path)
{
    struct ledger *ledger = NULL;
    struct err err = {0};
    cr_assert_eq(ledger_open(path, false, &ledger, &err), 0, "%s", err.text);
    return ledger;
}

static struct ledger_run row_of(const char *run_id, const char *execution_id, int64_t at)
{
    return (struct ledger_run){
        .run_id = run_id,
        .workflow_id = "w",
        .execution_id = execution_id,
        .request = "{}",
        .repository = "/repo",
        .revision = "main",
        .agent = "a",
        .profile = "p",
        .task_sha256 = "t",
        .config_digest = "c",
        .submitted_ns = at,
    };
}

Test(ledger, a_run_from_submission_to_its_end, .timeout = 60)
{
    struct err err = {0};
    struct ledger_run got;
    autofree char *path = make_store();
    autoarena struct arena *arena = arena_new();
    autoledger struct ledger *ledger = open_ledger(path);
    struct ledger_run row = row_of("r1", "e1", 5);
    cr_assert_eq(ledger_get_run(ledger, arena, "r1", &got, &err), 1);
    cr_assert_eq(ledger_add_run(ledger, &row, &err), 0, "%s", err.text);
    cr_assert_eq(ledger_get_run(ledger, arena, "r1", &got, &err), 0);
    cr_assert_str_eq(got.state, "RUNNING");
    cr_assert_null(got.plan);
    cr_assert_null(got.model);
    cr_assert_eq(got.submitted_ns, 5);
    cr_assert_eq(ledger_set_plan(ledger, "r1", "{\"x\":1}", "abc", &err), 0);
    row.state = "SUCCEEDED";
    row.agent_result = row.verification_result = row.cleanup_result = "SUCCESS";
    row.patch_sha256 = "ps";
    row.manifest_sha256 = "ms";
    row.finished_ns = 9;
    cr_assert_eq(ledger_finish_run(ledger, &row, &err), 0, "%s", err.text);
    cr_assert_eq(ledger_get_run(ledger, arena, "r1", &got, &err), 0);
    cr_assert_str_eq(got.plan, "{\"x\":1}");
    cr_assert_str_eq(got.commit_id, "abc");
    cr_assert_str_eq(got.state, "SUCCEEDED");
    cr_assert_str_eq(got.manifest_sha256, "ms");
    cr_assert_eq(got.finished_ns, 9);
}

Test(ledger, a_run_id_belongs_to_one_execution, .timeout = 60)
{
    struct err err = {0};
    struct ledger_run got;
    autofree char *path = make_store();
    autoarena struct arena *arena = arena_new();
    autoledger struct ledger *ledger = open_ledger(path);
    struct ledger_run first = row_of("r1", "e1", 5), second = row_of("r1", "e2", 7);
    cr_assert_eq(ledger_add_run(ledger, &first, &err), 0);
    first.submitted_ns = 6;
    cr_assert_eq(ledger_add_run(ledger, &first, &err), 0, "the same execution again is fine");
    cr_assert_lt(ledger_add_run(ledger, &second, &err), 0);
    cr_assert_str_eq(err.name, "RunExists");
    cr_assert_eq(err.kind, ERR_PERMANENT);
    cr_assert_eq(ledger_get_run(ledger, arena, "r1", &got, &err), 0);
    cr_assert_eq(got.submitted_ns, 5, "the first row is untouched");
}

static int collect_ids(void *user, const struct ledger_run *run)
{
    str_addf(user, "%s ", run->run_id);
    return 0;
}

static int only_one(void *user, const struct ledger_run *run)
{
    str_addf(user, "%s ", run->run_id);
    return 1;
}

Test(ledger, runs_are_listed_newest_first, .timeout = 60)
{
    struct err err = {0};
    autostr struct str ids = {0};
    autofree char *path = make_store();
    autoledger struct ledger *ledger = open_ledger(path);
    for (int i = 1; i <= 5; i++) {
        char id[8];
        snprintf(id, sizeof(id), "r%d", i);
        struct ledger_run row = row_of(id, "e", i);
        cr_assert_eq(ledger_add_run(ledger, &row, &err), 0);
    }
    cr_assert_eq(ledger_list_runs(ledger, 3, collect_ids, &ids, &err), 0);
    cr_assert_str_eq(str_c(&ids), "r5 r4 r3 ");
    str_reset(&ids);
    cr_assert_eq(ledger_list_runs(ledger, 0, collect_ids, &ids, &err), 0);
    cr_assert_str_eq(str_c(&ids), "r5 r4 r3 r2 r1 ");
    str_reset(&ids);
    cr_assert_eq(ledger_list_runs(ledger, 0, only_one, &ids, &err), 0);
    cr_assert_str_eq(str_c(&ids), "r5 ");
}

static int print_artifact(void *user, const struct ledger_artifact *artifact)
{
    str_addf(user, "%s=%s/%lld ", artifact->path, artifact->sha256, (long long)artifact->bytes);
    return 0;
}

Test(ledger, artifacts_by_path, .timeout = 60)
{
    struct err err = {0};
    autostr struct str list = {0};
    autofree char *path = make_store();
    autoledger struct ledger *ledger = open_ledger(path);
    cr_assert_eq(ledger_put_artifact(ledger, "r1", "b", "22", 2, &err), 0, "%s", err.text);
    cr_assert_eq(ledger_put_artifact(ledger, "r1", "a", "11", 1, &err), 0);
    cr_assert_eq(ledger_put_artifact(ledger, "r2", "a", "99", 9, &err), 0);
    cr_assert_eq(ledger_put_artifact(ledger, "r1", "b", "33", 3, &err), 0,
                 "a later attempt's file");
    cr_assert_eq(ledger_list_artifacts(ledger, "r1", print_artifact, &list, &err), 0);
    cr_assert_str_eq(str_c(&list), "a=11/1 b=33/3 ");
}

Test(ledger, what_only_looks_cannot_write, .timeout = 60)
{
    struct err err = {0};
    struct ledger *ledger = NULL;
    autofree char *path = make_store();
    struct ledger_run row = row_of("r1", "e1", 5);
    cr_assert_eq(ledger_open(path, true, &ledger, &err), 0, "%s", err.text);
    cr_assert_lt(ledger_add_run(ledger, &row, &err), 0);
    cr_assert_str_eq(err.name, "LedgerError");
    ledger_close(ledger);
    cr_assert_lt(ledger_open("/nonexistent/f.db", false, &ledger, &err), 0);
    cr_assert_null(ledger_close(NULL));
}

/* A key for the test: bytes go upside down. */
static const char *turn(void *user, const void *bytes, size_t len, struct str *out)
{
    for (size_t i = len; i-- > 0;) {
        str_addc(out, ((const char *)bytes)[i]);
    }
    return user;
}

static int turn_back(void *user, const char *key_id, const void *bytes, size_t len, struct str *out,
                     struct err *err)
{
    if (!str_eq(key_id, user)) {
        return err_set(err, ERR_PERMANENT, "UnknownSealingKey", "no key %s", key_id);
    }
    turn(user, bytes, len, out);
    return 0;
}

Test(ledger, what_a_run_was_given_is_sealed_when_there_are_keys, .timeout = 60)
{
    struct err err = {0};
    char one[] = "one", two[] = "two";
    const struct sealer keys = {turn, turn_back, one}, others = {turn, turn_back, two};
    autoarena struct arena *arena = arena_new();
    autofree char *path = make_store();
    autoledger struct ledger *ledger = open_ledger(path);
    struct ledger_run row = row_of("r1", "e1", 5), found;
    row.request = "{\"task\":\"a secret\"}";
    ledger_seal_with(ledger, &keys);
    cr_assert_eq(ledger_add_run(ledger, &row, &err), 0, "%s", err.text);
    cr_assert_eq(ledger_set_plan(ledger, "r1", "{\"a\":1}", "c", &err), 0, "%s", err.text);
    cr_assert_eq(ledger_get_run(ledger, arena, "r1", &found, &err), 0, "%s", err.text);
    cr_assert_str_eq(found.request, row.request);
    cr_assert_str_eq(found.plan, "{\"a\":1}");

    ledger_seal_with(ledger, NULL); /* who has no keys sees that it is sealed */
    cr_assert_eq(ledger_get_run(ledger, arena, "r1", &found, &err), 0, "%s", err.text);
    cr_assert_eq(strncmp(found.request, "\"$sealed:one:", 13), 0, "%s", found.request);
    cr_assert_eq(strncmp(found.plan, "\"$sealed:one:", 13), 0, "%s", found.plan);

    ledger_seal_with(ledger, &others);
    cr_assert_lt(ledger_get_run(ledger, arena, "r1", &found, &err), 0);
    cr_assert_str_eq(err.name, "UnknownSealingKey");
}

struct writer {
    struct ledger *ledger;
    int number;
};

static void *write_many(void *user)
{
    struct writer *w = user;
    for (int i = 0; i < 20; i++) {
        struct err err = {0};
        char name[32];
        snprintf(name, sizeof(name), "f%d-%d", w->number, i);
        cr_assert_eq(ledger_put_artifact(w->ledger, "r1", name, "00", 1, &err), 0, "%s", err.text);
    }
    return NULL;
}

static int count_rows(void *user, const struct ledger_artifact *artifact)
{
    (void)artifact;
    ++*(int *)user;
    return 0;
}

Test(ledger, threads_and_connections_at_once, .timeout = 120)
{
    enum { WRITERS = 4 };
    struct err err = {0};
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    int rows = 0;
    autofree char *path = make_store();
    autoledger struct ledger *shared = open_ledger(path);
    autoledger struct ledger *other = open_ledger(path);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){i % 2 ? other : shared, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_eq(ledger_list_artifacts(shared, "r1", count_rows, &rows, &err), 0);
    cr_assert_eq(rows, WRITERS * 20);
}
