/*
 * spawn.c - see spawn.h. Tests: tests/cli/t0400-worker.sh
 */
#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cli/exitcode.h"

int spawn_engine(struct cli *cli)
{
    struct err err = {0};
    pid_t pid;
    autofree char *log = fs_join(cli->config->data_dir, "engine.log");
    autofree char *self = NULL;
    autofree char *idle = mem_printf("%lldms", (long long)cli->config->idle_exit_ms);
    if (dur_served_by(cli->engine, NULL) != 0) {
        return EXIT_OK;
    }
    if (fs_realpath("/proc/self/exe", &self, &err) < 0) {
        return cli_fail(&err);
    }
    autoclose int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        return cli_error(EXIT_ERROR, "cannot write %s", log);
    }
    const char *with_config[] = {self, "--config", cli->config_path, "worker", "--idle-exit", idle,
                                 NULL};
    const char *plain[] = {self, "worker", "--idle-exit", idle, NULL};
    struct proc_spec spec = {.argv = cli->config_path ? with_config : plain, .stdout_fd = fd,
                             .stderr_fd = fd, .new_session = true};
    return proc_spawn(&spec, &pid, &err) < 0 ? cli_fail(&err) : EXIT_OK;
}
