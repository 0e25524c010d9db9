/*
 * cmd_init.c - factory init: a first factory.ini.
 *
 * Owns: writing the sample that is embedded at build time (factory.ini.sample,
 * build-aux/embed-text). Must not: replace a file without --force. Tests: tests/cli/t0110-init.sh
 */
#include <fcntl.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"

extern const char factory_ini_sample[]; /* src/cli/sample.c, generated */

static const struct cmd_option options[] = {
    {"force", 'f', NULL, "replace a file that is there"},
    {0},
};

static int exec(struct cli *cli, struct args *args)
{
    struct err err = {0};
    autostr struct str out = {0};
    const char *path = cli->config_path && *cli->config_path ? cli->config_path : CONFIG_FILE_NAME;
    autofree char *dir = fs_dirname(path);
    autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return cli_error(EXIT_ERROR, "%s: no such directory", dir);
    }
    if (fs_write_file_at(fd, fs_basename(path), factory_ini_sample, strlen(factory_ini_sample),
                         0644, args_has(args, "force") ? 0 : FS_EXCLUSIVE, &err) < 0) {
        return str_eq(err.name, "FileExists")
                   ? cli_error(EXIT_ERROR, "%s is there already; factory init --force replaces it",
                               path)
                   : cli_fail(&err);
    }
    str_addf(&out, "wrote %s: declare your agent and gates in it\nnext: factory doctor\n", path);
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd cmd_init = {
    .name = "init",
    .words = "",
    .summary = "write a factory.ini to begin with",
    .options = options,
    .exec = exec,
};
