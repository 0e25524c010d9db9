/*
 * cmd_version.c - factory version: the program's and the library's version.
 * Tests: tests/cli/t0001-version.sh
 */
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "factory/factory.h"

static const struct cmd_option options[] = {
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

static int exec(struct cli *cli, struct args *args)
{
    autostr struct str out = {0};
    (void)cli;
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "factory", FACTORY_VERSION);
        json_kv_str(&w, "libdurable", dur_version());
        cli_json_end(&w);
    } else {
        str_addf(&out, "factory %s, libdurable %s\n", FACTORY_VERSION, dur_version());
    }
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd cmd_version = {
    .name = "version",
    .words = "",
    .summary = "print versions",
    .options = options,
    .exec = exec,
};
