/*
 * test_cli_opt.c - command lines against a row.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/exitcode.h"

static const struct cmd_option options[] = {
    {"tail", 'n', "N", "lines"},
    {"follow", 'f', NULL, "go on"},
    {"task", 0, "TEXT", "what"},
    {0},
};
static const struct cmd row = {.name = "sample",
                               .words = "RUN",
                               .summary = "a sample",
                               .min_words = 1,
                               .max_words = 2,
                               .options = options};

/* args->words points into the vector: it stays until the next call. */
static int parse(struct args *args, const char *const *argv)
{
    static char *vector[16];
    int argc = 0;
    while (argv[argc]) {
        vector[argc] = (char *)(uintptr_t)argv[argc];
        argc++;
    }
    vector[argc] = NULL;
    return args_parse(NULL, &row, argc, vector, args);
}
#define PARSE(args, ...) parse((args), (const char *const[]){__VA_ARGS__, NULL})

Test(cli_opt, forms, .init = cr_redirect_stderr)
{
    struct args args;
    const char *const argv[] = {"a", "--tail=3", "-f", "--task", "--json", "b", NULL};
    cr_assert_eq(parse(&args, argv), EXIT_OK);
    cr_assert_eq(args.count, 2);
    cr_assert_str_eq(args.words[0], "a");
    cr_assert_str_eq(args.words[1], "b");
    cr_assert_str_eq(args_get(&args, "tail"), "3");
    cr_assert_str_eq(args_get(&args, "task"), "--json", "a value may look like an option");
    cr_assert(args_has(&args, "follow"));
    cr_assert_eq(PARSE(&args, "--", "-f"), EXIT_OK);
    cr_assert_str_eq(args.words[0], "-f");
    cr_assert(!args_has(&args, "follow"));
    cr_assert_eq(PARSE(&args, "-n", "5", "-"), EXIT_OK);
    cr_assert_str_eq(args.words[0], "-", "a dash is a word");
    cr_assert_eq(PARSE(&args, "--task=", "a"), EXIT_OK);
    cr_assert_str_eq(args_get(&args, "task"), "");
}

Test(cli_opt, switches, .init = cr_redirect_stderr)
{
    struct args args;
    cr_assert_eq(PARSE(&args, "--follow=true", "a"), EXIT_OK);
    cr_assert(args_has(&args, "follow") && !args_off(&args, "follow"));
    cr_assert_eq(PARSE(&args, "--follow=false", "a"), EXIT_OK);
    cr_assert(!args_has(&args, "follow") && args_off(&args, "follow"));
    cr_assert_eq(PARSE(&args, "--task", "false", "a"), EXIT_OK);
    cr_assert(args_has(&args, "task") && !args_off(&args, "task"), "a value is no switch");
    cr_assert_eq(PARSE(&args, "--follow=maybe", "a"), EXIT_USAGE);
    cr_assert_eq(PARSE(&args, "--follow", "--follow=false", "a"), EXIT_OK);
    cr_assert(!args_has(&args, "follow"), "the last one counts");
}

Test(cli_opt, refusals, .init = cr_redirect_stderr)
{
    struct args args;
    cr_assert_eq(PARSE(&args, "a", "--tial", "3"), EXIT_USAGE);
    cr_assert_eq(PARSE(&args, "a", "--tail"), EXIT_USAGE);
    cr_assert_eq(PARSE(&args, "a", "-x"), EXIT_USAGE);
    cr_assert_eq(PARSE(&args, "a", "-fn"), EXIT_USAGE);
    cr_assert_eq(PARSE(&args, "a", "--ta", "3"), EXIT_USAGE, "prefixes are not taken");
    cr_assert_eq(PARSE(&args, "--follow"), EXIT_USAGE, "a word is missing");
    cr_assert_eq(PARSE(&args, "a", "b", "c"), EXIT_USAGE, "a word too many");
    fflush(stderr);
    cr_assert_stderr_neq_str("", "reasons are told");
}

Test(cli_opt, numbers_and_durations, .init = cr_redirect_stderr)
{
    struct args args;
    long long value = 7;
    cr_assert_eq(PARSE(&args, "a"), EXIT_OK);
    cr_assert_eq(args_number(NULL, &args, "tail", 0, 10, &value), EXIT_OK);
    cr_assert_eq(value, 7, "untouched");
    static const char *const bad[] = {"", "x", "11", "-1", "1x", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_assert_eq(PARSE(&args, "a", "--tail", bad[i]), EXIT_OK);
        cr_assert_eq(args_number(NULL, &args, "tail", 0, 10, &value), EXIT_USAGE, "%s", bad[i]);
        cr_assert_eq(args_duration_ms(NULL, &args, "tail", &value), EXIT_USAGE, "%s", bad[i]);
    }
    cr_assert_eq(PARSE(&args, "a", "--tail", "1h30m"), EXIT_OK);
    cr_assert_eq(args_duration_ms(NULL, &args, "tail", &value), EXIT_OK);
    cr_assert_eq(value, 90 * 60 * 1000);
}

Test(cli_opt, usage_names_every_option)
{
    struct str out = {0};
    cmd_usage(&out, &row);
    cr_assert(strstr(str_c(&out), "usage: factory sample [options] RUN"));
    cr_assert(strstr(str_c(&out), "-n, --tail N"));
    cr_assert(strstr(str_c(&out), "--task TEXT"));
    str_free(&out);
}
