/*
 * cmd_config.c - factory config validate | show.
 *
 * Owns: saying whether the configuration is good (every problem at once) and what it amounts to.
 * Must not: look at this machine; factory doctor does. Needs no store. Tests:
 * tests/cli/t0120-config.sh
 */
#include <string.h>

#include "base/json.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"

static const struct cmd_option options[] = {
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

/* One string a problem; its second line ("  write: ...") belongs to it. */
static void put_problems(struct json_out *w, const char *text)
{
    json_key(w, "problems");
    json_begin_array(w);
    while (*text) {
        const char *end = text + strcspn(text, "\n");
        while (*end && str_starts(end, "\n  ")) {
            end += 1 + strcspn(end + 1, "\n");
        }
        json_put_strn(w, text, (size_t)(end - text));
        text = *end ? end + 1 : end;
    }
    json_end_array(w);
}

static void put_names(struct json_out *w, const struct config *c)
{
    json_key(w, "agents");
    json_begin_array(w);
    for (size_t i = 0; i < c->harness_count; i++) {
        json_put_str(w, c->harnesses[i].name);
    }
    json_end_array(w);
    json_key(w, "profiles");
    json_begin_array(w);
    for (size_t i = 0; i < c->profile_count; i++) {
        json_put_str(w, c->profiles[i].name);
    }
    json_end_array(w);
}

static void print_json(const char *file, const struct config *c, const struct str *problems)
{
    autostr struct str out = {0};
    struct json_out w = cli_json_begin(&out);
    json_kv_bool(&w, "ok", c != NULL);
    json_kv_str(&w, "file", file);
    if (c) {
        put_names(&w, c);
        json_kv_str(&w, "digest", c->digest);
    }
    put_problems(&w, str_c(problems));
    cli_json_end(&w);
    cli_print(&out);
}

static void print_text(const char *file, const struct config *c)
{
    autostr struct str out = {0};
    str_addf(&out, "configuration ok: %s, %zu agent%s, %zu profile%s, digest %.12s\n", file,
             c->harness_count, c->harness_count == 1 ? "" : "s", c->profile_count,
             c->profile_count == 1 ? "" : "s", c->digest);
    if (c->harness_count == 0) {
        str_add(&out, "  no agent is declared; factory run needs one: [harnesses.NAME]\n");
    }
    if (c->profile_count == 0) {
        str_add(&out,
                "  no gates are declared; factory run needs some: [verification.NAME.GATE]\n");
    }
    cli_print(&out);
}

static int validate(struct cli *cli, struct args *args)
{
    autostr struct str problems = {0};
    const char *file = config_find(cli->config_path);
    if (!file) {
        return cli_error(EXIT_CONFIG,
                         "there is no " CONFIG_FILE_NAME " here; factory init makes one");
    }
    int count = config_check(cli->config_path, &cli->config, &problems);
    if (args_has(args, "json")) {
        print_json(file, cli->config, &problems);
    } else if (count == 0) {
        print_text(file, cli->config);
    } else {
        cli_error(EXIT_CONFIG, "%s", str_c(&problems));
    }
    return count ? EXIT_CONFIG : EXIT_OK;
}

static int show(struct cli *cli)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    int status = cli_config(cli);
    if (status != EXIT_OK) {
        return status;
    }
    json_begin_object(&w);
    json_kv_i64(&w, "schema", 1);
    json_kv_str(&w, "file", *cli->config->path ? cli->config->path : NULL);
    json_kv_str(&w, "digest", cli->config->digest);
    json_key(&w, "config");
    config_print(&w, cli->config);
    cli_json_end(&w);
    cli_print(&out);
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    if (str_eq(args->words[0], "validate")) {
        return validate(cli, args);
    }
    if (str_eq(args->words[0], "show")) {
        return show(cli);
    }
    return cli_error(EXIT_USAGE, "config: expected validate or show, found %s", args->words[0]);
}

const struct cmd cmd_config = {
    .name = "config",
    .words = "validate|show",
    .summary = "check or print the configuration",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
