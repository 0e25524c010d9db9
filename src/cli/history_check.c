/*
 * history_check.c - factory history validate | diff: is it a history, and are two the same?
 *
 * Owns: these verbs and how they report. Exit status 1: not valid, not the same.
 * Tests: tests/cli/t0655-history-files.sh
 */
#include "base/json.h"
#include "base/term.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/history.h"

#define TYPE_COLUMNS 28

/* --- validate --------------------------------------------------------------------------------- */

static const struct cmd_option validate_options[] = {VERB_JSON, VERB_PLACE, {0}};

struct report {
    bool json;
    struct str out;
    struct json_out w;
};

static void put_json(struct report *r, const char *word, const struct admin_verdict *v,
                     const char *error)
{
    json_begin_object(&r->w);
    json_kv_str(&r->w, "source", word);
    json_kv_bool(&r->w, "valid", !error);
    json_kv_i64(&r->w, "events", v->events);
    json_kv_str(&r->w, "form", v->protobuf ? "proto" : "json");
    json_kv_bool(&r->w, "closed", v->closed);
    json_kv_str(&r->w, "workflow_type", v->workflow_type);
    json_kv_str(&r->w, "error", error);
    json_key(&r->w, "warnings");
    json_begin_array(&r->w);
    for (const char *at = v->warnings ? v->warnings : ""; *at;) {
        size_t len = strcspn(at, "\n");
        if (len > 0) {
            json_put_strn(&r->w, at, len);
        }
        at += len + (at[len] == '\n');
    }
    json_end_array(&r->w);
    json_end_object(&r->w);
}

static void put_text(struct report *r, const char *word, const struct admin_verdict *v,
                     const char *error)
{
    autostr struct str text = {0};
    if (error) {
        str_addf(&text, "%s: refused: %s", word, error);
    } else {
        str_addf(&text, "%s: valid, ", word);
        format_count(&text, v->events, "event");
        str_addf(&text, ", %s%s", v->closed ? "closed" : "open",
                 v->warnings ? ", with warnings" : "");
    }
    format_clean(&r->out, text.ptr, text.len);
    str_addc(&r->out, '\n');
    for (const char *at = v->warnings ? v->warnings : ""; *at;) {
        size_t len = strcspn(at, "\n");
        if (len > 0) {
            str_add(&r->out, "  ");
            format_clean(&r->out, at, len);
            str_addc(&r->out, '\n');
        }
        at += len + (at[len] == '\n');
    }
}

/* One word; a file that is no history is a finding like any other, one that is not there is not. */
static int validate(struct cli *cli, struct args *args, const char *word, struct report *r)
{
    autoloaded struct admin_loaded *loaded = NULL;
    autostr struct str bytes = {0};
    struct admin_verdict verdict = {0};
    struct err err = {0};
    const char *error = NULL;
    int status = EXIT_OK;
    if (!history_word_is_file(word)) {
        status = history_load(cli, args, word, &loaded);
    } else if ((status = history_read_file(word, &bytes)) == EXIT_OK &&
               admin_load_bytes(str_c(&bytes), bytes.len, &loaded, &err) < 0) {
        error = err.text;
    }
    if (status != EXIT_OK) {
        return status;
    }
    if (loaded) {
        admin_loaded_judge(loaded, &verdict);
        error = verdict.error;
    }
    if (r->json) {
        put_json(r, word, &verdict, error);
    } else {
        put_text(r, word, &verdict, error);
    }
    return error ? EXIT_ERROR : EXIT_OK;
}

static int validate_exec(struct cli *cli, struct args *args)
{
    struct report r = {.json = args_has(args, "json")};
    int status = EXIT_OK;
    r.w = json_writer(&r.out, 2);
    if (r.json) {
        json_begin_object(&r.w);
        json_kv_i64(&r.w, "schema", 1);
        json_key(&r.w, "histories");
        json_begin_array(&r.w);
    }
    for (int i = 0; i < args->count; i++) {
        int one = validate(cli, args, args->words[i], &r);
        status = one > status ? one : status;
    }
    if (r.json) {
        json_end_array(&r.w);
        json_end_object(&r.w);
        str_addc(&r.out, '\n');
    }
    cli_print(&r.out);
    str_free(&r.out);
    return status;
}

const struct cmd history_verb_validate = {
    .name = "history validate",
    .words = "RUN|FILE...",
    .summary = "check the order of events by Temporal's rules",
    .min_words = 1,
    .max_words = -1,
    .options = validate_options,
    .exec = validate_exec,
};

/* --- diff ------------------------------------------------------------------------------------- */

static const struct cmd_option diff_options[] = {
    {"all", 'a', NULL, "ids, times and identities count too"}, VERB_JSON, VERB_PLACE, {0}};

static void print_rows(const struct admin_differences *d, size_t width, struct str *out)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct admin_difference *row = &d->rows[i];
        autostr struct str line = {0};
        bool both = row->left_id && row->right_id;
        str_addf(&line, "%c %4lld  ",
                 both           ? '!'
                 : row->left_id ? '<'
                                : '>',
                 (long long)(row->left_id ? row->left_id : row->right_id));
        if (both || row->name) {
            format_pad(&line, row->type, TYPE_COLUMNS);
            str_add(&line, "  ");
        } else {
            str_add(&line, row->type);
        }
        const char *text = both ? row->what : row->name ? row->name : "";
        format_clean(&line, text, strlen(text));
        format_cut(out, str_c(&line), width);
        str_addc(out, '\n');
    }
}

static void print_json(const struct admin_differences *d, struct str *out)
{
    struct json_out w = json_writer(out, 2);
    json_begin_object(&w);
    json_kv_i64(&w, "schema", 1);
    json_kv_bool(&w, "same", d->count == 0);
    json_key(&w, "differences");
    json_begin_array(&w);
    for (size_t i = 0; i < d->count; i++) {
        const struct admin_difference *row = &d->rows[i];
        json_begin_object(&w);
        json_kv_i64_opt(&w, "left_event", row->left_id);
        json_kv_i64_opt(&w, "right_event", row->right_id);
        json_kv_str(&w, "type", row->type);
        json_kv_str_opt(&w, "name", row->name);
        json_kv_str_opt(&w, "difference", row->what);
        json_end_object(&w);
    }
    json_end_array(&w);
    json_end_object(&w);
    str_addc(out, '\n');
}

static int diff_exec(struct cli *cli, struct args *args)
{
    autoloaded struct admin_loaded *left = NULL;
    autoloaded struct admin_loaded *right = NULL;
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct admin_differences d;
    if (str_eq(args->words[0], "-") && str_eq(args->words[1], "-")) {
        return cli_error(EXIT_USAGE, "history diff: standard input can be read only once");
    }
    int status = history_load(cli, args, args->words[0], &left);
    if (status != EXIT_OK ||
        (status = history_load(cli, args, args->words[1], &right)) != EXIT_OK) {
        return status;
    }
    admin_diff(left, right, args_has(args, "all"), arena, &d);
    if (args_has(args, "json")) {
        print_json(&d, &out);
    } else {
        print_rows(&d, cli_width(), &out);
        if (d.count == 0) {
            str_add(&out, "the same");
        } else {
            format_count(&out, (int64_t)d.count, "difference");
        }
        str_addc(&out, '\n');
    }
    cli_print(&out);
    return d.count == 0 ? EXIT_OK : EXIT_ERROR;
}

const struct cmd history_verb_diff = {
    .name = "history diff",
    .words = "RUN|FILE RUN|FILE",
    .summary = "what differs between two histories, event by event",
    .min_words = 2,
    .max_words = 2,
    .options = diff_options,
    .exec = diff_exec,
};
