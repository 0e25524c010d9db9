/*
 * envd_exec.c - run a command inside a sandbox and follow it to its end.
 *
 * Owns: Start and Connect streams, the watchdog that ends a command in time, the other process
 * calls. Must not: drop output because a command was killed: the watchdog kills through a
 * connection of its own while the stream goes on to its end.
 *
 *     calling thread     Start ---- events ---- end            (stream connection)
 *     watchdog thread    sleeps ... deadline/cancel: SIGTERM, grace, SIGKILL   (own connection)
 *                        not ended KILL_PATIENCE_MS later: gives the stream up (ambiguous)
 *
 * Thread rule: struct watch is shared by the two and guarded by its mutex; all else belongs to the
 * calling thread.
 * Tests: tests/unit/test_sandbox_envd.c, tests/unit/test_sandbox_contract.c
 */
#include "sandbox/envd_wire.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/rng.h"

#define KILL_PATIENCE_MS 15000        /* from SIGKILL to giving up on the stream */
#define BACKSTOP_MS 5000              /* the sandbox's own time-out lies so much behind ours */
#define WATCH_STEP_MS 50              /* how often the cancel flag is looked at */
#define SCRIPT_INLINE_MAX (96 * 1024) /* one argument may have 128 KiB */

/* --- signals and the list --------------------------------------------------------------------- */

static void put_selector(struct json_out *w, int64_t pid)
{
    json_key(w, "process");
    json_begin_object(w);
    json_kv_i64(w, "pid", pid);
    json_end_object(w);
}

int envd_signal(struct envd *envd, int64_t pid, int signal_number, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str body = {0};
    struct json_out w = json_writer(&body, 0);

    if (signal_number != SIGTERM && signal_number != SIGKILL) {
        return err_set(err, ERR_PERMANENT, "InvalidSignal",
                       "sandbox: only SIGTERM and SIGKILL can be sent, not %d", signal_number);
    }
    json_begin_object(&w);
    put_selector(&w, pid);
    json_kv_str(&w, "signal", signal_number == SIGTERM ? "SIGNAL_SIGTERM" : "SIGNAL_SIGKILL");
    json_end_object(&w);
    return envd_unary(envd, "process.Process/SendSignal", &body, arena, NULL, err);
}

int envd_send_input(struct envd *envd, int64_t pid, const void *bytes, size_t len, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str body = {0};
    autostr struct str encoded = {0};
    struct json_out w = json_writer(&body, 0);

    base64_encode(&encoded, bytes, len);
    json_begin_object(&w);
    put_selector(&w, pid);
    json_key(&w, "input");
    json_begin_object(&w);
    json_kv_str(&w, "stdin", str_c(&encoded));
    json_end_object(&w);
    json_end_object(&w);
    return envd_unary(envd, "process.Process/SendInput", &body, arena, NULL, err);
}

int envd_close_stdin(struct envd *envd, int64_t pid, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str body = {0};
    struct json_out w = json_writer(&body, 0);

    json_begin_object(&w);
    put_selector(&w, pid);
    json_end_object(&w);
    return envd_unary(envd, "process.Process/CloseStdin", &body, arena, NULL, err);
}

void envd_process_list_free(struct envd_process_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].tag);
        free(list->items[i].cmd);
    }
    free(list->items);
    *list = (struct envd_process_list){0};
}

static char *join_command(const struct json *config)
{
    autostr struct str text = {0};

    str_add(&text, config ? json_get_str(config, "cmd") : NULL);
    if (config) {
        json_each (arg, json_get(config, "args")) {
            str_addc(&text, ' ');
            str_addn(&text, arg->text, arg->text_len);
        }
    }
    return str_take(&text);
}

int envd_process_list(struct envd *envd, struct envd_process_list *ret, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str body = {0};
    const struct json *root = NULL;

    str_add(&body, "{}");
    int rc = envd_unary(envd, "process.Process/List", &body, arena, &root, err);
    if (rc) {
        return rc < 0 ? rc
                      : err_set(err, ERR_PERMANENT, "EnvdProtocol", "sandbox: no process list");
    }
    const struct json *processes = json_get(root, "processes");
    *ret = (struct envd_process_list){0};
    if (!processes || processes->count == 0) {
        return 0;
    }
    ret->items = mem_array(processes->count, sizeof(*ret->items));
    json_each (process, processes) {
        struct envd_process *item = &ret->items[ret->count];
        if (json_get_i64(process, "pid", &item->pid)) {
            item->tag = mem_strdup(json_get_str(process, "tag"));
            item->cmd = join_command(json_get(process, "config"));
            ret->count++;
        }
    }
    return 0;
}

/* --- what is started ------------------------------------------------------------------------- */

int envd_command_check(const struct envd_command *command, struct err *err)
{
    if (!command->argv == !command->script || (command->argv && !command->argv[0])) {
        return err_set(err, ERR_PERMANENT, "InvalidCommand",
                       "sandbox: a command needs either argv or a script");
    }
    if (command->stdin_bytes && command->stdin_path) {
        return err_set(err, ERR_PERMANENT, "InvalidCommand",
                       "sandbox: a command takes its input from bytes or from a path, not both");
    }
    if (command->dir && command->dir[0] != '/') {
        return err_set(err, ERR_PERMANENT, "InvalidCommand",
                       "sandbox: directory \"%.200s\" is not absolute", command->dir);
    }
    for (size_t i = 0; command->env && command->env[i]; i++) {
        if (!strchr(command->env[i], '=')) {
            return err_set(err, ERR_PERMANENT, "InvalidCommand",
                           "sandbox: environment entry %zu has no \"=\"", i + 1);
        }
    }
    return 0;
}

/* Put bytes into a fresh file inside; *ret_path is the caller's. */
static int upload(struct envd *envd, const char *kind, const void *bytes, size_t len,
                  const atomic_bool *cancel, char **ret_path, struct err *err)
{
    char unique[33];

    rng_hex(unique, 16);
    autofree char *path = mem_printf("/tmp/.factory-%s-%s", kind, unique);
    if (envd_write_file(envd, path, bytes, len, cancel, err)) {
        return err_wrap(err, "sandbox: handing over the %s", kind);
    }
    *ret_path = steal(&path);
    return 0;
}

static void put_args(struct json_out *w, const char *const *args)
{
    for (size_t i = 0; args && args[i]; i++) {
        json_put_str(w, args[i]);
    }
}

static void put_env(struct json_out *w, const char *const *env)
{
    if (!env || !env[0]) {
        return;
    }
    json_key(w, "envs");
    json_begin_object(w);
    for (size_t i = 0; env[i]; i++) {
        const char *eq = strchr(env[i], '=');
        autofree char *name = mem_strndup(env[i], (size_t)(eq - env[i]));
        json_kv_str(w, name, eq + 1);
    }
    json_end_object(w);
}

/* The shell in front of commands that read a file as standard input. $1 is the file; "keep" leaves
 * it, "drop" unlinks it once it is open. */
static const char redirect_script[] =
    "exec <\"$2\"; [ \"$1\" = keep ] || rm -f \"$2\"; shift 2; exec \"$@\"";

static void put_config(struct json_out *w, const struct envd_command *command, const char *input,
                       const char *script_path)
{
    json_key(w, "process");
    json_begin_object(w);
    json_kv_str(w, "cmd", input || command->script ? "/bin/sh" : command->argv[0]);
    json_key(w, "args");
    json_begin_array(w);
    if (input) {
        json_put_str(w, "-c");
        json_put_str(w, redirect_script);
        json_put_str(w, "sh");
        json_put_str(w, command->stdin_path ? "keep" : "drop");
        json_put_str(w, input);
        json_put_str(w, command->script ? "/bin/sh" : command->argv[0]);
    }
    if (command->argv) {
        put_args(w, command->argv + 1);
    } else if (script_path) {
        json_put_str(w, script_path);
        put_args(w, command->script_args);
    } else {
        json_put_str(w, "-c");
        json_put_str(w, command->script);
        json_put_str(w, "sh");
        put_args(w, command->script_args);
    }
    json_end_array(w);
    put_env(w, command->env);
    json_kv_str(w, "cwd", command->dir ? command->dir : "/");
    json_end_object(w);
}

int envd_start_body(struct envd *envd, const struct envd_command *command, const char *tag,
                    bool keep_stdin, const atomic_bool *cancel, struct str *ret_body,
                    struct err *err)
{
    autofree char *input = NULL;
    autofree char *script = NULL;

    if (envd_command_check(command, err)) {
        return -1;
    }
    if (command->stdin_bytes &&
        upload(envd, "stdin", command->stdin_bytes, command->stdin_len, cancel, &input, err)) {
        return -1;
    }
    if (command->script && strlen(command->script) > SCRIPT_INLINE_MAX &&
        upload(envd, "script", command->script, strlen(command->script), cancel, &script, err)) {
        return -1;
    }
    struct json_out w = json_writer(ret_body, 0);
    json_begin_object(&w);
    put_config(&w, command, command->stdin_path ? command->stdin_path : input, script);
    json_kv_str_opt(&w, "tag", tag);
    json_kv_bool(&w, "stdin", keep_stdin);
    json_end_object(&w);
    return 0;
}

/* --- the watchdog ---------------------------------------------------------------------------- */

struct watch {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    const struct envd_target *target;
    const atomic_bool *cancel;
    int64_t deadline_ns; /* monotonic; 0: none */
    int64_t grace_ms;
    bool kills; /* false: only stop listening (connect) */
    /* guarded */
    int64_t pid;
    bool stop_wanted; /* a callback said stop */
    bool ended;
    bool timed_out;
    bool cancelled;
    atomic_bool give_up; /* the stream's own cancel flag */
};

/* Wait until `ms` passed or ended; true when ended. Lock held. */
static bool wait_ended(struct watch *watch, int64_t ms)
{
    int64_t until = clock_mono_ns() + ms * NS_PER_MS;

    while (!watch->ended) {
        int64_t left = until - clock_mono_ns();
        if (left <= 0) {
            return false;
        }
        if (left > WATCH_STEP_MS * NS_PER_MS) {
            left = WATCH_STEP_MS * NS_PER_MS;
        }
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        int64_t ns = at.tv_nsec + left;
        at.tv_sec += ns / NS_PER_S;
        at.tv_nsec = ns % NS_PER_S;
        pthread_cond_timedwait(&watch->wake, &watch->lock, &at);
        if (!watch->timed_out && !watch->cancelled) {
            return watch->ended; /* the caller looks at flag and clock */
        }
    }
    return true;
}

static void send_signal(struct watch *watch, struct envd *envd, int signal_number)
{
    int64_t pid = watch->pid;

    pthread_mutex_unlock(&watch->lock);
    if (pid > 0) {
        envd_signal(envd, pid, signal_number, NULL); /* already ended is fine; lost is retried */
    }
    pthread_mutex_lock(&watch->lock);
}

/* Lock held. */
static void end_process(struct watch *watch)
{
    autoenvd struct envd *envd = envd_open(watch->target);

    if (watch->grace_ms > 0) {
        send_signal(watch, envd, SIGTERM);
        if (wait_ended(watch, watch->grace_ms)) {
            return;
        }
    }
    for (int64_t waited = 0; waited < KILL_PATIENCE_MS; waited += 500) {
        send_signal(watch, envd, SIGKILL);
        if (wait_ended(watch, 500)) {
            return;
        }
    }
    atomic_store(&watch->give_up, true);
}

static void *watch_main(void *arg)
{
    struct watch *watch = arg;

    pthread_mutex_lock(&watch->lock);
    while (!watch->ended) {
        bool late = watch->deadline_ns && clock_mono_ns() >= watch->deadline_ns;
        bool flag = watch->stop_wanted || (watch->cancel && atomic_load(watch->cancel));
        if (late || flag) {
            watch->timed_out = late && !flag;
            watch->cancelled = flag;
            if (watch->kills) {
                end_process(watch);
            } else {
                atomic_store(&watch->give_up, true);
            }
            break;
        }
        int64_t left = watch->deadline_ns ? (watch->deadline_ns - clock_mono_ns()) / NS_PER_MS + 1
                                          : WATCH_STEP_MS;
        wait_ended(watch, left < WATCH_STEP_MS ? left : WATCH_STEP_MS);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static int watch_begin(struct watch *watch, struct err *err)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&watch->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &attr);
    pthread_condattr_destroy(&attr);
    int rc = pthread_create(&watch->thread, NULL, watch_main, watch);
    if (rc) {
        pthread_cond_destroy(&watch->wake);
        pthread_mutex_destroy(&watch->lock);
        return err_sys(err, rc, "NoThread", "sandbox: cannot start a thread");
    }
    return 0;
}

static void watch_end(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->ended = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
}

/* --- events ---------------------------------------------------------------------------------- */

struct follow {
    struct watch watch;
    struct envd_sink sink;
    struct envd_result *ret;
    int64_t idle_ns; /* when on_idle was called last */
    bool started;
    bool end_seen;
};

static void ask_stop(struct follow *follow)
{
    pthread_mutex_lock(&follow->watch.lock);
    follow->watch.stop_wanted = true;
    pthread_cond_signal(&follow->watch.wake);
    pthread_mutex_unlock(&follow->watch.lock);
}

static void take_data(struct follow *follow, const struct json *data)
{
    static const char *const keys[] = {"stdout", "stderr", "pty"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct json *piece = json_get(data, keys[i]);
        autostr struct str bytes = {0};
        if (!piece || piece->type != JSON_STRING ||
            !base64_decode(&bytes, piece->text, piece->text_len)) {
            continue;
        }
        if (envd_sink_put(&follow->sink, i == 1 ? ENVD_STDERR : ENVD_STDOUT, bytes.ptr,
                          bytes.len)) {
            ask_stop(follow);
        }
    }
}

static int signal_number(const char *status)
{
    static const struct {
        const char *word;
        int number;
    } rows[] = {
        {"killed", SIGKILL},
        {"terminated", SIGTERM},
        {"interrupt", SIGINT},
        {"hangup", SIGHUP},
        {"quit", SIGQUIT},
        {"aborted", SIGABRT},
        {"segmentation fault", SIGSEGV},
        {"bus error", SIGBUS},
        {"illegal instruction", SIGILL},
        {"floating point exception", SIGFPE},
        {"broken pipe", SIGPIPE},
        {"alarm clock", SIGALRM},
        {"trace/breakpoint trap", SIGTRAP},
        {"user defined signal 1", SIGUSR1},
        {"user defined signal 2", SIGUSR2},
        {"CPU time limit exceeded", SIGXCPU},
        {"file size limit exceeded", SIGXFSZ},
        {"bad system call", SIGSYS},
    };

    if (str_starts(status, "signal ")) { /* Go's form for signals without a name */
        return (int)strtol(status + 7, NULL, 10);
    }
    if (!str_starts(status, "signal: ")) {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_starts(status + 8, rows[i].word)) {
            return rows[i].number;
        }
    }
    return (int)strtol(status + 8, NULL, 10);
}

static void take_end(struct follow *follow, const struct json *end)
{
    struct envd_result *ret = follow->ret;
    const char *status = json_get_str(end, "status");
    int64_t code = 0;
    bool flag = false;

    follow->end_seen = true;
    if (json_get_bool(end, "timedOut", &flag) && flag) {
        ret->timed_out = true;
    }
    ret->signal = status ? signal_number(status) : 0;
    if (ret->signal > 0) {
        ret->exit_code = 128 + ret->signal;
    } else if (json_get_i64(end, "exitCode", &code) || json_get_i64(end, "exit_code", &code)) {
        ret->exit_code = (int)code;
    } else if (status && str_starts(status, "exit status ")) {
        ret->exit_code = (int)strtol(status + 12, NULL, 10);
    } else if (json_get_bool(end, "exited", &flag) && flag) {
        ret->exit_code = 0;
    } else {
        ret->exit_code = -1;
        follow->end_seen = false;
    }
}

static int on_event(void *user, const struct json *event)
{
    struct follow *follow = user;
    const struct envd_command *command = follow->sink.command;
    const struct json *item = json_get(event, "start");

    if (item && json_get_i64(item, "pid", &follow->ret->pid)) {
        follow->started = true;
        pthread_mutex_lock(&follow->watch.lock);
        follow->watch.pid = follow->ret->pid;
        pthread_mutex_unlock(&follow->watch.lock);
    }
    if ((item = json_get(event, "data"))) {
        take_data(follow, item);
    }
    if ((item = json_get(event, "end"))) {
        take_end(follow, item);
    }
    int64_t now = clock_mono_ns();
    if (command->on_idle && now - follow->idle_ns >= NS_PER_S * 9 / 10) {
        follow->idle_ns = now;
        if (command->on_idle(command->user)) {
            ask_stop(follow);
        }
    }
    return 0;
}

/* --- run ------------------------------------------------------------------------------------- */

/* What the stream's end and the watchdog's facts mean together. */
static int follow_outcome(struct follow *follow, int rc, bool deadline, struct err *err)
{
    struct watch *watch = &follow->watch;
    struct envd_result *ret = follow->ret;

    ret->timed_out = ret->timed_out || deadline || watch->timed_out;
    if (!watch->kills && atomic_load(&watch->give_up)) {
        ret->exit_code = -1; /* stopped listening */
        return watch->timed_out ? 0 : ENVD_CANCELLED;
    }
    if (rc < 0 && atomic_load(&watch->give_up)) {
        return err_set(err, ERR_AMBIGUOUS, "KillUnconfirmed",
                       "sandbox: process %lld was killed, but its end was not confirmed",
                       (long long)ret->pid);
    }
    if (rc) {
        return rc == ENVD_WIRE_ABSENT ? ENVD_ABSENT : -1;
    }
    if (!follow->end_seen) {
        if (!ret->timed_out) {
            return err_set(err, ERR_AMBIGUOUS, "EnvdNoEnd",
                           "sandbox: the process ended without telling how");
        }
        ret->signal = SIGKILL;
        ret->exit_code = 128 + SIGKILL;
    }
    return watch->cancelled ? ENVD_CANCELLED : 0;
}

static int follow_stream(struct envd *envd, const char *method, const struct str *body,
                         const struct envd_command *command, bool kills, const atomic_bool *cancel,
                         struct envd_result *ret, struct err *err)
{
    struct envd_result result = {.exit_code = -1, .started_ns = clock_wall_ns()};
    struct follow follow = {.ret = &result, .idle_ns = clock_mono_ns()};
    int64_t began = clock_mono_ns();

    follow.watch = (struct watch){
        .target = &envd->target,
        .cancel = cancel,
        .deadline_ns = command->timeout_ms > 0 ? began + command->timeout_ms * NS_PER_MS : 0,
        .grace_ms = command->grace_ms,
        .kills = kills,
    };
    envd_sink_begin(&follow.sink, command);
    if (watch_begin(&follow.watch, err)) {
        return -1;
    }
    struct envd_stream_call call = {
        .method = method,
        .body = body,
        .process_timeout_ms = kills && command->timeout_ms > 0
                                  ? command->timeout_ms + command->grace_ms + BACKSTOP_MS
                                  : 0,
        .keepalive_s = command->on_idle ? 1 : 15,
        .on_event = on_event,
        .user = &follow,
        .cancel = &follow.watch.give_up,
    };
    int rc = envd_stream(envd, &call, err);
    watch_end(&follow.watch);
    envd_sink_finish(&follow.sink, &result);
    result.duration_ns = clock_mono_ns() - began;
    rc = follow_outcome(&follow, rc, call.deadline, err);
    if (rc < 0 || rc == ENVD_ABSENT) {
        envd_result_free(&result);
        return rc;
    }
    *ret = result;
    return rc;
}

int envd_exec(struct envd *envd, const struct envd_command *command, const atomic_bool *cancel,
              struct envd_result *ret, struct err *err)
{
    autostr struct str body = {0};

    if (envd_start_body(envd, command, NULL, false, cancel, &body, err)) {
        return -1;
    }
    int rc = follow_stream(envd, "process.Process/Start", &body, command, true, cancel, ret, err);
    return rc == ENVD_ABSENT ? -1 : rc;
}

int envd_connect(struct envd *envd, int64_t pid, const struct envd_command *command,
                 const atomic_bool *cancel, struct envd_result *ret, struct err *err)
{
    autostr struct str body = {0};
    struct json_out w = json_writer(&body, 0);

    json_begin_object(&w);
    put_selector(&w, pid);
    json_end_object(&w);
    return follow_stream(envd, "process.Process/Connect", &body, command, false, cancel, ret, err);
}

/* --- start and go ----------------------------------------------------------------------------- */

static int take_pid(void *user, const struct json *event)
{
    int64_t *pid = user;
    const struct json *start = json_get(event, "start");

    return start && json_get_i64(start, "pid", pid);
}

int envd_start(struct envd *envd, const struct envd_command *command, const char *tag,
               bool keep_stdin, int64_t *ret_pid, struct err *err)
{
    autostr struct str body = {0};
    int64_t pid = 0;

    if (envd_start_body(envd, command, tag, keep_stdin, NULL, &body, err)) {
        return -1;
    }
    struct envd_stream_call call = {
        .method = "process.Process/Start",
        .body = &body,
        .process_timeout_ms = command->timeout_ms,
        .keepalive_s = 15,
        .on_event = take_pid,
        .user = &pid,
    };
    int rc = envd_stream(envd, &call, err);
    if (rc == ENVD_WIRE_STOPPED) {
        *ret_pid = pid;
        return 0;
    }
    if (rc == 0) {
        return err_set(err, ERR_AMBIGUOUS, "EnvdProtocol",
                       "sandbox: Start ended without naming a process");
    }
    return -1;
}
