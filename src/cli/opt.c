/*
 * opt.c - command lines against a command's row (cmd.h).
 * Owns: long options (--name VALUE, --name=VALUE, --switch=false; unique prefixes are not taken:
 * scripts break when options are added), single letters, "--", -h and --help. Tests:
 * tests/unit/test_cli_opt.c, tests/cli/t0010-usage.sh
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/format.h"

/* A switch that was given as --name=false: told apart by its address. */
static const char OFF[] = "false";

static size_t option_count(const struct cmd *cmd)
{
    size_t count = 0;
    while (cmd->options && cmd->options[count].name) {
        count++;
    }
    return count;
}

static int find_long(const struct cmd *cmd, const char *name, size_t len)
{
    for (size_t i = 0; i < option_count(cmd); i++) {
        if (strlen(cmd->options[i].name) == len && strncmp(cmd->options[i].name, name, len) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int find_letter(const struct cmd *cmd, char letter)
{
    for (size_t i = 0; i < option_count(cmd); i++) {
        if (cmd->options[i].letter == letter) {
            return (int)i;
        }
    }
    return -1;
}

static int unknown(const struct cmd *cmd, const char *word)
{
    const char *names[CMD_OPTIONS_MAX];
    size_t count = option_count(cmd);
    for (size_t i = 0; i < count; i++) {
        names[i] = cmd->options[i].name;
    }
    const char *near = str_starts(word, "--") ? str_nearest(word + 2, names, count) : NULL;
    return cli_error(EXIT_USAGE, "%s: unknown option %s%s%s%s", cmd->name, word,
                     near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

/* One option word; *at moves on when the value is the next word. */
static int take_option(const struct cmd *cmd, int argc, char **argv, int *at, struct args *args)
{
    const char *word = argv[*at];
    const char *eq = strchr(word, '=');
    bool is_long = word[1] == '-';
    size_t len = is_long ? (eq ? (size_t)(eq - word) : strlen(word)) - 2 : 1;
    int index = is_long ? find_long(cmd, word + 2, len) : find_letter(cmd, word[1]);
    if (index < 0 || (!is_long && word[2])) {
        return unknown(cmd, word);
    }
    const struct cmd_option *option = &cmd->options[index];
    if (!option->value) {
        bool is_on = !(is_long && eq) || str_eq(eq + 1, "true");
        if (!is_on && !str_eq(eq + 1, "false")) {
            return cli_error(EXIT_USAGE, "%s: --%s is a switch: it takes true or false, not %s",
                             cmd->name, option->name, eq + 1);
        }
        args->values[index] = is_on ? "" : OFF;
        return EXIT_OK;
    }
    if (is_long && eq) {
        args->values[index] = eq + 1;
    } else if (*at + 1 < argc) {
        args->values[index] = argv[++*at];
    } else {
        return cli_error(EXIT_USAGE, "%s: --%s needs a value: --%s %s", cmd->name, option->name,
                         option->name, option->value);
    }
    return EXIT_OK;
}

int args_parse(struct cli *cli, const struct cmd *cmd, int argc, char **argv, struct args *ret)
{
    bool only_words = false;
    int kept = 0;
    (void)cli;
    memset(ret, 0, sizeof(*ret));
    ret->cmd = cmd;
    ret->words = argv;
    if (cmd->raw) {
        ret->count = argc;
        return EXIT_OK;
    }
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (!only_words && str_eq(word, "--")) {
            only_words = true;
        } else if (!only_words && word[0] == '-' && word[1]) {
            int status = take_option(cmd, argc, argv, &at, ret);
            if (status != EXIT_OK) {
                return status;
            }
        } else {
            argv[kept++] = argv[at];
        }
    }
    ret->count = kept;
    if (kept < cmd->min_words || (cmd->max_words >= 0 && kept > cmd->max_words)) {
        return cli_error(EXIT_USAGE, "usage: factory %s%s%s%s", cmd->name,
                         option_count(cmd) ? " [options]" : "", *cmd->words ? " " : "", cmd->words);
    }
    return EXIT_OK;
}

const char *args_get(const struct args *args, const char *option)
{
    int index = find_long(args->cmd, option, strlen(option));
    return index < 0 ? NULL : args->values[index];
}

bool args_has(const struct args *args, const char *option)
{
    return args_get(args, option) && !args_off(args, option);
}

bool args_off(const struct args *args, const char *option)
{
    return args_get(args, option) == OFF;
}

int args_number(struct cli *cli, const struct args *args, const char *option, long long min,
                long long max, long long *ret)
{
    const char *text = args_get(args, option);
    char *end;
    (void)cli;
    if (!text) {
        return EXIT_OK;
    }
    long long number = strtoll(text, &end, 10);
    if (!*text || *end || number < min || number > max) {
        return cli_error(EXIT_USAGE, "%s: --%s: expected a number from %lld to %lld, found %s",
                         args->cmd->name, option, min, max, text);
    }
    *ret = number;
    return EXIT_OK;
}

int args_duration_ms(struct cli *cli, const struct args *args, const char *option, long long *ret)
{
    const char *text = args_get(args, option);
    int64_t ns;
    (void)cli;
    if (!text) {
        return EXIT_OK;
    }
    if (!duration_parse(text, &ns) || ns < NS_PER_MS) {
        return cli_error(EXIT_USAGE, "%s: --%s: expected a duration such as 45m or 1h30m, found %s",
                         args->cmd->name, option, text);
    }
    *ret = ns / NS_PER_MS;
    return EXIT_OK;
}

#define HELP_INDENT 30
#define HELP_INDENT_NARROW 8
#define HELP_WIDE 72 /* columns from which the help stands beside its option */

/* The help beside its option, or below it where that is too narrow or the option too long. */
static void add_option(struct str *out, const struct cmd_option *o, size_t width)
{
    autostr struct str left = {0}, help = {0};
    size_t indent = width >= HELP_WIDE ? HELP_INDENT : HELP_INDENT_NARROW;
    str_addf(&left, "  %s%c%s--%s%s%s", o->letter ? "-" : "  ", o->letter ? o->letter : ' ',
             o->letter ? ", " : " ", o->name, o->value ? " " : "", o->value ? o->value : "");
    format_wrap(&help, o->help, indent, width);
    bool beside = left.len + 2 <= indent;
    str_add(out, str_c(&left));
    if (beside) {
        format_spaces(out, indent - left.len);
        str_add(out, str_c(&help) + indent);
    } else {
        str_addf(out, "\n%s", str_c(&help));
    }
}

void cmd_usage(struct str *out, const struct cmd *cmd)
{
    size_t count = option_count(cmd), width = cli_width();
    width = width > 100 ? 100 : width;
    str_addf(out, "usage: factory %s%s%s%s\n%s\n%s", cmd->name, count ? " [options]" : "",
             *cmd->words ? " " : "", cmd->words, cmd->summary, count ? "\n" : "");
    for (size_t i = 0; i < count; i++) {
        add_option(out, &cmd->options[i], width);
    }
}
