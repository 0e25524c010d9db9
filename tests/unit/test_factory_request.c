/*
 * test_factory_request.c - what a run may ask for, and that its JSON form loses nothing.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "factory/request.h"
#include "tests/lib/temp_path.h"

static const char INI[] =
    "[repositories]\n"
    "allowed = [\"https://example.org/team/\"]\n"
    "[limits]\nagent_timeout = 10m\n"
    "[harnesses.Writer]\ntype = generic\nexecutable = /bin/sh\nmodel = base\n"
    "[harnesses.second]\ntype = generic\nexecutable = /bin/sh\n"
    "[verification.strict]\n[verification.strict.test]\nargv = [\"./test.sh\"]\n"
    "[verification.loose]\n[verification.loose.test]\nargv = [\"./test.sh\"]\n";

static struct config *config;
static struct arena *arena;

static void set_up(void)
{
    struct err err = {0};
    arena = arena_new();
    cr_assert_eq(config_parse("test.ini", INI, strlen(INI), &config, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
    config_free(config);
    arena_free(arena);
}

TestSuite(request, .init = set_up, .fini = tear_down, .timeout = 60);

static struct request good(void)
{
    return (struct request){.task = "Do it", .local_path = "/", .revision = "main"};
}

static const char *check(struct request *r)
{
    static struct err err;
    err = (struct err){0};
    if (request_check(arena, config, r, &err) < 0) {
        cr_assert_str_eq(err.name, "BadRequest");
        cr_assert_eq(err.kind, ERR_PERMANENT);
        return err.text;
    }
    return "";
}

Test(request, defaults_are_filled_in)
{
    struct request r = good();
    cr_assert_str_eq(check(&r), "");
    cr_assert(str_starts(r.run_id, "run-"));
    cr_assert_eq(strlen(r.run_id), 28u);
    cr_assert_str_eq(r.agent, "writer");
    cr_assert_str_eq(r.model, "base");
    cr_assert_str_eq(r.profile, "strict");
    struct request other = good();
    cr_assert_str_eq(check(&other), "");
    cr_assert_str_neq(other.run_id, r.run_id);
}

Test(request, names_are_canonical_in_any_case_of_letters)
{
    struct request r = good();
    r.agent = "WRITER";
    r.profile = "Loose";
    r.model = "mine";
    cr_assert_str_eq(check(&r), "");
    cr_assert_str_eq(r.agent, "writer");
    cr_assert_str_eq(r.profile, "loose");
    cr_assert_str_eq(r.model, "mine");
}

static void expect_problem(struct request r, const char *words)
{
    const char *text = check(&r);
    cr_expect(strstr(text, words), "\"%s\" does not say \"%s\"", text, words);
}

Test(request, each_problem_is_said)
{
    struct request r = good();
    r.task = " \n\t";
    expect_problem(r, "task is empty");
    r = good();
    r.task = NULL;
    expect_problem(r, "task is empty");
    r = good();
    r.task = "\xff\xfe";
    expect_problem(r, "UTF-8");
    r = good();
    r.run_id = "../x";
    expect_problem(r, "run id");
    r = good();
    r.revision = NULL;
    expect_problem(r, "revision");
    r = good();
    r.revision = "--upload-pack=x";
    expect_problem(r, "revision");
    r = good();
    r.local_path = NULL;
    expect_problem(r, "either a repository URL");
    r = good();
    r.repository = "https://example.org/team/x";
    expect_problem(r, "either a repository URL");
    r = good();
    r.local_path = "/no/such/place";
    expect_problem(r, "/no/such/place");
    r = good();
    r.agent = "nobody";
    expect_problem(r, "nobody");
    r = good();
    r.profile = "stric";
    expect_problem(r, "strict");
    r = good();
    r.agent_timeout_ms = -1;
    expect_problem(r, "time limit");
    r = good();
    r.agent_timeout_ms = 601000;
    expect_problem(r, "time limit");
}

Test(request, all_problems_in_one_error)
{
    struct request r = {.run_id = "-", .agent = "nobody", .profile = "nothing"};
    const char *text = check(&r);
    static const char *const words[] = {"task",       "run id", "revision",
                                        "repository", "nobody", "nothing"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        cr_expect(strstr(text, words[i]), "\"%s\" does not say \"%s\"", text, words[i]);
    }
}

Test(request, urls_within_what_is_allowed)
{
    static const char *const bad[] = {"https://example.org/team-private",
                                      "https://example.org/",
                                      "https://example.org.evil/team/x",
                                      "http://example.org/team/x",
                                      "file:///etc",
                                      "https://me@example.org/team/x",
                                      "/etc"};
    struct request r = {
        .task = "x", .revision = "v1", .repository = "https://example.org/team/x.git"};
    cr_assert_str_eq(check(&r), "");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        r.repository = bad[i];
        cr_expect_str_neq(check(&r), "", "%s", bad[i]);
    }
}

Test(request, a_relative_path_becomes_absolute)
{
    struct request r = good();
    autofree char *dir = temp_path("");
    cr_assert_eq(chdir(dir), 0);
    r.local_path = ".";
    cr_assert_str_eq(check(&r), "");
    cr_assert_eq(r.local_path[0], '/');
    cr_assert_gt(strlen(r.local_path), 1u);
}

Test(request, the_json_form_loses_nothing)
{
    struct err err = {0};
    struct request back;
    struct config *pinned = NULL;
    struct request r = good();
    r.task = "quotes \" and\nlines \\ and ünïcode";
    r.run_id = "mine-1";
    r.agent_timeout_ms = 1500;
    cr_assert_str_eq(check(&r), "");
    const char *json = request_print(arena, config, &r);
    cr_assert_eq(request_parse(arena, json, &back, &pinned, &err), 0, "%s", err.text);
    cr_assert_str_eq(back.task, r.task);
    cr_assert_str_eq(back.run_id, "mine-1");
    cr_assert_str_eq(back.local_path, "/");
    cr_assert_null(back.repository);
    cr_assert_str_eq(back.revision, "main");
    cr_assert_str_eq(back.agent, "writer");
    cr_assert_str_eq(back.model, "base");
    cr_assert_eq(back.agent_timeout_ms, 1500);
    cr_assert_str_eq(pinned->digest, config->digest, "the pinned configuration is the same one");
    cr_assert_eq(request_check(arena, pinned, &back, &err), 0, "%s", err.text);
    config_free(pinned);
}

Test(request, nonsense_is_refused)
{
    static const char *const texts[] = {"",
                                        "null",
                                        "[]",
                                        "{}",
                                        "{\"run_id\":1}",
                                        "{\"run_id\":\"a\"",
                                        "{\"run_id\":\"a\",\"task\":\"t\",\"revision\":\"r\","
                                        "\"agent\":\"a\",\"profile\":\"p\"}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};
        struct request r;
        struct config *pinned = NULL;
        cr_expect_lt(request_parse(arena, texts[i], &r, &pinned, &err), 0, "%s", texts[i]);
        cr_expect_eq(err.kind, ERR_PERMANENT, "%s", texts[i]);
    }
    struct err err = {0};
    struct request r;
    struct config *pinned = NULL;
    cr_assert_lt(request_parse(arena, NULL, &r, &pinned, &err), 0);
}
