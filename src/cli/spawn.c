/*
 * spawn.c - see spawn.h.
 * Tests: tests/cli/t0400-worker.sh, t0601-run-engine.sh
 */
#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "factory/seat.h"

#define IDLE_EXIT_DEFAULT_MS 30000
#define STARTS_MAX 5    /* engines that one client starts before it gives up */
#define SETTLE_MS 10000 /* a detached run is picked up within a few; a slow disk needs more */
#define LAST_WORDS_BYTES 4096
#define FIRST_TURN_EVENTS                                                                          \
    3 /* started, task scheduled: written by the client; more by an engine                         \
       */

static int open_log(struct cli *cli, int *ret_fd)
{
    struct stat st = {0};
    autofree char *log = fs_join(cli->config->data_dir, "engine.log");
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0 || fstat(fd, &st) < 0) {
        struct err err = {0};
        err_sys(&err, errno, "WriteFailed", "cannot write %s", log);
        return cli_fail(&err);
    }
    cli->engine_log_from = st.st_size;
    *ret_fd = fd;
    return EXIT_OK;
}

bool spawn_is_served(struct cli *cli)
{
    /* A server learns of a worker by its first question, which takes a moment. */
    return (config_is_remote(cli->config) && seat_is_taken(cli->config->data_dir)) ||
           dur_served_by(cli->engine, NULL) != 0;
}

int spawn_engine(struct cli *cli)
{
    struct err err = {0};
    autoclose int fd = -1;
    int64_t idle_ms =
        cli->config->idle_exit_ms > 0 ? cli->config->idle_exit_ms : IDLE_EXIT_DEFAULT_MS;
    autofree char *self = NULL;
    autofree char *idle = mem_printf("%lldms", (long long)idle_ms);
    if (spawn_is_served(cli)) {
        return EXIT_OK;
    }
    if (fs_realpath("/proc/self/exe", &self, &err) < 0) {
        return cli_fail(&err);
    }
    int status = open_log(cli, &fd);
    if (status != EXIT_OK) {
        return status;
    }
    const char *with_config[] = {self, "--config", cli->config_path, "worker", "--idle-exit",
                                 idle, NULL};
    const char *plain[] = {self, "worker", "--idle-exit", idle, NULL};
    struct proc_spec spec = {.argv = cli->config_path ? with_config : plain,
                             .stdout_fd = fd,
                             .stderr_fd = fd,
                             .new_session = true};
    cli->engine_starts++;
    return proc_spawn(&spec, &cli->engine_pid, &err) < 0 ? cli_fail(&err) : EXIT_OK;
}

/* The last line that the engine which we started has written, without its program name. */
static void last_words(const struct cli *cli, struct str *ret)
{
    autofree char *log = fs_join(cli->config->data_dir, "engine.log");
    autoclose int fd = open(log, O_RDONLY | O_CLOEXEC);
    char bytes[LAST_WORDS_BYTES];
    ssize_t got = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), cli->engine_log_from);
    size_t len = got > 0 ? (size_t)got : 0;
    while (len && bytes[len - 1] == '\n') {
        len--;
    }
    size_t from = len;
    while (from && bytes[from - 1] != '\n') {
        from--;
    }
    size_t skip = strlen("factory: ");
    if (len - from > skip && strncmp(bytes + from, "factory: ", skip) == 0) {
        from += skip;
    }
    format_clean(ret, bytes + from, len - from);
}

static int give_up(struct cli *cli, int exit_code)
{
    autostr struct str words = {0};
    last_words(cli, &words);
    return cli_error(EXIT_ERROR,
                     "the engine did not start (status %d): %s\nthe run is kept; it goes on when an"
                     " engine serves %s (factory worker); its log is %s/engine.log",
                     exit_code, words.len ? str_c(&words) : "it said nothing",
                     cli->config->data_dir, cli->config->data_dir);
}

int spawn_keep(struct cli *cli, struct str *said)
{
    int exit_code = 0;
    if (cli->engine_pid > 0) {
        if (proc_wait(cli->engine_pid, 0, &exit_code, NULL) != 0) {
            return EXIT_OK; /* it lives: serves, starts, or stands by behind another */
        }
        cli->engine_pid = 0;
        if (spawn_is_served(cli)) {
            return EXIT_OK;
        }
        bool failed_itself = exit_code > 0 && exit_code < 128;
        if (failed_itself || cli->engine_starts >= STARTS_MAX) {
            return give_up(cli, exit_code);
        }
    } else if (spawn_is_served(cli)) {
        return EXIT_OK;
    }
    if (said) {
        str_add(said, exit_code >= 128 ? "the engine was killed; starting another"
                                       : "no engine serves any more; starting one");
    }
    int status = spawn_engine(cli);
    return status == EXIT_OK ? SPAWN_AGAIN : status;
}

int spawn_settle(struct cli *cli, const char *workflow_id)
{
    int64_t until = clock_mono_ns() + SETTLE_MS * NS_PER_MS;
    do {
        dur_description *d = NULL;
        if (dur_describe(cli->engine, workflow_id, &d) == DUR_OK) {
            bool taken = d->history_events >= FIRST_TURN_EVENTS || d->closed_ns != 0;
            dur_description_free(d);
            if (taken) {
                return EXIT_OK;
            }
        }
        int status = spawn_keep(cli, NULL);
        if (status != EXIT_OK && status != SPAWN_AGAIN) {
            return status;
        }
        cli_pause_ms(10);
    } while (clock_mono_ns() < until && !cli_interrupted());
    return EXIT_OK;
}
