/*
 * envd_job.c - jobs: commands that outlive whoever started them, and are started once.
 *
 * Owns: the wrapper script that makes a job's directory, and following it by byte offsets. Must
 * not: keep any state outside the sandbox: whoever knows DIR can follow.
 *
 *     client                      inside
 *     Start(wrapper) ------------> mkdir DIR || "exists"
 *                                  setsid command >DIR/stdout 2>DIR/stderr &
 *     <--- "started PID" --------- DIR/pid
 *     (disconnects)                wait; DIR/exit
 *
 * Crash points: before the mkdir nothing ran, and a second Start runs it; after it a second Start
 * says "exists". A wrapper killed between mkdir and exit leaves a directory without DIR/exit and
 * without a process: LOST. Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/envd_wire.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/rng.h"

#define JOB_PIECE (1u << 20)       /* bytes fetched at once */
#define JOB_STEP_MIN_MS 5          /* first pause between looks */
#define JOB_STEP_MAX_MS 200        /* longest */
#define JOB_LOST_NS (2 * NS_PER_S) /* how often the process list is asked */
#define SMALL_FILE 64

/* $1 = DIR, $2 = file for standard input or "", $3 = "drop" when that file is this starter's own,
 * then the command. */
static const char wrapper_script[] =
    "d=$1; i=${2:-/dev/null}; drop=$3; shift 3\n"
    "[ -r \"$i\" ] || { echo \"no input file $i\" >&2; exit 1; }\n"
    "mkdir -p \"${d%/*}\" || exit 1\n"
    "if ! mkdir \"$d\" 2>/dev/null; then\n"
    "  [ -z \"$drop\" ] || rm -f \"$i\"\n"
    "  [ -d \"$d\" ] && echo exists && exit 0\n"
    "  exit 1\n"
    "fi\n"
    "echo $$ >\"$d/wrapper\"\n"
    "trap : TERM INT HUP\n"
    "exec 3>&1 4<\"$i\"\n"
    "[ -z \"$drop\" ] || rm -f \"$i\"\n"
    "setsid \"$@\" <&4 >\"$d/stdout\" 2>\"$d/stderr\" 3>&- 4<&- &\n"
    "p=$!\n"
    "echo $p >\"$d/pid.part\" && mv \"$d/pid.part\" \"$d/pid\"\n"
    "echo started $p >&3\n"
    "exec >/dev/null 2>&1 3>&- 4<&-\n"
    "wait $p; c=$?\n"
    "while kill -0 $p 2>/dev/null; do wait $p; c=$?; done\n"
    "echo $c >\"$d/exit.part\" && mv \"$d/exit.part\" \"$d/exit\"\n";

static char *job_path(const char *dir, const char *name)
{
    return mem_printf("%s/%s", dir, name);
}

/* --- start ----------------------------------------------------------------------------------- */

struct starting {
    struct str out;
    struct str err;
    int64_t pid;
    bool exists;
};

static void add_piece(struct str *to, const struct json *data, const char *key)
{
    const struct json *piece = json_get(data, key);

    if (piece && piece->type == JSON_STRING && to->len < 4096) {
        base64_decode(to, piece->text, piece->text_len);
    }
}

static int on_wrapper(void *user, const struct json *event)
{
    struct starting *starting = user;
    const struct json *data = json_get(event, "data");

    if (!data) {
        return 0;
    }
    add_piece(&starting->out, data, "stdout");
    add_piece(&starting->err, data, "stderr");
    const char *line = str_c(&starting->out);
    if (!strchr(line, '\n')) {
        return 0;
    }
    starting->exists = str_starts(line, "exists");
    if (str_starts(line, "started ")) {
        starting->pid = strtoll(line + 8, NULL, 10);
    }
    return 1;
}

static int start_wrapper(struct envd *envd, const char *dir, const char *input,
                         const struct envd_command *command, struct starting *starting,
                         struct err *err)
{
    autostr struct str body = {0};
    size_t count = 0;

    while (command->argv && command->argv[count]) {
        count++;
    }
    while (command->script && command->script_args && command->script_args[count]) {
        count++;
    }
    autofree const char **args = mem_array(count + 9, sizeof(*args));
    size_t n = 0;
    args[n++] = dir;
    args[n++] = input;
    args[n++] = command->stdin_bytes ? "drop" : "";
    if (command->script) {
        args[n++] = "/bin/sh";
        args[n++] = "-c";
        args[n++] = command->script;
        args[n++] = "sh";
    }
    const char *const *rest = command->script ? command->script_args : command->argv;
    for (size_t i = 0; i < count; i++) {
        args[n++] = rest[i];
    }
    struct envd_command wrapper = {
        .script = wrapper_script,
        .script_args = args,
        .dir = command->dir,
        .env = command->env,
    };
    if (envd_start_body(envd, &wrapper, strrchr(dir, '/') + 1, false, NULL, &body, err)) {
        return -1;
    }
    struct envd_stream_call call = {
        .method = "process.Process/Start",
        .body = &body,
        .process_timeout_ms = command->timeout_ms,
        .keepalive_s = 15,
        .on_event = on_wrapper,
        .user = starting,
    };
    return envd_stream(envd, &call, err);
}

int envd_job_start(struct envd *envd, const char *dir, const struct envd_command *command,
                   int64_t *ret_pid, struct err *err)
{
    autofree char *input = NULL;
    struct starting starting = {0};

    if (envd_command_check(command, err)) {
        return -1;
    }
    if (!dir || dir[0] != '/' || !dir[1] || str_ends(dir, "/")) {
        return err_set(err, ERR_PERMANENT, "InvalidCommand",
                       "sandbox: a job needs an absolute directory of its own, not \"%.200s\"",
                       dir ? dir : "");
    }
    if (command->stdin_bytes) {
        /* Beside the directory, whose existence means "started"; under a name of its own, because
         * another starter's job may be reading its input right now. */
        char unique[17];
        rng_hex(unique, 8);
        input = mem_printf("%s.stdin-%s", dir, unique);
        if (envd_write_file(envd, input, command->stdin_bytes, command->stdin_len, NULL, err)) {
            return -1;
        }
    } else {
        input = mem_strdup(command->stdin_path ? command->stdin_path : "");
    }
    int rc = start_wrapper(envd, dir, input, command, &starting, err);
    if (rc == ENVD_WIRE_STOPPED && starting.exists) {
        rc = ENVD_EXISTS;
    } else if (rc == ENVD_WIRE_STOPPED && starting.pid > 0) {
        *ret_pid = starting.pid;
        rc = 0;
    } else if (rc >= 0) {
        rc = err_set(err, ERR_PERMANENT, "JobNotStarted",
                     "sandbox: job %.200s did not start: %.500s", dir, str_c(&starting.err));
    }
    str_free(&starting.out);
    str_free(&starting.err);
    return rc;
}

/* --- look ------------------------------------------------------------------------------------ */

/* A small file holding a decimal number. 0; ENVD_ABSENT (also while it is still empty). */
static int read_number(struct envd *envd, const char *dir, const char *name, int64_t *ret,
                       struct err *err)
{
    autofree char *path = job_path(dir, name);
    autostr struct str text = {0};
    int rc = envd_read_file(envd, path, SMALL_FILE, &text, NULL, err);

    if (rc) {
        return rc;
    }
    char *end = NULL;
    *ret = strtoll(str_c(&text), &end, 10);
    return end == str_c(&text) ? ENVD_ABSENT : 0;
}

static int is_listed(struct envd *envd, int64_t pid, bool *ret, struct err *err)
{
    autoprocesslist struct envd_process_list list = {0};

    if (envd_process_list(envd, &list, err)) {
        return -1;
    }
    *ret = false;
    for (size_t i = 0; i < list.count; i++) {
        *ret = *ret || list.items[i].pid == pid;
    }
    return 0;
}

int envd_job_look(struct envd *envd, const char *dir, enum envd_job_state *ret, int *ret_exit,
                  struct err *err)
{
    struct envd_entry entry = {0};
    int64_t number = 0;
    bool listed = false;
    int rc = read_number(envd, dir, "exit", &number, err);

    if (rc == ENVD_ABSENT) {
        if ((rc = envd_stat(envd, dir, &entry, err))) {
            return rc;
        }
        envd_entry_free(&entry);
        rc = read_number(envd, dir, "wrapper", &number, err);
        if (rc < 0 || (rc == 0 && is_listed(envd, number, &listed, err))) {
            return -1;
        }
        if (listed) {
            *ret = ENVD_JOB_RUNNING;
            return 0;
        }
        rc = read_number(envd, dir, "exit", &number, err); /* it may just have ended */
        if (rc == ENVD_ABSENT) {
            *ret = ENVD_JOB_LOST;
            return 0;
        }
    }
    if (rc < 0) {
        return rc;
    }
    *ret = ENVD_JOB_ENDED;
    *ret_exit = (int)number;
    return 0;
}

/* --- kill ------------------------------------------------------------------------------------ */

int envd_job_kill(struct envd *envd, const char *dir, int64_t grace_ms, struct err *err)
{
    enum envd_job_state state = ENVD_JOB_LOST;
    int64_t wrapper = 0;
    int exit_code = 0;
    int rc = envd_job_look(envd, dir, &state, &exit_code, err);

    if (rc) {
        return rc;
    }
    rc = read_number(envd, dir, "wrapper", &wrapper, err);
    if (rc) {
        return rc < 0 ? -1 : 0;
    }
    if (state == ENVD_JOB_RUNNING && grace_ms > 0) {
        if (envd_signal(envd, wrapper, SIGTERM, err) < 0) {
            return -1;
        }
        int64_t until = clock_mono_ns() + grace_ms * NS_PER_MS;
        while (state == ENVD_JOB_RUNNING && clock_mono_ns() < until) {
            clock_sleep_ms(10);
            if (envd_job_look(envd, dir, &state, &exit_code, err) < 0) {
                return -1;
            }
        }
    }
    /* Also when it has ended: what it left behind goes too. */
    if (envd_signal(envd, wrapper, SIGKILL, err) < 0) {
        return -1;
    }
    for (int tries = 0; state == ENVD_JOB_RUNNING; tries++) {
        if (tries > 1000) {
            return err_set(err, ERR_AMBIGUOUS, "KillUnconfirmed",
                           "sandbox: job %.200s was killed, but still runs", dir);
        }
        clock_sleep_ms(10);
        if (envd_job_look(envd, dir, &state, &exit_code, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* --- follow ---------------------------------------------------------------------------------- */

struct follow {
    struct envd *envd;
    const char *dir;
    const struct envd_command *command;
    struct envd_job_pos *pos;
    const atomic_bool *cancel;
    struct envd_sink sink;
    bool stopped;
};

/* One piece of one stream; *ret_more: there may be more at once. */
static int pull(struct follow *follow, enum envd_stream stream, bool *ret_more, struct err *err)
{
    int64_t *offset = stream == ENVD_STDOUT ? &follow->pos->out_offset : &follow->pos->err_offset;
    autofree char *path = job_path(follow->dir, stream == ENVD_STDOUT ? "stdout" : "stderr");
    autostr struct str piece = {0};
    int rc = envd_read_part(follow->envd, path, (uint64_t)*offset, JOB_PIECE, &piece, NULL, err);

    if (rc < 0) {
        return -1;
    }
    if (piece.len > 0) {
        *offset += (int64_t)piece.len;
        if (envd_sink_put(&follow->sink, stream, piece.ptr, piece.len)) {
            follow->stopped = true;
        }
        *ret_more = true;
    }
    return 0;
}

/* Everything that is there now. */
static int drain(struct follow *follow, bool *ret_any, struct err *err)
{
    bool more = true;

    while (more && !follow->stopped && !(follow->cancel && atomic_load(follow->cancel))) {
        more = false;
        if (pull(follow, ENVD_STDOUT, &more, err) ||
            (!follow->stopped && pull(follow, ENVD_STDERR, &more, err))) {
            return -1;
        }
        *ret_any = *ret_any || more;
    }
    return 0;
}

static bool stop_asked(struct follow *follow, int64_t *idle_ns)
{
    const struct envd_command *command = follow->command;
    int64_t now = clock_mono_ns();

    if (command->on_idle && now - *idle_ns >= NS_PER_S * 9 / 10) {
        *idle_ns = now;
        if (command->on_idle(command->user)) {
            follow->stopped = true;
        }
    }
    return follow->stopped || (follow->cancel && atomic_load(follow->cancel));
}

/* The pause after so much silence: its eighth, so that an end is seen at most 12 % late. */
static int64_t step_after(int64_t silence_ns)
{
    int64_t ms = silence_ns / NS_PER_MS / 8;
    return ms < JOB_STEP_MIN_MS ? JOB_STEP_MIN_MS : ms > JOB_STEP_MAX_MS ? JOB_STEP_MAX_MS : ms;
}

/* Until it has ended, is lost, late or to be left: sets *ret_exit and returns 0, ENVD_LOST,
 * ENVD_CANCELLED, or ENVD_ABSENT for "time is over" (the caller knows that the job exists). */
static int follow_loop(struct follow *follow, int64_t deadline_ns, int64_t *ret_exit,
                       struct err *err)
{
    int64_t idle_ns = clock_mono_ns();
    int64_t looked_ns = idle_ns;
    int64_t news_ns = idle_ns; /* last output */

    for (;;) {
        bool any = false;
        int ended = read_number(follow->envd, follow->dir, "exit", ret_exit, err);
        if (ended < 0 || drain(follow, &any, err)) {
            return -1;
        }
        if (stop_asked(follow, &idle_ns)) {
            return ENVD_CANCELLED;
        }
        if (ended == 0) {
            return 0;
        }
        if (deadline_ns && clock_mono_ns() >= deadline_ns) {
            return ENVD_ABSENT;
        }
        if (clock_mono_ns() - looked_ns >= JOB_LOST_NS) {
            enum envd_job_state state = ENVD_JOB_RUNNING;
            int code = 0;
            looked_ns = clock_mono_ns();
            if (envd_job_look(follow->envd, follow->dir, &state, &code, err)) {
                return -1;
            }
            if (state == ENVD_JOB_LOST) {
                return drain(follow, &any, err) ? -1 : ENVD_LOST;
            }
        }
        news_ns = any ? clock_mono_ns() : news_ns;
        clock_sleep_ms(step_after(clock_mono_ns() - news_ns));
    }
}

static int end_late_job(struct follow *follow, struct envd_result *result, int64_t *exit_code,
                        struct err *err)
{
    bool any = false;

    if (envd_job_kill(follow->envd, follow->dir, follow->command->grace_ms, err) ||
        drain(follow, &any, err)) {
        return -1;
    }
    result->timed_out = true;
    int rc = read_number(follow->envd, follow->dir, "exit", exit_code, err);
    if (rc == ENVD_ABSENT) {
        *exit_code = 128 + SIGKILL;
    }
    return rc < 0 ? -1 : 0;
}

int envd_job_follow(struct envd *envd, const char *dir, const struct envd_command *command,
                    struct envd_job_pos *pos, const atomic_bool *cancel, struct envd_result *ret,
                    struct err *err)
{
    struct follow follow = {
        .envd = envd, .dir = dir, .command = command, .pos = pos, .cancel = cancel};
    struct envd_result result = {.exit_code = -1, .started_ns = clock_wall_ns()};
    int64_t began = clock_mono_ns();
    int64_t deadline_ns = command->timeout_ms > 0 ? began + command->timeout_ms * NS_PER_MS : 0;
    int64_t exit_code = -1;
    struct envd_entry entry = {0};

    int rc = envd_stat(envd, dir, &entry, err);
    if (rc) {
        return rc;
    }
    envd_entry_free(&entry);
    envd_sink_begin(&follow.sink, command);
    rc = follow_loop(&follow, deadline_ns, &exit_code, err);
    if (rc == ENVD_ABSENT) {
        rc = end_late_job(&follow, &result, &exit_code, err);
    }
    envd_sink_finish(&follow.sink, &result);
    result.duration_ns = clock_mono_ns() - began;
    if (rc < 0) {
        envd_result_free(&result);
        return -1;
    }
    if (rc == 0) {
        result.exit_code = (int)exit_code;
        result.signal = exit_code > 128 && exit_code < 160 ? (int)exit_code - 128 : 0;
    }
    read_number(envd, dir, "pid", &result.pid, NULL);
    *ret = result;
    return rc;
}
