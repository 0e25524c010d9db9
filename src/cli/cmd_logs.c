/*
 * cmd_logs.c - factory logs: what the agent, or a gate, printed; also while it prints.
 *
 * Owns: the choice of the file, its last lines, following it. A log is evidence: scrubbed, and
 * begun anew when an attempt is repeated (then the output is told again from its beginning). Must
 * not: write.
 * Tests: tests/cli/t0630-logs.sh
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/format.h"
#include "cli/result.h"
#include "cli/view.h"

#define TAIL_DEFAULT 40
#define TAIL_MAX 10000000
#define CHUNK_BYTES 65536
#define TICK_MS 100
#define ASK_SERVER_NS NS_PER_S

static const struct cmd_option options[] = {
    {"follow", 'f', NULL, "until the agent (or gate) has ended"},
    {"tail", 'n', "N", "last N lines; default: 40, 0: all"},
    {"stderr", 0, NULL, "standard error instead of standard output"},
    {"gate", 0, "ID", "of this gate instead of the agent"},
    {"json", 0, NULL, "one JSON object a line"},
    {0},
};

struct reader {
    struct cli *cli;
    const char *workflow_id, *run_id, *stream; /* "agent/stdout.log" */
    char *path;
    long long tail;
    bool json, is_tty;
    int fd;
    ino_t inode;
    off_t at;
    int64_t ask_ns;     /* not before: whether the run is over */
    struct str partial; /* JSON: the line that has not ended yet */
};

/* --- output ----------------------------------------------------------------------------------- */

static void put_line(struct reader *r, const char *line, size_t len)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 0);
    json_begin_object(&w);
    json_kv_i64(&w, "schema", 1);
    json_kv_str(&w, "run_id", r->run_id);
    json_kv_str(&w, "log", r->stream);
    json_kv_strn(&w, "line", line, len);
    json_end_object(&w);
    str_addc(&out, '\n');
    cli_print(&out);
}

/* On a terminal what the agent printed must not command the terminal. */
static void put_text(const char *bytes, size_t len)
{
    autostr struct str out = {0};
    while (len) {
        const char *end = memchr(bytes, '\n', len);
        size_t line = end ? (size_t)(end - bytes) : len;
        format_clean(&out, bytes, line);
        if (end) {
            str_addc(&out, '\n');
        }
        bytes += line + (end != NULL);
        len -= line + (end != NULL);
    }
    cli_print(&out);
}

static void put(struct reader *r, const char *bytes, size_t len)
{
    if (r->json) {
        for (const char *end; (end = memchr(bytes, '\n', len));) {
            str_addn(&r->partial, bytes, (size_t)(end - bytes));
            put_line(r, str_c(&r->partial), r->partial.len);
            str_reset(&r->partial);
            len -= (size_t)(end - bytes) + 1;
            bytes = end + 1;
        }
        str_addn(&r->partial, bytes, len);
    } else if (r->is_tty) {
        put_text(bytes, len);
    } else {
        struct str view = {.ptr = (char *)(uintptr_t)bytes, .len = len};
        cli_print(&view);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

/* Offset where the last `lines` lines begin. */
static off_t tail_offset(int fd, off_t size, long long lines)
{
    char bytes[4096];
    off_t end = size;
    long long seen = 0;
    while (end > 0) {
        off_t from = end > (off_t)sizeof(bytes) ? end - (off_t)sizeof(bytes) : 0;
        ssize_t got = pread(fd, bytes, (size_t)(end - from), from);
        if (got <= 0) {
            return 0;
        }
        for (ssize_t i = got - 1; i >= 0; i--) {
            if (bytes[i] == '\n' && from + i != size - 1 && ++seen == lines) {
                return from + i + 1;
            }
        }
        end = from;
    }
    return 0;
}

/* 0; 1: not there (yet). */
static int open_file(struct reader *r)
{
    struct stat st;
    if (r->fd >= 0) {
        return 0;
    }
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (r->fd < 0 || fstat(r->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        return 1;
    }
    r->inode = st.st_ino;
    r->at = r->tail ? tail_offset(r->fd, st.st_size, r->tail) : 0;
    return 0;
}

/* What is there beyond r->at; true: something was. */
static bool copy(struct reader *r)
{
    char bytes[CHUNK_BYTES];
    ssize_t got;
    bool some = false;
    while ((got = pread(r->fd, bytes, sizeof(bytes), r->at)) > 0) {
        put(r, bytes, (size_t)got);
        r->at += got;
        some = true;
    }
    return some;
}

/* An attempt that is repeated begins the log anew: so do we. */
static void notice_new_beginning(struct reader *r)
{
    struct stat now, ours;
    if (stat(r->path, &now) < 0 || fstat(r->fd, &ours) < 0) {
        return;
    }
    if (now.st_ino != r->inode || ours.st_size < r->at) {
        cli_note("the log begins anew: the attempt is repeated");
        close(r->fd);
        r->fd = -1;
        r->tail = 0;
        str_reset(&r->partial);
    }
}

/* --- following -------------------------------------------------------------------------------- */

/* Will nothing be added any more? The step that writes it is past. */
static int is_complete(struct reader *r, bool *ret)
{
    autoarena struct arena *arena = arena_new();
    dur_description *d = NULL;
    struct view view;
    bool is_remote = config_is_remote(r->cli->config);
    int64_t now_ns = clock_mono_ns();
    if (is_remote && now_ns < r->ask_ns) {
        return EXIT_OK; /* a server is not asked at every look into a file */
    }
    r->ask_ns = now_ns + ASK_SERVER_NS;
    int rc = dur_describe(r->cli->engine, r->workflow_id, &d);
    if (is_remote && rc == DUR_IO) {
        return EXIT_OK; /* it is away; the log is here */
    }
    if (rc != DUR_OK) {
        return cli_error(EXIT_ERROR, "%s", dur_error(r->cli->engine));
    }
    view_read(arena, d, &view);
    dur_description_free(d);
    bool is_agent = str_starts(r->stream, "agent/");
    bool past_agent = view.agent_result && !str_eq(view.agent_result, "SKIPPED");
    *ret = view.is_over || (is_agent && past_agent);
    return EXIT_OK;
}

static int follow(struct reader *r)
{
    bool complete = false;
    int status = EXIT_OK;
    cli_catch_interrupt();
    while (status == EXIT_OK && !cli_interrupted()) {
        bool was_complete = complete;
        status = is_complete(r, &complete); /* before reading: what came until then is read */
        if (open_file(r) == 0) {
            notice_new_beginning(r);
        }
        bool some = open_file(r) == 0 && copy(r);
        if (was_complete && !some) {
            return EXIT_OK;
        }
        if (!some && !complete) {
            cli_pause_ms(TICK_MS);
        }
    }
    return cli_interrupted() ? EXIT_DETACHED : status;
}

static int nothing_yet(struct reader *r, const struct view *view)
{
    autofree char *dir = result_path(r->cli->config->data_dir, r->run_id, "");
    if (!view->is_over) {
        return cli_error(EXIT_NOT_FOUND, "run %s has no %s yet (it is at step %s); -f waits for it",
                         r->run_id, r->stream, view->step);
    }
    return cli_error(EXIT_NOT_FOUND, "run %s has no %s; its evidence is in %s", r->run_id,
                     r->stream, dir);
}

static int show(struct reader *r, const struct view *view, bool following)
{
    if (following) {
        return follow(r);
    }
    if (open_file(r) != 0) {
        return nothing_yet(r, view);
    }
    if (!copy(r) && r->is_tty) {
        cli_note("%s is empty%s", r->stream,
                 str_ends(r->stream, "stdout.log") ? "; --stderr shows the other stream" : "");
    }
    return EXIT_OK;
}

static int choose(struct reader *r, struct args *args, struct arena *arena)
{
    const char *gate = args_get(args, "gate");
    const char *stream = args_has(args, "stderr") ? "stderr" : "stdout";
    if (gate && !fs_name_is_plain(gate)) {
        return cli_error(EXIT_USAGE, "logs: --gate: that is no name of a gate");
    }
    r->stream = gate ? arena_printf(arena, "verification/%s.%s", gate, stream)
                     : arena_printf(arena, "agent/%s.log", stream);
    return EXIT_OK;
}

/* By id, or its beginning; also when the server is away and the id is whole: evidence is here. */
static int find(struct reader *r, struct arena *arena, const char *word, struct view *view)
{
    struct cli *cli = r->cli;
    int status = cli_look(cli, false);
    if (status == EXIT_BUSY && config_is_remote(cli->config) && fs_name_is_plain(word)) {
        autofree char *dir = result_path(cli->config->data_dir, word, "");
        *view = (struct view){.run_id = word, .is_over = true, .step = ""};
        return fs_is_dir(dir) ? EXIT_OK : status;
    }
    if (status == EXIT_OK && (status = find_run(cli, arena, word, &r->workflow_id)) == EXIT_OK) {
        status = view_load(cli, arena, r->workflow_id, view);
    }
    return status;
}

static int exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    struct view view;
    struct reader r = {.cli = cli,
                       .fd = -1,
                       .json = args_has(args, "json"),
                       .tail = TAIL_DEFAULT,
                       .is_tty = term_is_tty(STDOUT_FILENO)};
    int status = args_number(cli, args, "tail", 0, TAIL_MAX, &r.tail);
    if (status != EXIT_OK || (status = choose(&r, args, arena)) ||
        (status = find(&r, arena, args->words[0], &view))) {
        return status;
    }
    r.run_id = view.run_id;
    r.path = result_path(cli->config->data_dir, r.run_id, r.stream);
    status = show(&r, &view, args_has(args, "follow") && r.workflow_id);
    if (r.partial.len) {
        put_line(&r, str_c(&r.partial), r.partial.len);
    }
    if (r.fd >= 0) {
        close(r.fd);
    }
    free(r.path);
    str_free(&r.partial);
    return status;
}

const struct cmd cmd_logs = {
    .name = "logs",
    .words = "RUN",
    .summary = "what the agent or a gate printed",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
