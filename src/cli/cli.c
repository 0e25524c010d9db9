/*
 * cli.c - see cli.h. Owns printing of errors and the lazy opening of configuration and store.
 * Tests: tests/cli/
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/exitcode.h"
#include "factory/factory.h"

void cli_free(struct cli *cli)
{
    dur_close(cli->engine);
    cli->engine = NULL;
    cli->config = config_free(cli->config);
}

static void print_error(const char *text)
{
    const char *line = text;
    while (line) {
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        fprintf(stderr, "factory: %.*s\n", (int)len, line);
        line = end ? end + 1 : NULL;
    }
}

int cli_error(int status, const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    print_error(str_c(&text));
    return status;
}

int cli_fail(const struct err *err)
{
    static const struct {
        const char *name;
        int status;
    } table[] = {
        {"BadConfig", EXIT_CONFIG},    {"BadRequest", EXIT_CONFIG},   {"NotDeclared", EXIT_CONFIG},
        {"DUR_NOT_FOUND", EXIT_NOT_FOUND}, {"DUR_BUSY", EXIT_BUSY},   {"DUR_FULL", EXIT_BUSY},
        {"DUR_NEWER", EXIT_BUSY},
    };
    print_error(err->text);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(err->name, table[i].name)) {
            return table[i].status;
        }
    }
    return EXIT_ERROR;
}

int cli_config(struct cli *cli)
{
    autostr struct str problems = {0};
    if (cli->config || config_check(cli->config_path, &cli->config, &problems) == 0) {
        return EXIT_OK;
    }
    return cli_error(EXIT_CONFIG, "%s", str_c(&problems));
}

int cli_engine(struct cli *cli, bool read_only)
{
    struct err err = {0};
    int status = cli_config(cli);
    if (status != EXIT_OK || cli->engine) {
        return status;
    }
    if (factory_open_engine(cli->config, read_only, cli->idle_exit_ms, &cli->engine, &err) == 0) {
        return EXIT_OK;
    }
    if (str_eq(err.name, "DUR_NOT_FOUND")) {
        return cli_error(EXIT_NOT_FOUND, "there is no store at %s yet; factory run makes it",
                         cli->config->data_dir);
    }
    return cli_fail(&err);
}

void cli_print(const struct str *text)
{
    if (fwrite(str_c(text), 1, text->len, stdout) != text->len || fflush(stdout) != 0) {
        exit(EXIT_ERROR);
    }
}
