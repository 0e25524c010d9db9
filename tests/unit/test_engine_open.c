/*
 * test_engine_open.c - opening, closing, options, errors and names of durable.h.
 */
#include "tests/lib/engine_fixture.h"

#include <sys/stat.h>

static int nothing(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)user;
    *result = input;
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "nothing", nothing, NULL);
}

Test(open, names_are_known)
{
    cr_assert_str_eq(dur_version(), "0.2.0");
    cr_assert_str_eq(dur_code_name(DUR_OK), "DUR_OK");
    cr_assert_str_eq(dur_code_name(DUR_MISMATCH), "DUR_MISMATCH");
    cr_assert_str_eq(dur_code_name(1), "unknown code");
    cr_assert_str_eq(dur_code_name(-99), "unknown code");
    cr_assert_str_eq(dur_code_name(INT32_MIN), "unknown code");
    cr_assert_str_eq(dur_status_name(DUR_RUNNING), "Running");
    cr_assert_str_eq(dur_status_name(DUR_RUN_TIMED_OUT), "TimedOut");
    cr_assert_str_eq(dur_status_name((dur_status)99), "Unknown");
}

Test(open, a_handle_that_did_not_open_refuses_everything, .timeout = 60)
{
    dur_description *d = NULL;
    char *text = NULL;
    autofree char *dir = temp_path("none");
    autofree char *path = mem_printf("%s/no/such/dir/e.db", dir);
    const char *const paths[] = {NULL, "", path};
    for (size_t i = 0; i < 3; i++) {
        dur_engine *engine = NULL;
        cr_assert_lt(dur_open(&engine, paths[i], NULL), 0);
        cr_assert_not_null(engine);
        cr_assert_str_neq(dur_error(engine), "");
        cr_assert_eq(dur_start(engine, "t", "w", NULL, NULL), DUR_INVALID);
        cr_assert_eq(dur_signal(engine, "w", "s", NULL), DUR_INVALID);
        cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_INVALID);
        cr_assert_eq(dur_terminate(engine, "w", NULL), DUR_INVALID);
        cr_assert_eq(dur_describe(engine, "w", &d), DUR_INVALID);
        cr_assert_eq(dur_result(engine, "w", 0, &text), DUR_INVALID);
        cr_assert_eq(dur_history(engine, "w", &text), DUR_INVALID);
        cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_INVALID);
        cr_assert_lt(dur_served_by(engine, NULL), 0);
        cr_assert_eq(dur_register_workflow(engine, "nothing", nothing, NULL), DUR_OK);
        cr_assert_eq(dur_lane(engine, "lane", 1), DUR_OK);
        dur_stop(engine);
        dur_close(engine);
    }
}

Test(open, without_an_engine_nothing_crashes)
{
    dur_description *d = NULL;
    char *text = NULL;
    cr_assert_eq(dur_open(NULL, "x", NULL), DUR_INVALID);
    cr_assert_eq(dur_start(NULL, "t", "w", NULL, NULL), DUR_INVALID);
    cr_assert_str_neq(dur_error(NULL), "");
    cr_assert_eq(dur_describe(NULL, "w", &d), DUR_INVALID);
    cr_assert_eq(dur_history(NULL, "w", &text), DUR_INVALID);
    cr_assert_eq(dur_replay(NULL, "{}", &text), DUR_INVALID);
    cr_assert_eq(dur_register_activity(NULL, "a", NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_lane(NULL, "l", 1), DUR_INVALID);
    dur_stop(NULL);
    dur_close(NULL);
    dur_free(NULL);
    dur_description_free(NULL);
}

Test(open, refusals_leave_the_file_alone, .timeout = 60)
{
    dur_engine *engine;
    autofree char *path = temp_path("e.db");
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.no_create = 1}), DUR_NOT_FOUND);
    dur_close(engine);
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.read_only = 1}), DUR_NOT_FOUND);
    dur_close(engine);
    struct stat st;
    cr_assert_neq(stat(path, &st), 0);
    FILE *f = fopen(path, "w");
    fputs("this is a text file and no database, however long one looks at it\n", f);
    fclose(f);
    cr_assert_eq(dur_open(&engine, path, NULL), DUR_INVALID);
    cr_assert_not_null(strstr(dur_error(engine), path), "%s", dur_error(engine));
    dur_close(engine);
}

Test(open, a_newer_file_is_refused, .timeout = 60)
{
    static const dur_migration later[] = {
        {"0001_one", "CREATE TABLE mine (x INTEGER) STRICT;"},
        {"0002_two", "ALTER TABLE mine ADD COLUMN y INTEGER;"},
        {NULL, NULL},
    };
    static const dur_migration sooner[] = {
        {"0001_one", "CREATE TABLE mine (x INTEGER) STRICT;"},
        {NULL, NULL},
    };
    static const dur_migration changed[] = {
        {"0001_one", "CREATE TABLE yours (x INTEGER) STRICT;"},
        {"0002_two", "ALTER TABLE mine ADD COLUMN y INTEGER;"},
        {NULL, NULL},
    };
    autofree char *path = temp_path("e.db");
    dur_close(open_with(path, (dur_options){.schema_name = "app", .schema = later}));
    dur_engine *engine;
    dur_options o = {.schema_name = "app", .schema = sooner, .reserve_bytes = -1};
    cr_assert_eq(dur_open(&engine, path, &o), DUR_NEWER, "%s", dur_error(engine));
    dur_close(engine);
    o.schema = changed;
    cr_assert_eq(dur_open(&engine, path, &o), DUR_INVALID, "%s", dur_error(engine));
    dur_close(engine);
    dur_close(open_with(path, (dur_options){.schema_name = "app", .schema = later}));
}

Test(open, a_program_that_knows_fewer_options_is_served, .timeout = 60)
{
    struct { /* the first three fields of dur_options, as an older header had them */
        const char *identity;
        int read_only;
        int no_create;
    } old = {.identity = "old program"};
    autofree char *path = temp_path("e.db");
    dur_engine *engine;
    cr_assert_eq(dur_open_at(&engine, path, (const dur_options *)&old, sizeof(old)), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_eq(dur_start(engine, "nothing", "w", NULL, NULL), DUR_OK);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_str_eq(ev_workflow_execution_started(&history.items[0])->identity, "old program");
    dur_close(engine);
}

Test(open, identity_is_in_the_history, .timeout = 60)
{
    static const char *const given[] = {NULL, "", "me"};
    for (size_t i = 0; i < 3; i++) {
        autofree char *path = temp_path("e.db");
        autofree char *pid = mem_printf("%d@", (int)getpid());
        dur_engine *engine = open_with(path, (dur_options){.identity = given[i]});
        dur_start(engine, "nothing", "w", NULL, NULL);
        autoarena struct arena *arena = arena_new();
        struct history history = read_history(engine, arena, "w");
        const char *identity = ev_workflow_execution_started(&history.items[0])->identity;
        cr_assert(i == 2 ? str_eq(identity, "me") : str_starts(identity, pid), "%s", identity);
        dur_close(engine);
    }
}

Test(open, a_read_only_handle_looks_and_does_nothing_else, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_start(engine, "nothing", "w", "1", NULL);
    serve_until_idle(engine);
    dur_engine *reader = open_with(path, (dur_options){.read_only = 1});
    char *result = NULL;
    cr_assert_eq(dur_result(reader, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "1");
    dur_free(result);
    check_history(reader, "w");
    cr_assert_eq(dur_start(reader, "nothing", "v", NULL, NULL), DUR_INVALID);
    cr_assert_not_null(strstr(dur_error(reader), "read-only"));
    cr_assert_eq(dur_signal(reader, "w", "s", NULL), DUR_INVALID);
    cr_assert_eq(dur_serve(reader, DUR_UNTIL_IDLE), DUR_INVALID);
    dur_close(reader);
    dur_close(engine);
}

static void *fail_elsewhere(void *arg)
{
    dur_engine *engine = arg;
    cr_assert_str_eq(dur_error(engine), "");
    dur_signal(engine, "nobody", "s", NULL);
    cr_assert_not_null(strstr(dur_error(engine), "nobody"));
    return NULL;
}

Test(open, errors_belong_to_their_thread_and_handle, .timeout = 60)
{
    autofree char *one = temp_path("e.db");
    autofree char *two = temp_path("e.db");
    dur_engine *a = open_engine(one);
    dur_engine *b = open_engine(two);
    cr_assert_str_eq(dur_error(a), "");
    cr_assert_eq(dur_signal(a, "first", "s", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_signal(b, "second", "s", NULL), DUR_NOT_FOUND);
    pthread_t thread;
    pthread_create(&thread, NULL, fail_elsewhere, a);
    pthread_join(thread, NULL);
    cr_assert_not_null(strstr(dur_error(a), "first"));
    cr_assert_not_null(strstr(dur_error(b), "second"));
    dur_close(a);
    cr_assert_not_null(strstr(dur_error(b), "second"));
    dur_engine *c = open_engine(one);
    cr_assert_str_eq(dur_error(c), "");
    dur_close(c);
    dur_close(b);
}

Test(open, log_lines_come_with_their_level, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_start(engine, "unheard of", "w", NULL, NULL);
    dur_start(engine, "nothing", "v", NULL, NULL);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_result(engine, "v", WAIT_MS, NULL), DUR_OK);
    serve_end(engine, thread);
    cr_assert(log_has("2 serving "), "%s", fixture_log);
    cr_assert(log_has("1 run w (unheard of): waits"), "%s", fixture_log);
    dur_close(engine);
}
