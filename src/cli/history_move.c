/*
 * history_move.c - factory history export | import: histories out of a store and into one.
 *
 * Owns: these verbs. An exported file appears under its name when it is whole.
 * Tests: tests/cli/t0655-history-files.sh
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/history.h"

/* --- export ----------------------------------------------------------------------------------- */

static const struct cmd_option export_options[] = {
    {"output", 'o', "FILE", "write there; default: standard output"},
    {"format", 0, "FORMAT", "json (default) or proto: protobuf's binary form"},
    VERB_PLACE,
    {"json", 0, NULL, "with --output: say as JSON what was written"},
    {0},
};

struct sink {
    int fd;
    int64_t bytes;
    struct err err;
};

static int take(void *user, const void *bytes, size_t len)
{
    struct sink *sink = user;
    sink->bytes += (int64_t)len;
    return fs_write_all(sink->fd, bytes, len, &sink->err) < 0;
}

static int export_to(struct cli *cli, const char *id, dur_form form, struct sink *sink)
{
    int rc = dur_export(cli->engine, id, form, take, sink);
    if (rc == DUR_OK) {
        return EXIT_OK;
    }
    return sink->err.text[0] ? cli_fail(&sink->err) : verb_fail(cli, rc);
}

static int export_to_file(struct cli *cli, const char *id, dur_form form, const char *path,
                          struct sink *sink)
{
    struct err err = {0};
    autofree char *part = mem_printf("%s.part", path);
    sink->fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (sink->fd < 0) {
        err_sys(&err, errno, "OpenFailed", "%s", part);
        return cli_fail(&err);
    }
    int status = export_to(cli, id, form, sink);
    if (status == EXIT_OK && (fsync(sink->fd) < 0 || rename(part, path) < 0)) {
        err_sys(&err, errno, "WriteFailed", "%s", path);
        status = cli_fail(&err);
    }
    close(sink->fd);
    if (status != EXIT_OK) {
        unlink(part);
    }
    return status;
}

static void report_export(struct args *args, const char *id, const char *path,
                          const struct sink *sink)
{
    autostr struct str out = {0}, text = {0};
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "id", id);
        json_kv_str(&w, "file", path);
        json_kv_i64(&w, "bytes", sink->bytes);
        json_end_object(&w);
    } else {
        str_addf(&text, "%s: ", path);
        format_bytes(&text, sink->bytes);
        format_clean(&out, text.ptr, text.len);
    }
    str_addc(&out, '\n');
    cli_print(&out);
}

static int export_exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    struct sink sink = {.fd = STDOUT_FILENO};
    const char *format = args_get(args, "format");
    const char *path = args_get(args, "output");
    const char *id;
    bool proto = str_eq(format, "proto");
    if (format && !proto && !str_eq(format, "json")) {
        return cli_error(EXIT_USAGE, "history export: the format is json or proto, not %s", format);
    }
    path = str_eq(path, "-") ? NULL : path;
    if (proto && !path && term_is_tty(STDOUT_FILENO)) {
        return cli_error(EXIT_USAGE, "history export: binary data does not go to a terminal; give "
                                     "--output FILE");
    }
    int status = history_find_run(cli, args, arena, args->words[0], &id);
    if (status != EXIT_OK) {
        return status;
    }
    dur_form form = proto ? DUR_FORM_PROTOBUF : DUR_FORM_JSON;
    status = path ? export_to_file(cli, id, form, path, &sink) : export_to(cli, id, form, &sink);
    if (status == EXIT_OK && path) {
        report_export(args, id, path, &sink);
    }
    return status;
}

const struct cmd history_verb_export = {
    .name = "history export",
    .words = "RUN",
    .summary = "write a run's history in a form that Temporal's tools read",
    .min_words = 1,
    .max_words = 1,
    .options = export_options,
    .exec = export_exec,
};

/* --- import ----------------------------------------------------------------------------------- */

static const struct cmd_option import_options[] = {
    {"id", 0, "ID", "workflow id to give it; default: its own"},
    {"db", 0, "PATH", "the store, made when there is none; default: the factory's"},
    {"keyring", 0, "FILE", "of --db: the keys that payloads are sealed with"},
    VERB_JSON,
    {0},
};

static int open_store(struct cli *cli, struct args *args)
{
    const char *path = args_get(args, "db");
    if (args_get(args, "keyring") && !path) {
        return cli_error(EXIT_USAGE, "--keyring goes with --db; the factory's own is [engine] "
                                     "payload_keyring");
    }
    if (!path) {
        return cli_look(cli, true);
    }
    int rc =
        dur_open(&cli->engine, path, &(dur_options){.keyring_file = args_get(args, "keyring")});
    return rc == DUR_OK ? EXIT_OK : verb_fail(cli, rc);
}

static int report_import(struct cli *cli, struct args *args, const char *run)
{
    autostr struct str out = {0}, text = {0};
    dur_description *d;
    int rc = dur_describe(cli->engine, run, &d);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "id", d->workflow_id);
        json_kv_str(&w, "run_id", d->run_id);
        json_kv_str(&w, "status", dur_status_name(d->status));
        json_kv_i64(&w, "events", d->history_events);
        json_end_object(&w);
    } else {
        str_addf(&text, "%s: ", run);
        format_count(&text, d->history_events, "event");
        str_addf(&text, ", %s", dur_status_name(d->status));
        format_clean(&out, text.ptr, text.len);
    }
    str_addc(&out, '\n');
    cli_print(&out);
    dur_description_free(d);
    return EXIT_OK;
}

static int import_exec(struct cli *cli, struct args *args)
{
    autostr struct str bytes = {0};
    const char *word = args->words[0];
    dur_import_options o = {.id = args_get(args, "id")};
    char *run = NULL;
    int status = history_read_file(word, &bytes);
    if (status != EXIT_OK || (status = open_store(cli, args)) != EXIT_OK) {
        return status;
    }
    int rc = dur_import(cli->engine, str_c(&bytes), bytes.len, &run, &o);
    if (rc == DUR_INVALID || rc == DUR_EXISTS) {
        return cli_error(EXIT_ERROR, "%s: %s", word, dur_error(cli->engine));
    }
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    status = report_import(cli, args, run);
    dur_free(run);
    return status;
}

const struct cmd history_verb_import = {
    .name = "history import",
    .words = "FILE",
    .summary = "take over a history that was recorded elsewhere",
    .min_words = 1,
    .max_words = 1,
    .options = import_options,
    .exec = import_exec,
};
