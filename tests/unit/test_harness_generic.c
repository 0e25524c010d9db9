/*
 * test_harness_generic.c - an agent's command line, environment and secrets. What is pushed into a
 * real sandbox is tested end to end: tests/cli/t0640-run-setup.sh.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/str.h"
#include "harness/generic.h"
#include "tests/lib/temp_path.h"

static const char *const NONE[] = {NULL};
static struct arena *arena;

static void set_up(void)
{
    arena = arena_new();
    redact_forget_all();
}

static void tear_down(void)
{
    arena_free(arena);
    redact_forget_all();
}

TestSuite(harness, .init = set_up, .fini = tear_down, .timeout = 60);

static struct harness plain(const char *const *args)
{
    return (struct harness){.name = "bot",
                            .executable = "/usr/bin/bot",
                            .args = args,
                            .model_flag = "",
                            .model = "",
                            .prompt_mode = "stdin_file",
                            .binary = "",
                            .binary_sha256 = "",
                            .packages = NONE,
                            .pass_env = NONE,
                            .provider_files = NONE};
}

static const char *joined(const char *const *argv)
{
    static struct str text;
    str_reset(&text);
    for (size_t i = 0; argv[i]; i++) {
        str_addf(&text, "<%s>", argv[i]);
    }
    return str_c(&text);
}

Test(harness, placeholders)
{
    static const char *const args[] = {"run",
                                       "{{model_args}}",
                                       "{{model}}",
                                       "{{prompt_file}}",
                                       "{{repository_dir}}",
                                       "x{{model}}",
                                       "",
                                       NULL};
    struct harness h = plain(args);
    h.model_flag = "--model";
    h.model = "big one";
    cr_assert_str_eq(joined(harness_argv(arena, &h, "task")),
                     "</usr/bin/bot><run><--model><big one><big one>"
                     "</workspace/.factory/agent-prompt.txt></workspace/repository><x{{model}}><>");
    h.model = "";
    cr_assert_str_eq(joined(harness_argv(arena, &h, "task")),
                     "</usr/bin/bot><run><></workspace/.factory/agent-prompt.txt>"
                     "</workspace/repository><x{{model}}><>");
    h.model = "m";
    h.model_flag = "";
    cr_assert(strstr(joined(harness_argv(arena, &h, "task")), "<run><m><"),
              "no flag: no model_args");
}

Test(harness, where_the_prompt_goes)
{
    static const char *const args[] = {"-q", NULL};
    const char *prompt = "say \"secret words\"; rm -rf /";
    struct harness h = plain(args);
    cr_assert_str_eq(joined(harness_argv(arena, &h, prompt)), "</usr/bin/bot><-q>");
    cr_assert_str_eq(harness_command_line(arena, &h),
                     "/usr/bin/bot -q < /workspace/.factory/agent-prompt.txt");
    h.prompt_mode = "argv";
    cr_assert_str_eq(joined(harness_argv(arena, &h, prompt)),
                     "</usr/bin/bot><-q><say \"secret words\"; rm -rf />");
    cr_assert_str_eq(harness_command_line(arena, &h), "/usr/bin/bot -q PROMPT");
}

Test(harness, a_pushed_program_is_the_one_that_runs)
{
    struct harness h = plain(NONE);
    h.binary = "/host/bot";
    cr_assert_str_eq(joined(harness_argv(arena, &h, "t")), "</workspace/.factory/bin/bot>");
}

Test(harness, only_named_variables_pass)
{
    static const char *const names[] = {"HT_SET", "HT_EMPTY", "HT_UNSET", NULL};
    struct harness h = plain(NONE);
    h.pass_env = names;
    setenv("HT_SET", "zq7-value=with=signs", 1);
    setenv("HT_EMPTY", "", 1);
    setenv("HT_OTHER", "other", 1);
    unsetenv("HT_UNSET");
    cr_assert_str_eq(joined(harness_env(arena, &h)), "<HT_SET=zq7-value=with=signs>");
    const char *text = "it is zq7-value=with=signs.";
    cr_assert_eq(redact_finds(text, strlen(text), REDACT_KNOWN), 1u, "its value is a secret");
}

static bool is_secret(const char *text)
{
    return redact_finds(text, strlen(text), REDACT_KNOWN) > 0;
}

static int register_content(const char *content, struct err *err)
{
    autofree char *path = temp_path("creds");
    cr_assert_eq(fs_write_file(path, content, strlen(content), 0600, err), 0);
    const char *const pairs[] = {"/inside", path, NULL};
    struct harness h = plain(NONE);
    h.provider_files = pairs;
    return harness_register_secrets(&h, err);
}

Test(harness, leaves_of_json_files_are_secrets)
{
    struct err err = {0};
    cr_assert_eq(
        register_content("{\"a\":{\"key\":\"zq7-leaf-one\"},\"l\":[\"zq7-leaf-two\",17]}", &err),
        0);
    cr_assert(is_secret("x zq7-leaf-one x"));
    cr_assert(is_secret("zq7-leaf-two"));
    cr_assert(!is_secret("key"));
}

Test(harness, values_of_other_files_are_secrets)
{
    struct err err = {0};
    cr_assert_eq(register_content("# what a comment says\n"
                                  "API_KEY=\"zq7-quoted-1\"\r\n"
                                  "export TOKEN=zq7-plain-22\n"
                                  "yaml: zq7-yaml-333\n"
                                  "machine example.org login me password zq7-netrc\n"
                                  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n"
                                  "short=1\n",
                                  &err),
                 0, "%s", err.text);
    cr_assert(is_secret("zq7-quoted-1"));
    cr_assert(is_secret("zq7-plain-22"));
    cr_assert(is_secret("zq7-yaml-333"));
    cr_assert(is_secret("zq7-netrc"));
    cr_assert(is_secret("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"));
    cr_assert(!is_secret("# what a comment says"));
    cr_assert(!is_secret("password example.org machine"));
    cr_assert(!is_secret("short=1"));
}

Test(harness, a_missing_file_is_refused_but_hides_no_other)
{
    struct err err = {0};
    autofree char *path = temp_path("creds");
    cr_assert_eq(fs_write_file(path, "zq7-single-token\n", 17, 0600, &err), 0);
    const char *const pairs[] = {"/a", "/no/such/file", "/b", path, NULL};
    struct harness h = plain(NONE);
    h.provider_files = pairs;
    cr_assert_lt(harness_register_secrets(&h, &err), 0);
    cr_assert_str_eq(err.name, "ProviderFile");
    cr_assert_eq(err.kind, ERR_PERMANENT);
    cr_assert(strstr(err.text, "/no/such/file"), "%s", err.text);
    cr_assert(is_secret("zq7-single-token"));
    cr_assert_lt(harness_register_secrets(&h, NULL), 0, "err may be NULL");
}
