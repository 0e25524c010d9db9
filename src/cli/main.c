/*
 * main.c - the program: global options, dispatch by the table, help.
 * Owns: main() and the table made from cmd_list.h. Must not: know what a command does.
 * Tests: tests/cli/t0010-usage.sh
 */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"

#define CMD(name) extern const struct cmd cmd_##name;
#include "cli/cmd_list.h"
#undef CMD

const struct cmd *const cmd_table[] = {
#define CMD(name) &cmd_##name,
#include "cli/cmd_list.h"
#undef CMD
    NULL,
};

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; cmd_table[i]; i++) {
        if (str_eq(cmd_table[i]->name, name)) {
            return cmd_table[i];
        }
    }
    return NULL;
}

static int print_help(void)
{
    autostr struct str out = {0};
    str_add(&out, "factory - durable software-factory runs on one host\n\n"
                  "usage: factory [--config PATH] COMMAND [options]\n\n");
    for (size_t i = 0; cmd_table[i]; i++) {
        if (!cmd_table[i]->hidden) {
            str_addf(&out, "  %-12s %s\n", cmd_table[i]->name, cmd_table[i]->summary);
        }
    }
    str_add(&out, "\nfactory COMMAND --help says more; man factory says all.\n");
    cli_print(&out);
    return EXIT_OK;
}

static int no_command(const char *name)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; cmd_table[i] && count < ARRAY_LEN(names); i++) {
        if (!cmd_table[i]->hidden) {
            names[count++] = cmd_table[i]->name;
        }
    }
    const char *near = str_nearest(name, names, count);
    return cli_error(EXIT_USAGE, "no command %s%s%s%s", name, near ? "; did you mean " : "",
                     near ? near : "", near ? "?" : " (factory help lists them)");
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
    struct args args;
    const struct cmd *cmd = cmd_find(argv[0]);
    if (!cmd) {
        return no_command(argv[0]);
    }
    for (int i = 1; i < argc && !cmd->raw && !str_eq(argv[i], "--"); i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h")) {
            autostr struct str out = {0};
            cmd_usage(&out, cmd);
            cli_print(&out);
            return EXIT_OK;
        }
    }
    int status = args_parse(cli, cmd, argc - 1, argv + 1, &args);
    return status == EXIT_OK ? cmd->exec(cli, &args) : status;
}

/* Nothing that is opened later may become standard output by being given its number. */
static void fill_standard_streams(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

int main(int argc, char **argv)
{
    static char version_word[] = "version";
    struct cli cli = {0};
    int at = 1;
    fill_standard_streams();
    mem_refill();
    setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN);
    log_set_redactor(redact_str);
    while (at < argc && argv[at][0] == '-') {
        if (str_eq(argv[at], "--config") && at + 1 < argc) {
            cli.config_path = argv[at + 1];
            at += 2;
        } else if (str_starts(argv[at], "--config=")) {
            cli.config_path = argv[at++] + strlen("--config=");
        } else if (str_eq(argv[at], "--help") || str_eq(argv[at], "-h")) {
            return print_help();
        } else if (str_eq(argv[at], "--version")) {
            argv[at] = version_word;
            break;
        } else {
            return cli_error(EXIT_USAGE, "unknown option %s before the command", argv[at]);
        }
    }
    if (at >= argc || str_eq(argv[at], "help")) {
        return print_help();
    }
    int status = dispatch(&cli, argc - at, argv + at);
    cli_free(&cli);
    return status;
}
