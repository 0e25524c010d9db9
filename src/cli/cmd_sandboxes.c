/*
 * cmd_sandboxes.c - factory sandboxes [list | destroy ID | cleanup].
 *
 * Owns: showing what exists and whose it is (factory/fleet.h), and removing it on request. Works
 * while factory.ini does not validate and while no engine runs: what is left behind must always be
 * removable. Must not: touch a foreign sandbox or an open run's without --force.
 * Tests: tests/cli/t0210-sandboxes.sh
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "factory/factory.h"
#include "factory/fleet.h"

struct place {
    struct provider *provider;
    struct fleet fleet;
    bool has_ledger;
    bool readable; /* where runs live could be asked, or there is nothing yet */
};

static const struct cmd_option options[] = {
    {"json", 0, NULL, "JSON instead of text"},
    {"yes", 'y', NULL, "cleanup: do it; without, only say what would be destroyed"},
    {"force", 'f', NULL, "destroy: also one that an open run owns, or a foreign one"},
    {0},
};

static int load_config(struct cli *cli)
{
    struct err err = {0};
    int rc = config_load_lenient(cli->config_path, &cli->config, &err);
    if (rc > 0) {
        cli_note("the configuration does not validate; only its data_dir is used (%s)",
                 cli->config->data_dir);
    }
    return rc < 0 ? cli_fail(&err) : EXIT_OK;
}

/* Never creates anything: a data directory that is not there has no sandboxes. */
static int look(struct cli *cli, struct place *place)
{
    struct err err = {0};
    autofree char *database = config_database_path(cli->config);
    autofree char *store_id = NULL;
    autofree char *engine_name = factory_engine_name(cli->config);
    *place = (struct place){.readable = true};
    if (!fs_is_dir(cli->config->data_dir)) {
        return EXIT_OK;
    }
    place->provider = factory_provider(cli->config);
    place->has_ledger = fs_exists(database);
    bool is_there = place->has_ledger || config_is_remote(cli->config);
    if (is_there && factory_open_engine(cli->config, true, 0, &cli->engine, &err) < 0) {
        place->readable = false;
        cli_note("%s; whose sandboxes these are is not known", err.text);
    }
    factory_store_id(cli->config->data_dir, false, &store_id, NULL);
    const struct fleet_owner owner = {.store_id = store_id,
                                      .engine = is_there && place->readable ? cli->engine : NULL,
                                      .readable = place->readable,
                                      .engine_name = engine_name};
    if (fleet_look(place->provider, &owner, &place->fleet, &err)) {
        return cli_fail(&err);
    }
    return EXIT_OK;
}

static void leave(struct place *place)
{
    fleet_free(&place->fleet);
    provider_free(place->provider);
}

static const char *label(const struct sandbox_info *info, const char *key)
{
    const char *value = sandbox_info_label(info, key);
    return value ? value : "-";
}

/* --- list ------------------------------------------------------------------------------------- */

static void print_json(const struct fleet *fleet)
{
    autostr struct str out = {0};
    struct json_out w = cli_json_begin(&out);
    for (int i = 0; i < FLEET_CLASSES; i++) {
        json_kv_i64(&w, fleet_class_name((enum fleet_class)i), (int64_t)fleet->counts[i]);
    }
    json_key(&w, "sandboxes");
    json_begin_array(&w);
    for (size_t i = 0; i < fleet->list.count; i++) {
        const struct sandbox_info *info = &fleet->list.items[i];
        autostr struct str created = {0};
        time_format_rfc3339(&created, info->created_ns);
        json_begin_object(&w);
        json_kv_str(&w, "id", info->id);
        json_kv_str(&w, "provider", info->provider);
        json_kv_str(&w, "class", fleet_class_name(fleet->classes[i]));
        json_kv_str(&w, "state", sandbox_state_name(info->state));
        json_kv_str(&w, "run_id", sandbox_info_label(info, LABEL_RUN));
        json_kv_str(&w, "execution_id", sandbox_info_label(info, LABEL_EXECUTION));
        json_kv_str(&w, "role", sandbox_info_label(info, LABEL_ROLE));
        json_kv_str(&w, "created", info->created_ns ? str_c(&created) : NULL);
        json_kv_str(&w, "ended", info->ended);
        json_end_object(&w);
    }
    json_end_array(&w);
    cli_json_end(&w);
    cli_print(&out);
}

static void add_age(struct str *out, int64_t created_ns)
{
    int64_t s = (clock_wall_ns() - created_ns) / NS_PER_S;
    autofree char *text = s < 0 || created_ns == 0 ? mem_strdup("-")
                          : s < 120                ? mem_printf("%llds", (long long)s)
                          : s < 7200               ? mem_printf("%lldm", (long long)s / 60)
                          : s < 172800             ? mem_printf("%lldh", (long long)s / 3600)
                                                   : mem_printf("%lldd", (long long)s / 86400);
    str_addf(out, "%-5s", text);
}

static void add_row(struct str *out, const struct fleet *fleet, size_t i, size_t width)
{
    const struct sandbox_info *info = &fleet->list.items[i];
    autostr struct str line = {0};
    str_addf(&line, "%-24s %-9s ", info->id, fleet_class_name(fleet->classes[i]));
    add_age(&line, info->created_ns);
    str_addf(&line, "%-6s %s", label(info, LABEL_ROLE), label(info, LABEL_RUN));
    if (width && term_columns(str_c(&line), line.len) > width) {
        str_cut(&line, term_prefix(str_c(&line), line.len, width - 1));
        str_add(&line, "…");
    }
    str_addf(out, "%s\n", str_c(&line));
    if (info->state != SANDBOX_RUNNING) {
        str_addf(out, "  %s%s%s\n", sandbox_state_name(info->state), info->ended ? ": " : "",
                 info->ended ? info->ended : "");
    }
}

static void print_table(const struct fleet *fleet)
{
    autostr struct str out = {0};
    bool cut = term_is_tty(STDOUT_FILENO); /* in a pipe everything is shown */
    str_add(&out, fleet->list.count ? "SANDBOX                  CLASS     AGE  ROLE   RUN\n"
                                    : "no sandboxes\n");
    for (size_t i = 0; i < fleet->list.count; i++) {
        add_row(&out, fleet, i, cut ? (size_t)term_width(STDOUT_FILENO) : 0);
    }
    if (fleet->counts[FLEET_ORPHANED]) {
        str_addf(&out, "%zu orphaned: factory sandboxes cleanup\n", fleet->counts[FLEET_ORPHANED]);
    }
    cli_print(&out);
}

static int list(struct args *args, const struct place *place)
{
    if (args_has(args, "json")) {
        print_json(&place->fleet);
    } else {
        print_table(&place->fleet);
    }
    return place->fleet.counts[FLEET_ORPHANED] ? EXIT_ERROR : EXIT_OK;
}

/* --- destroy ---------------------------------------------------------------------------------- */

/* 0, or -1 after the error was printed. The ledger learns of it when there is one. */
static int destroy_one(struct cli *cli, const struct place *place, const char *id)
{
    struct err err = {0};
    autofree char *database = config_database_path(cli->config);
    autoledger struct ledger *ledger = NULL;
    if (place->provider->ops->destroy(place->provider, id, &err) < 0) {
        cli_error(EXIT_ERROR, "%s", err.text);
        return -1;
    }
    if (place->has_ledger && (place->readable || config_is_remote(cli->config)) &&
        (ledger_open(database, false, &ledger, &err) < 0 ||
         ledger_sandbox_destroyed(ledger, id, &err) < 0)) {
        cli_note("%s is destroyed, but that could not be noted: %s", id, err.text);
    }
    return 0;
}

static int say_destroyed(struct args *args, const char *const *ids, size_t count, bool done)
{
    autostr struct str out = {0};
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_bool(&w, "done", done);
        json_key(&w, done ? "destroyed" : "would_destroy");
        json_begin_array(&w);
        for (size_t i = 0; i < count; i++) {
            json_put_str(&w, ids[i]);
        }
        json_end_array(&w);
        cli_json_end(&w);
    } else {
        for (size_t i = 0; i < count; i++) {
            str_addf(&out, "%s %s\n", done ? "destroyed" : "would destroy", ids[i]);
        }
        if (count == 0) {
            str_add(&out, "nothing to destroy\n");
        } else if (!done) {
            str_add(&out, "factory sandboxes cleanup --yes does it\n");
        }
    }
    cli_print(&out);
    return EXIT_OK;
}

static int destroy(struct cli *cli, struct args *args, const struct place *place)
{
    const char *id = args->words[1];
    const struct fleet *fleet = &place->fleet;
    size_t at = 0;
    while (at < fleet->list.count && !str_eq(fleet->list.items[at].id, id)) {
        at++;
    }
    if (at == fleet->list.count) {
        return cli_error(EXIT_NOT_FOUND, "no sandbox %s; factory sandboxes lists them", id);
    }
    enum fleet_class class = fleet->classes[at];
    const char *run = label(&fleet->list.items[at], LABEL_RUN);
    if (!args_has(args, "force") && (class == FLEET_ACTIVE || class == FLEET_DEAD)) {
        return cli_error(EXIT_ERROR,
                         "%s belongs to %s, which is running; factory cancel %s ends both, "
                         "--force destroys the sandbox alone",
                         id, run, run);
    }
    if (!args_has(args, "force") && class != FLEET_ORPHANED) {
        return cli_error(EXIT_ERROR, "%s is %s; --force destroys it all the same", id,
                         fleet_class_name(class));
    }
    if (destroy_one(cli, place, id) < 0) {
        return EXIT_ERROR;
    }
    return say_destroyed(args, &id, 1, true);
}

static int cleanup(struct cli *cli, struct args *args, const struct place *place)
{
    const struct fleet *fleet = &place->fleet;
    autofree const char **ids = mem_array(fleet->list.count + 1, sizeof(*ids));
    bool yes = args_has(args, "yes");
    size_t count = 0;
    int status = EXIT_OK;
    for (size_t i = 0; i < fleet->list.count; i++) {
        const char *id = fleet->list.items[i].id;
        if (fleet->classes[i] != FLEET_ORPHANED) {
            continue;
        }
        if (yes && destroy_one(cli, place, id) < 0) {
            status = EXIT_ERROR;
            continue;
        }
        ids[count++] = id;
    }
    say_destroyed(args, ids, count, yes);
    return status;
}

static int exec(struct cli *cli, struct args *args)
{
    const char *what = args->count ? args->words[0] : "list";
    bool is_destroy = str_eq(what, "destroy");
    struct place place;
    if (!is_destroy && !str_eq(what, "list") && !str_eq(what, "cleanup")) {
        return cli_error(EXIT_USAGE, "sandboxes: expected list, destroy or cleanup, found %s",
                         what);
    }
    if (args->count != (is_destroy ? 2 : args->count ? 1 : 0)) {
        return cli_error(EXIT_USAGE, "usage: factory sandboxes %s%s", what,
                         is_destroy ? " ID" : "");
    }
    int status = load_config(cli);
    if (status != EXIT_OK) {
        return status;
    }
    status = look(cli, &place);
    if (status == EXIT_OK) {
        status = is_destroy                ? destroy(cli, args, &place)
                 : str_eq(what, "cleanup") ? cleanup(cli, args, &place)
                                           : list(args, &place);
    }
    leave(&place);
    return status;
}

const struct cmd cmd_sandboxes = {
    .name = "sandboxes",
    .words = "[list|destroy|cleanup] [ID]",
    .summary = "list and remove sandboxes",
    .max_words = 2,
    .options = options,
    .exec = exec,
};
