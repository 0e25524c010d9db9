/*
 * test_factory_config.c - defaults, values, rules, names, digests, the sample and the man page.
 */
#include "factory/config.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "factory/config_keys.h"
#include "tests/lib/temp_path.h"

#define GOOD                                                                                       \
    "[harnesses.Greeter]\ntype = generic\nexecutable = /bin/greet\n"                               \
    "[verification.Default.build]\nargv = [\"./build.sh\"]\n"

static void no_environment(void)
{
    unsetenv("FACTORY_CONFIG");
    unsetenv("FACTORY_DATA_DIR");
    unsetenv("TEMPORAL_HOST_PORT");
    unsetenv("TEMPORAL_NAMESPACE");
    unsetenv("TEMPORAL_TASK_QUEUE");
}
TestSuite(config, .init = no_environment);

static struct config *good(const char *text)
{
    struct config *config = NULL;
    struct err err = {0};
    cr_assert_eq(config_parse("f.ini", text, strlen(text), &config, &err), 0, "%s", err.text);
    return config;
}

/* All problems, one after the other. */
static char *problems_of(const char *text)
{
    autofree char *path = temp_path("factory.ini");
    autostr struct str problems = {0};
    struct config *config = NULL;
    cr_assert_eq(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
    config_check(path, &config, &problems);
    cr_assert(!config == (problems.len > 0));
    config_free(config);
    unlink(path);
    return str_take(&problems);
}

static void refused(const char *text, const char *problem)
{
    autofree char *problems = problems_of(text);
    cr_expect(strstr(problems, problem), "%s\ngave: %s\nwanted: %s", text, problems, problem);
}

static void accepted(const char *text)
{
    autofree char *problems = problems_of(text);
    cr_expect_str_empty(problems, "%s\ngave: %s", text, problems);
}

Test(config, built_in_defaults_declare_nothing)
{
    autoconfig struct config *c = good("");
    struct err err = {0};
    cr_assert_eq(c->harness_count, 0);
    cr_assert_eq(c->profile_count, 0);
    cr_assert_eq(c->agent_timeout_ms, 30 * 60 * 1000);
    cr_assert_not(c->allow_internet);
    cr_assert_null(config_harness(c, "codex", &err));
    cr_assert_str_eq(err.text, "no agent \"codex\" is declared; declared: none.");
}

Test(config, names_are_canonical_and_found_in_any_case)
{
    autoconfig struct config *c = good(GOOD);
    struct err err = {0};
    cr_assert_str_eq(config_harness(c, "GREETER", &err)->name, "greeter");
    cr_assert_str_eq(config_harness(c, NULL, &err)->name, "greeter");
    cr_assert_str_eq(config_profile(c, "DEFAULT", &err)->name, "default");
    cr_assert_null(config_harness(c, "greter", &err));
    cr_assert_str_eq(err.text,
                     "no agent \"greter\" is declared; declared: greeter. Did you mean greeter?");
    refused("[harnesses.a]\n[harnesses.A]\n", ":2: [harnesses.A] is given before, in line 1");
    refused("[verification.p]\n[verification.P]\n", ":2: [verification.P] is given before");
    refused("[harnesses.a.b]\n", "an agent's name is 1 to 64 letters, digits, _ or -");
    refused("[harnesses.-a]\n", "an agent's name is");
    refused("[verification.p.-x]\nargv=[\"a\"]\n", "a gate's name is");
    refused("[verification.p.x]\nargv=[\"a\"]\n[verification.p.X]\nargv=[\"a\"]\n",
            ":3: [verification.p.X] is given before");
}

Test(config, gates_keep_the_order_of_the_file)
{
    autoconfig struct config *c =
        good("[verification.p.z]\nargv = [\"z\"]\n[verification.q.x]\nargv = [\"x\"]\n"
             "[verification.p.a]\nargv = [\"a\"]\nmandatory = false\n[verification.p]\nsandbox = "
             "agent\n");
    cr_assert_eq(c->profile_count, 2);
    cr_assert_str_eq(c->profiles[0].gates[0].id, "z");
    cr_assert_str_eq(c->profiles[0].gates[1].id, "a");
    cr_assert(c->profiles[0].gates[0].mandatory);
    cr_assert_not(c->profiles[0].gates[1].mandatory);
    cr_assert_not(c->profiles[0].fresh_sandbox);
    cr_assert(c->profiles[1].fresh_sandbox);
}

Test(config, values_say_what_was_expected_and_found)
{
    refused("[limits]\nagent_timeout = 4 weeks\n",
            ":2: [limits] agent_timeout: expected a duration such as 45m, 1h30m or 20s, found: 4 "
            "weeks");
    refused("[limits]\nagent_timeout = 31h24h\n", "agent_timeout");
    refused("[limits]\nagent_timeout = 2000h\n", "2000h is out of range, 1ms to 720h");
    refused("[limits]\nworker_concurrency = 0\n", "0 is out of range, 1 to 256");
    refused("[limits]\nworker_concurrency = -1\n", "expected a whole number, found: -1");
    refused("[limits]\nworker_concurrency =\n", "expected a whole number, found: nothing");
    refused("[limits]\nartifact_bytes = 99999999999999999999\n", "expected a whole number");
    refused("[sandbox]\nallow_internet = yes\n", "expected true or false, found: yes");
    refused("[verification.p]\nsandbox = old\n", "expected agent or fresh, found: old");
    refused("[engine]\nkind = mysql\n", "expected sqlite or temporal, found: mysql");
    refused(
        "[verification.default.build]\nargv = ./build.sh --fast\n",
        ":2: [verification.default.build] argv: expected a JSON list of strings, found: ./build.sh "
        "--fast\n  write: argv = [\"./build.sh\", \"--fast\"]");
    refused("[sandbox]\nbase_packages = git, gcc\n", "write: base_packages = [\"git\", \"gcc\"]");
    refused("[sandbox]\nbase_packages = [\"git\" \"gcc\"]\n", "line 1 column");
    refused("[sandbox]\nbase_packages = [1]\n", "not all of it are strings");
    refused("[local]\nbinds = /a\n", "write: binds = {\"/inside\": \"/host\"}");
    refused("[local]\nbinds = {\"/a\": 1}\n", "not all of it are strings");
}

Test(config, unknown_names_come_with_the_nearest)
{
    refused("[limit]\n", "unknown section; did you mean [limits]?");
    refused("[harness.codex]\n", "unknown section; did you mean [harnesses.codex]?");
    refused("[harnesses]\n", "write: [harnesses.NAME]");
    refused("[cube]\n", "unknown section; known: engine, storage");
    refused("[limits]\nagent_timout = 5m\n", "unknown key; did you mean agent_timeout?");
    refused("[engine]\nfoo = 5m\n", "unknown key; known: kind, idle_exit, keep_runs");
    refused("k = 1\n", ":1: k: a key before the first [section]");
}

Test(config, every_problem_at_once_in_order)
{
    autofree char *problems =
        problems_of("[limit]\n[limits]\nnonsense\ncpu_milli = x\n[harnesses.a]\n"
                    "executable = a b\n");
    int last = 0, count = 0;
    for (const char *at = problems; (at = strstr(at, "factory.ini:")); count++) {
        at += strlen("factory.ini:");
        int line = (int)strtol(at, NULL, 10);
        cr_expect_geq(line, last);
        last = line;
    }
    cr_assert_eq(count, 5, "%s", problems);
}

Test(config, rules_of_agents)
{
    const char *head = "[harnesses.a]\ntype = generic\nexecutable = bash\n";
    static const char *const rows[][2] = {
        {"args = [\"x{{model}}\"]", "\"x{{model}}\": a placeholder must be a whole argument"},
        {"args = [\"{{modle}}\"]", "Did you mean {{model}}?"},
        {"args = [\"-c\", \"{{model}}\"]", "would be read by a shell as its script"},
        {"args = [\"-ec\", \"{{prompt_file}}\"]", "would be read by a shell as its script"},
        {"args = [\"-c\"]\nprompt_mode = argv", "the task behind \"-c\""},
        {"pass_env = [\"A\", \"B=C\"]", "pass_env: \"B=C\" is no variable name"},
        {"packages = [\"--force\"]", "packages: \"--force\" is no package name"},
        {"binary_sha256 = 12", "has no meaning without binary"},
        {"binary = /x\nbinary_sha256 = 12", "expected 64 lowercase hex digits, found: 12"},
        {"provider_files = {\"a\": \"/b\"}", "\"a\" must be an absolute path inside"},
        {"provider_files = {\"/a/../b\": \"/b\"}", "must be an absolute path inside"},
        {"provider_files = {\"/a\": \"\"}", "has no host file"},
        {"timeout = 31m", "is longer than [limits] agent_timeout"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autofree char *text = mem_printf("%s%s\n", head, rows[i][0]);
        refused(text, rows[i][1]);
    }
    refused("[harnesses.a]\n", "type: is needed\n  write: type = generic");
    refused("[harnesses.a]\n", "executable: is needed");
    refused("[harnesses.a]\ntype = generic\nexecutable = a --b\n", "its arguments go into args");
    accepted("[harnesses.a]\ntype = generic\nexecutable = codex\nargs = [\"-c\", \"{{model}}\", "
             "\"--format={{.Name}}\", \"{{model_args}}\", \"{{prompt_file}}\", "
             "\"{{repository_dir}}\"]\n");
}

Test(config, rules_of_gates_and_profiles)
{
    refused("[verification.p]\n", "[verification.p]: has no gates");
    refused("[verification.p.g]\n", "argv: is needed");
    refused("[verification.p.g]\nargv = []\n", "argv: is needed");
    refused("[verification.p.g]\nargv = [\"\"]\n", "its first word, the program, is empty");
    refused("[verification.p.g]\nargv = [\"a\"]\ndir = /x\n",
            "must be a path below the repository");
    refused("[verification.p.g]\nargv = [\"a\"]\ndir = a/../..\n", "must be a path below");
    refused("[verification.p.g]\nargv = [\"a\"]\ntimeout = 16m\n", "is longer than [limits] verif");
    refused("[verification.p]\nprotected = [\"a[\"]\n", "protected: pattern \"a[\"");
    refused("[verification.p]\nprotected = [\"\"]\n", "protected: pattern \"\"");
    refused("[verification.p]\nprotected = [\"a/../b\"]\n", "protected: pattern \"a/../b\"");
    accepted("[verification.p]\nprotected = [\"/Makefile\", \"**/x\", \"a*\"]\n"
             "[verification.p.g]\nargv = [\"a\"]\n");
    autofree char *once = problems_of("[verification.p.g]\nargv = x\n");
    cr_assert_null(strstr(once, "is needed"), "a refused value is not missing too: %s", once);
}

Test(config, rules_of_the_rest)
{
    refused("[limits]\nagent_timeout = 91m\n",
            "[limits] agent_timeout: is longer than total_timeout");
    refused("[limits]\nverification_timeout = 91m\n", "verification_timeout: is longer than total");
    refused("[limits]\nmemory_mib = 1\n", "no sandbox starts in less than 16 MiB");
    refused("[limits]\nprocesses = 1\n", "no sandbox starts with less than 8");
    refused("[storage]\ndata_dir =\n", "data_dir: is empty\n  write: data_dir = .factory");
    refused("[sandbox]\nprovider = cube\n", "expected local, found: cube");
    refused("[sandbox]\nbase_packages = [\"-x\"]\n", "\"-x\" is no package name");
    refused("[sandbox]\nallow_out = [\"a.example\"]\n", "cannot enforce allow_out");
    refused("[sandbox]\ndeny_out = [\"a.example\"]\n", "cannot enforce deny_out");
    refused("[sandbox]\nallow_internet = true\n", "write: allow_host_network = true in [local]");
    accepted("[sandbox]\nallow_internet = true\n[local]\nallow_host_network = true\n");
    refused("[local]\nbinds = {\"/workspace/x\": \"/x\"}\n", "lies in /workspace");
    refused("[local]\nbinds = {\"x\": \"/x\"}\n", "both must be absolute paths");
    refused("[local]\nbwrap =\n", "bwrap: is empty");
    refused("[repositories]\nallowed = [\"https://u:p@h/\"]\n", "[repositories] allowed:");
    accepted("[repositories]\nallowed = [\"https://h.example/\", \"ssh://h.example/team/\"]\n");
}

/* Somebody may write the password where its variable's name belongs. */
Test(config, a_misplaced_password_is_not_repeated)
{
    autofree char *problems = problems_of("[repositories]\nhttp_password_env = s3cr3t!pass\n");
    cr_assert(strstr(problems, "http_password_env: expected the name of a variable"), "%s",
              problems);
    cr_assert_null(strstr(problems, "s3cr3t"));
}

Test(config, paths_count_from_the_file)
{
    autofree char *dir = temp_path("conf");
    autofree char *path = fs_join(dir, "factory.ini");
    autofree char *script = fs_join(dir, "setup.sh");
    autoconfig struct config *c = NULL;
    struct err err = {0};
    const char text[] = "[storage]\ndata_dir = data\n[sandbox]\nsetup_script_file = setup.sh\n"
                        "[harnesses.a]\ntype = generic\nexecutable = a\nbinary = bin/a\n"
                        "provider_files = {\"/inside\": \"secret.json\"}\n";
    cr_assert_eq(fs_mkdirs(dir, 0700, NULL), 0);
    cr_assert_eq(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
    cr_assert_eq(fs_write_file(script, "echo hi\n", 8, 0600, NULL), 0);
    cr_assert_eq(config_load(path, &c, &err), 0, "%s", err.text);
    cr_assert(str_starts(c->data_dir, "/") && str_ends(c->data_dir, "/conf/data"));
    cr_assert(str_ends(c->harnesses[0].binary, "/conf/bin/a"));
    cr_assert_str_eq(c->harnesses[0].provider_files[0], "/inside");
    cr_assert(str_ends(c->harnesses[0].provider_files[1], "/conf/secret.json"));
    cr_assert_str_eq(c->setup_script, "echo hi\n");
    fs_remove_tree(dir, NULL);
}

Test(config, environment)
{
    autofree char *path = temp_path("env.ini");
    autoconfig struct config *c = NULL;
    struct err err = {0};
    cr_assert_eq(fs_write_file(path, GOOD, strlen(GOOD), 0600, NULL), 0);
    setenv("FACTORY_CONFIG", path, 1);
    setenv("FACTORY_DATA_DIR", "/somewhere/else", 1);
    cr_assert_eq(config_load(NULL, &c, &err), 0, "%s", err.text);
    cr_assert_eq(c->harness_count, 1);
    cr_assert_str_eq(c->data_dir, "/somewhere/else");
    unlink(path);
    struct config *none = NULL;
    cr_assert_lt(config_load(NULL, &none, &err), 0);
    cr_assert_str_eq(err.name, "BadConfig");
    cr_assert(strstr(err.text, "factory init makes a factory.ini"), "%s", err.text);
}

Test(config, an_error_value_says_how_much_it_leaves_out)
{
    autostr struct str text = {0};
    struct config *c = NULL;
    struct err err = {0};
    for (int i = 0; i < 100; i++) {
        str_addf(&text, "[unknown%d]\n", i);
    }
    cr_assert_lt(config_parse("f.ini", str_c(&text), text.len, &c, &err), 0);
    cr_assert(strstr(err.text, "and more (100 problems)"), "%s", err.text);
}

static char *canonical(const struct config *config)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 2);
    config_print(&out, config);
    return str_take(&text);
}

Test(config, the_digest_is_of_what_it_means)
{
    autoconfig struct config *a = good(GOOD);
    autoconfig struct config *b = good("# comment\n" GOOD "mandatory = true\n[limits]\n");
    autoconfig struct config *c = good(GOOD "[limits]\nagent_timeout = 29m\n");
    cr_assert_str_eq(a->digest, b->digest);
    cr_assert_str_neq(a->digest, c->digest);
    cr_assert_eq(strlen(a->digest), 64);
}

/* --- documents ----------------------------------------------------------------------------------
 */

static char *document(const char *name)
{
    autostr struct str text = {0};
    struct err err = {0};
    const char *top = getenv("abs_top_srcdir");
    if (!top) {
        cr_skip_test("skip: run by make check, which says where the source is");
    }
    autofree char *path = fs_join(top, name);
    cr_assert_eq(fs_read_file(path, 1 << 20, &text, &err), 0, "%s", err.text);
    return str_take(&text);
}

/* The sample with "#key = value" (prefix "#") or "# key = value" ("# ") lines made real. */
static char *uncommented(const char *sample, const char *prefix)
{
    autostr struct str text = {0};
    size_t skip = strlen(prefix);
    while (*sample) {
        size_t len = strcspn(sample, "\n");
        size_t word =
            strspn(sample + (len > skip ? skip : len), "abcdefghijklmnopqrstuvwxyz_0123456789");
        bool is_key = len > skip && strncmp(sample, prefix, skip) == 0 && word > 0 &&
                      strncmp(sample + skip + word, " =", 2) == 0;
        str_addn(&text, sample + (is_key ? skip : 0), len - (is_key ? skip : 0));
        str_addc(&text, '\n');
        sample += len + (sample[len] == '\n');
    }
    return str_take(&text);
}

Test(config, the_sample_shows_the_true_defaults)
{
    autofree char *sample = document("factory.ini.sample");
    autofree char *defaults = uncommented(sample, "#");
    autofree char *examples = uncommented(sample, "# ");
    autoconfig struct config *a = good(sample);
    autoconfig struct config *b = good(defaults);
    autofree char *printed_a = canonical(a);
    autofree char *printed_b = canonical(b);
    cr_assert_gt(strlen(defaults), 0);
    cr_assert_str_neq(sample, defaults);
    cr_assert_str_eq(printed_a, printed_b);
    accepted(examples);
}

/* Under a section of its own name, "key =" at a line's beginning, perhaps behind "#" or "# ". */
static bool shows_key(const char *text, const char *section, const char *key)
{
    char seen[256] = "";
    while (*text) {
        size_t len = strcspn(text, "\n");
        autofree char *line = mem_strndup(text, len);
        const char *at = line + strspn(line, "# ");
        if (line[0] == '[') {
            str_copy(seen, sizeof(seen), line);
        } else if (strncmp(at, key, strlen(key)) == 0 && strncmp(at + strlen(key), " =", 2) == 0 &&
                   str_eq(seen, section)) {
            return true;
        }
        text += len + (text[len] == '\n');
    }
    return false;
}

Test(config, every_key_is_in_the_sample)
{
    autofree char *sample = document("factory.ini.sample");
    for (size_t i = 0; i < config_key_count; i++) {
        const char *pattern = config_keys[i].section;
        const char *section = str_eq(pattern, "harnesses.*")        ? "harnesses.example"
                              : str_eq(pattern, "verification.*")   ? "verification.default"
                              : str_eq(pattern, "verification.*.*") ? "verification.default.build"
                                                                    : pattern;
        autofree char *head = mem_printf("[%s]", section);
        cr_expect(shows_key(sample, head, config_keys[i].key), "factory.ini.sample: %s %s", head,
                  config_keys[i].key);
    }
}

Test(config, every_key_is_in_the_man_page)
{
    autofree char *page = document("docs/man/factory.ini.5.scd");
    for (size_t i = 0; i < config_key_count; i++) {
        autofree char *entry = mem_printf("\n*%s*", config_keys[i].key);
        cr_expect(strstr(page, entry), "docs/man/factory.ini.5.scd: [%s] %s",
                  config_keys[i].section, config_keys[i].key);
    }
}
