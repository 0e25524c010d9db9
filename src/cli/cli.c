/*
 * cli.c - see cli.h. Owns printing of errors and the lazy opening of configuration and store.
 * Tests: tests/cli/
 */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/term.h"
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

void cli_note(const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    print_error(str_c(&text));
}

int cli_fail(const struct err *err)
{
    static const struct {
        const char *name;
        int status;
    } table[] = {
        {"BadConfig", EXIT_CONFIG},       {"BadRequest", EXIT_CONFIG},
        {"NotDeclared", EXIT_CONFIG},     {"DUR_NOT_FOUND", EXIT_NOT_FOUND},
        {"DUR_BUSY", EXIT_BUSY},          {"DUR_FULL", EXIT_BUSY},
        {"DUR_NEWER", EXIT_BUSY},         {"DUR_OLDER", EXIT_BUSY},
        {"ServerUnreachable", EXIT_BUSY}, {"PolicyNotEnforceable", EXIT_CONFIG},
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

static int no_store(const struct cli *cli)
{
    return cli_error(EXIT_NOT_FOUND, "there is no store in %s yet; factory run makes it",
                     cli->config->data_dir);
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
    return str_eq(err.name, "DUR_NOT_FOUND") ? no_store(cli) : cli_fail(&err);
}

static int find_config(struct cli *cli)
{
    struct err err = {0};
    int rc = cli->config ? 0 : config_load_lenient(cli->config_path, &cli->config, &err);
    if (rc < 0) {
        return cli_fail(&err);
    }
    if (rc > 0) {
        cli->config_is_guess = true;
        cli_note(
            "the configuration does not validate (factory config validate says why); looking in %s",
            config_is_remote(cli->config) ? cli->config->host_port : cli->config->data_dir);
    }
    return EXIT_OK;
}

int cli_look_for_store(struct cli *cli)
{
    struct err err = {0};
    struct stat st;
    int status = find_config(cli);
    if (status != EXIT_OK || config_is_remote(cli->config)) {
        return status;
    }
    autofree char *path = config_database_path(cli->config);
    if (stat(path, &st) == 0) {
        return EXIT_OK;
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        return no_store(cli);
    }
    err_sys(&err, errno, "OpenFailed", "cannot look at %s", path);
    return cli_fail(&err);
}

int cli_look(struct cli *cli, bool write)
{
    struct err err = {0};
    int status = cli->engine ? EXIT_OK : cli_look_for_store(cli);
    if (status != EXIT_OK || cli->engine) {
        return status;
    }
    bool read_only = !write || config_is_remote(cli->config); /* there no file is written */
    return factory_open_engine(cli->config, read_only, 0, &cli->engine, &err) < 0 ? cli_fail(&err)
                                                                                  : EXIT_OK;
}

void cli_print(const struct str *text)
{
    struct err err = {0};
    errno = 0;
    if (fwrite(str_c(text), 1, text->len, stdout) == text->len && fflush(stdout) == 0) {
        return;
    }
    if (errno != EPIPE) {
        err_sys(&err, errno, "WriteFailed", "cannot write to standard output");
        cli_fail(&err);
    }
    _exit(EXIT_ERROR);
}

struct json_out cli_json_begin(struct str *out)
{
    struct json_out w = json_writer(out, 2);
    json_begin_object(&w);
    json_kv_i64(&w, "schema", 1);
    return w;
}

void cli_json_end(struct json_out *w)
{
    json_end_object(w);
    str_addc(w->out, '\n');
}

size_t cli_width(void)
{
    const char *columns = getenv("COLUMNS");
    bool known = term_is_tty(STDOUT_FILENO) || (columns && *columns);
    return known ? (size_t)term_width(STDOUT_FILENO) : TERM_WIDTH_MAX;
}

bool cli_colour(void)
{
    return term_colour(STDOUT_FILENO);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

void cli_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

void cli_pause_ms(int ms)
{
    if (!interrupted) {
        poll(NULL, 0, ms);
    }
}
