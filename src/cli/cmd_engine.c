/*
 * cmd_engine.c - factory engine VERB: any workflow of any store, as the engine sees it.
 *
 * Owns: the choice of the verb, its help, and what verbs share (verb.h). Must not: know a verb.
 * Tests: tests/cli/t0700-engine.sh
 */
#include <stdarg.h>

#include "base/json.h"
#include "cli/connect.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/verb.h"

#include "cli/verb_list.h"
#undef VERB

const struct cmd *const verb_table[] = {
#define VERB(name) &verb_##name,
#include "cli/verb_list.h"
#undef VERB
    NULL,
};

const char *verb_name(const struct cmd *verb)
{
    return verb->name + strlen("engine ");
}

static int print_verbs(void)
{
    autostr struct str out = {0};
    str_add(&out, "usage: factory engine VERB [options] ...\n"
                  "workflows of a store, as the engine sees them\n\n");
    for (size_t i = 0; verb_table[i]; i++) {
        str_addf(&out, "  %-12s %s\n", verb_name(verb_table[i]), verb_table[i]->summary);
    }
    str_add(&out, "\nfactory engine VERB --help says more.\n");
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd *verb_find(const char *name)
{
    for (size_t i = 0; verb_table[i]; i++) {
        if (str_eq(verb_name(verb_table[i]), name)) {
            return verb_table[i];
        }
    }
    return NULL;
}

static int no_verb(const char *name)
{
    const char *names[64];
    size_t count = 0;
    for (; verb_table[count] && count < ARRAY_LEN(names); count++) {
        names[count] = verb_name(verb_table[count]);
    }
    const char *near = str_nearest(name, names, count);
    return cli_error(EXIT_USAGE, "engine: no verb %s%s%s%s", name, near ? "; did you mean " : "",
                     near ? near : "", near ? "?" : " (factory engine --help lists them)");
}

static bool asks_help(const char *word)
{
    return str_eq(word, "--help") || str_eq(word, "-h");
}

static int exec(struct cli *cli, struct args *args)
{
    struct args verb_args;
    if (args->count == 0 || asks_help(args->words[0]) || str_eq(args->words[0], "help")) {
        return print_verbs();
    }
    const struct cmd *verb = verb_find(args->words[0]);
    if (!verb) {
        return no_verb(args->words[0]);
    }
    for (int i = 1; i < args->count && !str_eq(args->words[i], "--"); i++) {
        if (asks_help(args->words[i])) {
            autostr struct str out = {0};
            cmd_usage(&out, verb);
            cli_print(&out);
            return EXIT_OK;
        }
    }
    int status = args_parse(cli, verb, args->count - 1, args->words + 1, &verb_args);
    return status == EXIT_OK ? verb->exec(cli, &verb_args) : status;
}

int verb_open(struct cli *cli, const struct args *args, bool write)
{
    const char *path = args_get(args, "db"), *address = args_get(args, "address");
    if (path && address) {
        return cli_error(EXIT_USAGE, "--db and --address: say where the runs are, once");
    }
    if (args_get(args, "namespace") && !address) {
        return cli_error(EXIT_USAGE, "--namespace goes with --address");
    }
    if (args_get(args, "keyring") && !address && !path) {
        return cli_error(EXIT_USAGE, "--keyring goes with --db or --address; the factory's own is "
                                     "[engine] payload_keyring");
    }
    if (address) {
        return connect_to(cli, address, args_get(args, "namespace"), args_get(args, "keyring"));
    }
    if (!path) {
        return cli_look(cli, write);
    }
    int rc = dur_open(&cli->engine, path,
                      &(dur_options){.read_only = !write,
                                     .no_create = 1,
                                     .no_migrate = 1,
                                     .keyring_file = args_get(args, "keyring")});
    return rc == DUR_OK ? EXIT_OK : verb_fail(cli, rc);
}

bool verb_is_elsewhere(const struct args *args)
{
    return args_get(args, "db") || args_get(args, "address");
}

/* The store is locked, full, or of another version. */
static bool is_not_now(int code)
{
    return code == DUR_BUSY || code == DUR_FULL || code == DUR_NEWER || code == DUR_OLDER;
}

int verb_fail(struct cli *cli, int code)
{
    int status = code == DUR_NOT_FOUND ? EXIT_NOT_FOUND
                 : is_not_now(code)    ? EXIT_BUSY
                 : code == DUR_INVALID ? EXIT_USAGE
                                       : EXIT_ERROR;
    return cli_error(status, "%s", dur_error(cli->engine));
}

int verb_done(struct cli *cli, const struct args *args, const char *id, const char *fmt, ...)
{
    autostr struct str out = {0};
    autostr struct str text = {0};
    va_list ap;
    (void)cli;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "id", id);
        json_kv_str(&w, "done", str_c(&text));
        json_end_object(&w);
    } else {
        format_clean(&out, str_c(&text), text.len);
    }
    str_addc(&out, '\n');
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd cmd_engine = {
    .name = "engine",
    .words = "VERB ...",
    .summary = "workflows of a store, as the engine sees them",
    .max_words = -1,
    .raw = true,
    .exec = exec,
};
