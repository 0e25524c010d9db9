/*
 * test_engine_keyring.c - payloads at rest: nothing of what people wrote stands readable in the
 * store's files, with the key everything is as before, without it nothing is lost and nothing runs;
 * rotation; stores that began without a key; keyrings that do not fit.
 */
#include <dirent.h>
#include <stdatomic.h>

#include "engine/admin.h"
#include "history/sealing.h"
#include "tests/lib/engine_fixture.h"

#define TEST(name) Test(engine_keyring, name, .timeout = 120)

#define SECRET "swordfish"
#define JSON "{\"word\":\"" SECRET "\"}"
#define KEY_A "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
#define KEY_B "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
#define RING_A "{\"active\":\"a\",\"keys\":{\"a\":\"" KEY_A "\"}}"
#define RING_AB "{\"active\":\"b\",\"keys\":{\"a\":\"" KEY_A "\",\"b\":\"" KEY_B "\"}}"
#define RING_B "{\"active\":\"b\",\"keys\":{\"b\":\"" KEY_B "\"}}"
#define RING_OTHER_A "{\"active\":\"a\",\"keys\":{\"a\":\"" KEY_B "\"}}"

/* --- a run that meets everything ----------------------------------------------------------------
 */

static char token[256];
static atomic_bool has_token; /* the attempt has put it there */

static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) == 1) {
        dur_heartbeat_sync(act, JSON);
        return dur_fail_with(act, &(dur_failure_options){.kind = DUR_TRANSIENT,
                                                         .type = "Flaky",
                                                         .message = "lost the " SECRET,
                                                         .details = JSON});
    }
    cr_assert_str_eq(dur_heartbeat_details(act), JSON);
    cr_assert(strstr(dur_activity_last_failure(act)->message, SECRET));
    *result = input;
    return DUR_OK;
}

static int later(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    str_copy(token, sizeof(token), dur_activity_token(act));
    atomic_store(&has_token, true);
    return DUR_PENDING;
}

static int say(void *arg, const char **result)
{
    (void)arg;
    *result = JSON;
    return DUR_OK;
}

static int ask(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)arg;
    *result = input;
    return DUR_OK;
}

static int refuse_empty(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return str_eq(input, "null") ? dur_fail_run(ctx, "Empty", "there is no %s", SECRET) : DUR_OK;
}

static int tell(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    if (str_eq(input, "0")) {
        return dur_fail_run(ctx, "Zero", "no %s", SECRET);
    }
    *result = input;
    return DUR_OK;
}

static int kid(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)user;
    *result = input;
    return DUR_OK;
}

#define STEP(call)                                                                                 \
    if ((rc = (call)) != DUR_OK) {                                                                 \
        return rc;                                                                                 \
    }

static int story(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *text = NULL;
    int rc;
    (void)user;
    dur_on_query(ctx, "ask", ask, NULL);
    dur_on_update(ctx, "tell", refuse_empty, tell, NULL);
    if (str_eq(input, "\"fail " SECRET "\"")) {
        return dur_fail_run(ctx, "Doomed", "by the %s", SECRET);
    }
    STEP(dur_side_effect(ctx, say, NULL, &text));
    STEP(dur_mutable_side_effect(ctx, "m", say, NULL, NULL, &text));
    STEP(dur_mutable_side_effect(ctx, "m", say, NULL, NULL, &text));
    STEP(dur_upsert_memo(ctx, "{\"more\":\"" SECRET "\"}"));
    STEP(dur_run(ctx, "flaky", input, &text,
                 &(dur_activity_options){.retry = {.initial_interval_ms = 1}}));
    STEP(dur_run_local(ctx, "echo", text, &text, NULL));
    STEP(dur_run_child(ctx, "kid", text, &text, &(dur_child_options){.memo = JSON}));
    STEP(dur_run(ctx, "later", text, &text, NULL));
    STEP(dur_receive(ctx, "word", -1, &text));
    if (str_eq(text, "\"" SECRET " again\"")) {
        return dur_continue_as_new(ctx, "\"fail " SECRET "\"", NULL);
    }
    *result = text;
    return DUR_OK;
}

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

/* Its input is large enough for a blob of its own. */
static int large(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "echo", input, result, NULL);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "story", story, NULL);
    dur_register_workflow(engine, "kid", kid, NULL);
    dur_register_workflow(engine, "large", large, NULL);
    dur_register_activity(engine, "flaky", flaky, NULL);
    dur_register_activity(engine, "later", later, NULL);
    dur_register_activity(engine, "echo", echo, NULL);
}

/* --- tools -------------------------------------------------------------------------------------
 */

static const char *ring_file(const char *path, const char *text)
{
    static char file[4][512];
    static int next;
    struct err err = {0};
    char *to = file[next++ % 4];
    autofree char *dir = fs_dirname(path);
    snprintf(to, sizeof(file[0]), "%s/ring-%d.json", dir, next);
    cr_assert_eq(fs_write_file(to, text, strlen(text), 0600, &err), 0, "%s", err.text);
    return to;
}

static dur_engine *open_ring(const char *path, const char *ring)
{
    return open_with(path, (dur_options){.keyring_file = ring_file(path, ring)});
}

static int open_refused(const char *path, const char *ring, bool read_only, char **ret_text)
{
    dur_engine *engine;
    int rc = dur_open(&engine, path,
                      &(dur_options){.keyring_file = ring ? ring_file(path, ring) : NULL,
                                     .reserve_bytes = -1,
                                     .read_only = read_only,
                                     .on_log = keep_line});
    *ret_text = mem_strdup(dur_error(engine));
    dur_close(engine);
    return rc;
}

/* In how many files beside the store does the text stand? */
static int files_with(const char *path, const char *needle)
{
    autofree char *dir_name = fs_dirname(path);
    DIR *dir = opendir(dir_name);
    int count = 0;
    cr_assert_not_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        autofree char *file = fs_join(dir_name, e->d_name);
        autostr struct str bytes = {0};
        if (e->d_name[0] != '.' && fs_read_file(file, 256 << 20, &bytes, NULL) == 0 &&
            memmem(bytes.ptr, bytes.len, needle, strlen(needle))) {
            count++;
        }
    }
    closedir(dir);
    return count;
}

static void nothing_shows(const char *path)
{
    /* as it is, and in base64 at each of three places */
    static const char *const forms[] = {SECRET, "c3dvcmRmaXNo", "b3JkZmlz", "d29yZGZp"};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        cr_expect_eq(files_with(path, forms[i]), 0, "%s", forms[i]);
    }
}

static void tell_story(dur_engine *engine, const char *id, const char *word)
{
    char *answer = NULL;
    atomic_store(&has_token, false);
    cr_assert_eq(
        dur_start(engine, "story", id, JSON,
                  &(dur_start_options){.memo = JSON, .search_attributes = "{\"Kind\":\"open\"}"}),
        DUR_OK, "%s", dur_error(engine));
    wait_until(atomic_load(&has_token));
    cr_assert_eq(
        dur_update(engine, id, "tell", JSON, &answer, &(dur_update_options){.update_id = "u1"}),
        DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(answer, JSON);
    dur_free(answer);
    answer = NULL;
    cr_assert_eq(dur_update(engine, id, "tell", "0", &answer, NULL), DUR_FAILED);
    cr_assert(strstr(answer, SECRET), "%s", answer);
    dur_free(answer);
    answer = NULL;
    cr_assert_eq(dur_update(engine, id, "tell", NULL, &answer, NULL), DUR_REJECTED);
    cr_assert(strstr(answer, SECRET), "%s", answer);
    dur_free(answer);
    cr_assert_eq(dur_query(engine, id, "ask", JSON, WAIT_MS, &answer), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_str_eq(answer, JSON);
    dur_free(answer);
    cr_assert_eq(dur_complete_heartbeat(engine, token, JSON), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_complete(engine, token, JSON), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_signal(engine, id, "word", word), DUR_OK, "%s", dur_error(engine));
}

/* --- tests -------------------------------------------------------------------------------------
 */

TEST(nothing_that_people_wrote_is_in_the_files)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_ring(path, RING_A);
    char *result = NULL;
    pthread_t thread = serve_begin(engine);
    tell_story(engine, "w", JSON);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, JSON);
    dur_free(result);
    tell_story(engine, "x", "\"" SECRET " again\"");
    cr_assert_eq(dur_result(engine, "x", WAIT_MS, NULL), DUR_FAILED);
    cr_assert(strstr(dur_error(engine), SECRET), "%s", dur_error(engine));
    serve_end(engine, thread);
    nothing_shows(path);
    check_history(engine, "w");
    check_history(engine, "x");
    dur_close(engine);
    nothing_shows(path);
    cr_expect_gt(files_with(path, SEALED_ENCODING), 0);
    cr_expect_gt(files_with(path, "$sealed:a:"), 0);
    cr_expect_gt(files_with(path, "Kind"), 0, "search attributes stay readable");
}

/* The test above sees what it looks for. */
TEST(without_a_keyring_all_of_it_is)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    tell_story(engine, "w", JSON);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK, "%s", dur_error(engine));
    serve_end(engine, thread);
    cr_expect_gt(files_with(path, SECRET), 0);
    cr_expect_eq(files_with(path, SEALED_ENCODING), 0);
    dur_close(engine);
}

TEST(large_payloads_are_sealed_too)
{
    autofree char *path = temp_path("e.db");
    autostr struct str input = {0};
    char *result = NULL;
    dur_engine *engine = open_ring(path, RING_A);
    str_addc(&input, '"');
    for (int i = 0; i < 100000; i++) {
        str_add(&input, SECRET " ");
    }
    str_addc(&input, '"');
    cr_assert_eq(dur_start(engine, "large", "w", str_c(&input), NULL), DUR_OK, "%s",
                 dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, str_c(&input));
    dur_free(result);
    nothing_shows(path);
    check_history(engine, "w");
    dur_close(engine);
}

TEST(schedules_are_sealed_too)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_ring(path, RING_A);
    dur_schedule_info *info;
    char *result = NULL;
    dur_schedule s = {.workflow_type = "kid", .input = JSON, .memo = JSON};
    cr_assert_eq(dur_schedule_set(engine, "s", &s), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_schedule_trigger(engine, "s", DUR_OVERLAP_ALLOW_ALL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_schedule_describe(engine, "s", &info), DUR_OK);
    cr_assert(strstr(info->definition, "\"input\":" JSON), "%s", info->definition);
    cr_assert_eq(info->action_count, 1);
    autofree char *id = mem_strdup(info->actions[0].workflow_id);
    dur_schedule_info_free(info);
    cr_assert_eq(dur_result(engine, id, 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, JSON);
    dur_free(result);
    nothing_shows(path);
    dur_close(engine);
}

/* A crash in the middle: the next engine has the key. */
TEST(another_engine_goes_on_with_the_key)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_ring(path, RING_A);
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "story", "w", JSON, NULL), DUR_OK);
    for (int i = 0; i < 3; i++) { /* begun, and given up at some place */
        pthread_t thread = serve_begin(engine);
        wait_until(events_of(engine, "w") > 3 + 6 * i);
        serve_end(engine, thread);
        dur_close(engine);
        engine = open_ring(path, RING_A);
    }
    atomic_store(&has_token, false);
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") > 20 || atomic_load(&has_token));
    cr_assert_eq(dur_signal(engine, "w", "word", JSON), DUR_OK);
    char *found = NULL;
    wait_until(dur_activity_token_of(engine, "w", "2", &found) == DUR_OK ||
               dur_activity_token_of(engine, "w", "3", &found) == DUR_OK);
    wait_until(dur_complete(engine, found, JSON) == DUR_OK);
    dur_free(found);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, JSON);
    dur_free(result);
    serve_end(engine, thread);
    nothing_shows(path);
    dur_close(engine);
}

/* --- without the key ---------------------------------------------------------------------------
 */

static int count_rows(void *user, int64_t row, const dur_description *d)
{
    (void)row;
    cr_expect_str_eq(d->memo, "{\"$sealed\":\"(sealed with the key a)\"}");
    ++*(int *)user;
    return 0;
}

TEST(without_the_key_one_may_look)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_ring(path, RING_A);
    dur_description *d;
    char *json = NULL;
    int count = 0;
    pthread_t thread = serve_begin(engine);
    tell_story(engine, "w", JSON);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(
        dur_start(engine, "story", "x", "\"fail " SECRET "\"", &(dur_start_options){.memo = JSON}),
        DUR_OK);
    cr_assert_eq(dur_result(engine, "x", WAIT_MS, NULL), DUR_FAILED);
    serve_end(engine, thread);
    dur_close(engine);

    engine = open_engine(path);
    cr_assert_eq(dur_describe(engine, "x", &d), DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(d->status, DUR_RUN_FAILED);
    cr_expect_str_eq(d->type, "story");
    cr_expect_str_eq(d->failure, "{\"message\":\"(sealed with the key a)\"}");
    dur_description_free(d);
    cr_assert_eq(dur_list_where(engine, "WorkflowType = 'story'", 0, 10, count_rows, &count),
                 DUR_OK);
    cr_expect_eq(count, 2);
    cr_assert_eq(dur_history(engine, "w", &json), DUR_OK);
    cr_expect(strstr(json, "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED"));
    cr_expect(strstr(json, "Encoded failure"));
    cr_expect(strstr(json, "\"flaky\""));
    cr_expect(!strstr(json, SECRET));
    cr_expect(strstr(json, "YmluYXJ5L2VuY3J5cHRlZA==")); /* binary/encrypted */
    cr_expect_eq(dur_result(engine, "w", 0, NULL), DUR_INVALID);
    cr_expect(strstr(dur_error(engine), "sealed with the key \"a\""), "%s", dur_error(engine));
    cr_expect_eq(dur_result(engine, "x", 0, NULL), DUR_FAILED);
    cr_expect_eq(dur_update_result(engine, "w", "u1", 0, NULL), DUR_INVALID, "%s",
                 dur_error(engine));
    cr_expect_eq(dur_replay(engine, json, NULL), DUR_INVALID);
    cr_expect(strstr(dur_error(engine), "sealed with the key \"a\""), "%s", dur_error(engine));
    dur_close(engine);

    /* With it, the sealed history is as good as the open one. */
    engine = open_ring(path, RING_A);
    cr_expect_eq(dur_replay(engine, json, NULL), DUR_OK, "%s", dur_error(engine));
    dur_free(json);
    dur_close(engine);
}

TEST(without_the_key_nothing_is_written_and_nothing_runs)
{
    autofree char *path = temp_path("e.db");
    char *result = NULL;
    dur_engine *engine = open_ring(path, RING_A);
    cr_assert_eq(dur_start(engine, "kid", "w", JSON, NULL), DUR_OK);
    dur_close(engine);
    engine = open_engine(path);
    int codes[] = {dur_start(engine, "kid", "v", JSON, NULL), dur_signal(engine, "w", "word", JSON),
                   dur_cancel(engine, "w", NULL), dur_query(engine, "w", "ask", NULL, 0, NULL),
                   dur_serve(engine, DUR_UNTIL_IDLE)};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        cr_expect_eq(codes[i], DUR_INVALID, "%zu: %d", i, codes[i]);
    }
    cr_expect(strstr(dur_error(engine), "open it with a keyring"), "%s", dur_error(engine));
    cr_expect_eq(events_of(engine, "w"), 2);
    dur_close(engine);
    engine = open_ring(path, RING_A);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, JSON);
    dur_free(result);
    dur_close(engine);
}

/* --- rotation, and stores that began without ----------------------------------------------------
 */

TEST(an_old_key_reads_and_the_new_one_seals)
{
    autofree char *path = temp_path("e.db");
    char *result = NULL;
    dur_engine *engine = open_ring(path, RING_A);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "story", "w", JSON, NULL), DUR_OK);
    wait_until(atomic_load(&has_token));
    serve_end(engine, thread);
    dur_close(engine);
    engine = open_ring(path, RING_AB);
    thread = serve_begin(engine);
    cr_assert_eq(dur_complete(engine, token, JSON), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_signal(engine, "w", "word", JSON), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, JSON);
    dur_free(result);
    serve_end(engine, thread);
    check_history(engine, "w");
    dur_close(engine);
    cr_expect_gt(files_with(path, "$sealed:b:"), 0);
    nothing_shows(path);
    /* The old key is still needed: to serve, not to look. */
    engine = open_ring(path, RING_B);
    cr_expect_eq(dur_result(engine, "w", 0, NULL), DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_INVALID);
    cr_expect(strstr(dur_error(engine), "\"a\""), "%s", dur_error(engine));
    char *json = NULL;
    cr_expect_eq(dur_history(engine, "w", &json), DUR_OK, "%s", dur_error(engine));
    cr_expect(strstr(json, "YmluYXJ5L2VuY3J5cHRlZA=="), "what it cannot open is shown sealed");
    dur_free(json);
    dur_close(engine);
}

TEST(a_store_that_began_without_goes_on_with_a_key)
{
    autofree char *path = temp_path("e.db");
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "story", "w", "\"before\"", NULL), DUR_OK);
    wait_until(atomic_load(&has_token));
    serve_end(engine, thread);
    dur_close(engine);
    engine = open_ring(path, RING_A);
    thread = serve_begin(engine);
    cr_assert_eq(dur_complete(engine, token, "1"), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_signal(engine, "w", "word", "\"after " SECRET "\""), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "\"after " SECRET "\"");
    dur_free(result);
    serve_end(engine, thread);
    check_history(engine, "w");
    dur_close(engine);
    cr_expect_gt(files_with(path, "\"before\""), 0, "what was written is not written anew");
    cr_expect_eq(files_with(path, "after " SECRET), 0);
}

TEST(a_reset_run_is_sealed_too)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_ring(path, RING_A);
    pthread_t thread = serve_begin(engine);
    tell_story(engine, "w", JSON);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(dur_reset(engine, "w", NULL, &(dur_reset_options){0}), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK, "%s", dur_error(engine));
    serve_end(engine, thread);
    check_history(engine, "w");
    nothing_shows(path);
    dur_close(engine);
}

TEST(a_sealed_history_moves_to_another_store)
{
    autofree char *from = temp_path("e.db"), *to = temp_path("e.db"), *bare = temp_path("e.db");
    char *json = NULL, *result = NULL;
    dur_engine *engine = open_ring(from, RING_A);
    pthread_t thread = serve_begin(engine);
    tell_story(engine, "w", JSON);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    serve_end(engine, thread);
    dur_close(engine);
    engine = open_engine(from); /* without the key: the sealed form */
    cr_assert_eq(dur_history(engine, "w", &json), DUR_OK);
    dur_close(engine);
    cr_assert(!strstr(json, SECRET));
    engine = open_ring(to, RING_AB);
    cr_assert_eq(dur_import(engine, json, strlen(json), NULL, NULL), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, JSON);
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
    nothing_shows(to);
    cr_expect_eq(files_with(to, "$sealed:a:"), 0, "sealed anew, with the active key");
    engine = open_engine(bare);
    cr_assert_eq(dur_import(engine, json, strlen(json), NULL, NULL), DUR_INVALID);
    cr_assert(strstr(dur_error(engine), "sealed with the key \"a\""), "%s", dur_error(engine));
    dur_close(engine);
    dur_free(json);
}

/* --- keyrings that do not fit -------------------------------------------------------------------
 */

TEST(another_key_of_the_same_id_is_refused)
{
    autofree char *path = temp_path("e.db");
    autofree char *text = NULL, *again = NULL;
    dur_close(open_ring(path, RING_A));
    cr_assert_eq(open_refused(path, RING_OTHER_A, false, &text), DUR_INVALID);
    cr_assert(strstr(text, "the key \"a\" of the keyring is not the one"), "%s", text);
    cr_assert_eq(open_refused(path, RING_OTHER_A, true, &again), DUR_INVALID);
    dur_close(open_ring(path, RING_A));
}

TEST(what_is_no_keyring_is_refused)
{
    autofree char *path = temp_path("e.db");
    autofree char *text = NULL;
    cr_assert_eq(open_refused(path, "{}", false, &text), DUR_INVALID);
    cr_assert(strstr(text, "keyring "), "%s", text);
    cr_assert(!fs_exists(path), "and no store is made");
    dur_engine *engine;
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.keyring_file = "/nowhere/ring.json"}),
                 DUR_INVALID);
    cr_assert(strstr(dur_error(engine), "/nowhere/ring.json"), "%s", dur_error(engine));
    dur_close(engine);
}

/* Nobody seals with a key that the serving engine does not know. */
TEST(a_new_key_waits_for_the_engine_that_serves)
{
    autofree char *path = temp_path("e.db");
    autofree char *text = NULL;
    dur_engine *engine = open_ring(path, RING_A);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_served_by(engine, NULL) == 1);
    cr_assert_eq(open_refused(path, RING_AB, false, &text), DUR_BUSY, "%s", text);
    cr_assert(strstr(text, "\"b\""), "%s", text);
    dur_engine *other = open_ring(path, RING_A); /* the same one is fine */
    cr_assert_eq(dur_start(other, "kid", "w", JSON, NULL), DUR_OK);
    cr_assert_eq(dur_result(other, "w", WAIT_MS, NULL), DUR_OK);
    dur_close(other);
    serve_end(engine, thread);
    dur_close(engine);
    engine = open_ring(path, RING_AB); /* it was not entered meanwhile, and now it is */
    serve_until_idle(engine);
    dur_close(engine);
    engine = open_ring(path, RING_A);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_INVALID);
    dur_close(engine);
}

TEST(a_client_without_learns_of_the_key_that_came)
{
    autofree char *path = temp_path("e.db");
    dur_engine *plain = open_engine(path);
    cr_assert_eq(dur_start(plain, "kid", "v", "1", NULL), DUR_OK);
    dur_engine *engine = open_ring(path, RING_A);
    cr_assert_eq(dur_start(plain, "kid", "w", JSON, NULL), DUR_INVALID);
    cr_assert_eq(dur_start(engine, "kid", "w", JSON, NULL), DUR_OK);
    nothing_shows(path);
    dur_close(engine);
    dur_close(plain);
}
