/*
 * program_paths.c - the paths of nth.h that are whole programs: factory's commands, a run from its
 * submission to its patch in a local sandbox, and what each says when a call fails.
 *
 * The programs are started with nthfail.so preloaded, the engine and the sandbox's supervisor that
 * they start count along; what runs within the sandbox does not. A command that ends well must say
 * what it says without failures; one that does not must have a documented status and say why. Once
 * a run was acknowledged, a second engine must bring it to an end, with nothing left of it.
 * Needs bubblewrap and git for the runs.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "tests/nth/nth.h"

#define COMMAND_MS 30000
#define PATIENCE_MS 3000 /* with a command that waits while everything fails */
#define QUIET_MS 1500    /* of what a command leaves to work on */
#define STOP_MS 8000     /* and after it was told to stop */
#define WORDS_MAX 24

static char *references[16]; /* what each command says without failures, by its number below */
static const char *top, *built;

/* --- starting programs -------------------------------------------------------------------------
 */

static void find_things(void)
{
    top = getenv("abs_top_srcdir");
    built = getenv("abs_top_builddir");
    if (!top || !built) {
        fprintf(stderr,
                "nth: abs_top_srcdir and abs_top_builddir are not set (make nth sets them)\n");
        _exit(3);
    }
}

/* factory WORDS..., with or without failures. */
static int factory(const char *dir, bool with_failures, const char *const *words,
                   struct proc_result *ret)
{
    find_things();
    autofree char *program = fs_join(built, "factory");
    autofree char *config = fs_join(dir, "factory.ini");
    autofree char *preload = mem_printf("LD_PRELOAD=%s", nth_library);
    autofree char *plan = mem_printf("%s=%s", NTH_FILE_VARIABLE, nth_plan_file);
    autofree char *path = mem_printf("PATH=%s", getenv("PATH"));
    autofree char *home = mem_printf("HOME=%s", dir);
    autofree char *runtime = mem_printf("XDG_RUNTIME_DIR=%s", dir);
    const char *argv[WORDS_MAX + 4] = {program, "--config", config};
    const char *envp[] = {path, home, runtime, with_failures ? preload : NULL, plan, NULL};
    for (int i = 0; i < WORDS_MAX && words[i]; i++) {
        argv[i + 3] = words[i];
    }
    struct proc_spec spec = {.argv = argv, .envp = envp, .dir = dir, .stdin_fd = -1};
    struct err err = {0};
    int64_t ms = with_failures && atomic_load(&nth_shared()->is_lasting) ? PATIENCE_MS : COMMAND_MS;
    if (proc_run(&spec, NULL, 0, 1 << 20, ms, ret, &err) < 0) {
        fprintf(stderr, "nth: %s\n", err.text);
        _exit(3);
    }
    return ret->exit_code;
}

/* The last line of what it said, for the report. */
static const char *last_line(const struct str *text)
{
    static char line[512];
    size_t len = text->len;
    while (len > 0 && text->ptr[len - 1] == '\n') {
        len--;
    }
    size_t from = len;
    while (from > 0 && text->ptr[from - 1] != '\n') {
        from--;
    }
    snprintf(line, sizeof(line), "%.*s", (int)(len - from), text->len ? text->ptr + from : "");
    return line;
}

static bool is_documented(int status)
{
    return (status >= 0 && status <= 6) || (status >= 10 && status <= 17) || status == 130;
}

/* What a command may say of itself; true: it says that it has ended well. */
static bool judge_command(struct nth_report *report, const char *name,
                          const struct proc_result *result)
{
    const struct nth_shared *plan = nth_shared();
    bool is_for_ever = atomic_load(&plan->is_lasting) && atomic_load(&plan->kind) <= NTH_MAP;
    if (result->timed_out && atomic_load(&plan->is_lasting)) {
        nth_told(report, name, 1, "waits for what fails for ever");
    } else if (result->timed_out) {
        nth_complain(report, "%s hangs", name);
    } else if (result->signalled) {
        nth_complain(report, "%s is ended by signal %d", name, result->exit_code - 128);
    } else if (result->exit_code == MEM_EXHAUSTED_EXIT && is_for_ever &&
               strstr(str_c(&result->err), "factory: out of memory (")) {
        report->has_left = true;
    } else if (!is_documented(result->exit_code)) {
        nth_complain(report, "%s ends with status %d: %s", name, result->exit_code,
                     last_line(&result->err));
    } else if (result->exit_code != 0) {
        nth_told(report, name, result->exit_code,
                 last_line(result->err.len ? &result->err : &result->out));
    }
    return result->exit_code == 0 && !result->timed_out;
}

/* --- commands that look ------------------------------------------------------------------------
 */

/* Ages grow while we look, from seconds to minutes: every number is the same whatever its unit, and
 * columns may be of any width. */
static char *without_numbers(const struct str *text)
{
    char *copy = mem_strdup(str_c(text));
    char *to = copy;
    for (const char *at = copy; *at; at++) {
        bool is_after_number = to > copy && to[-1] == '0';
        bool is_digit = *at >= '0' && *at <= '9';
        bool is_more = is_after_number && (is_digit || strchr("smhd", *at));
        bool is_second_space = *at == ' ' && to > copy && to[-1] == ' ';
        if (!is_more && !is_second_space) {
            *to++ = is_digit ? '0' : *at;
        }
    }
    *to = '\0';
    return copy;
}

static void look(const char *dir, struct nth_report *report, size_t number, const char *name,
                 const char *const *words)
{
    struct proc_result result autoproc = {0};
    factory(dir, true, words, &result);
    if (!judge_command(report, name, &result)) {
        return;
    }
    autofree char *said = without_numbers(&result.out);
    if (atomic_load(&nth_shared()->at) == 0) {
        free(references[number]);
        references[number] = steal(&said);
    } else if (strcmp(references[number], said) != 0) {
        nth_complain(report, "%s ends well and says something else:\n%s\n--- instead of\n%s", name,
                     said, references[number]);
    }
}

#define COMMAND(number, word, ...)                                                                 \
    static void play_##word(const char *dir, struct nth_report *report)                            \
    {                                                                                              \
        look(dir, report, number, "factory " #word, (const char *const[]){__VA_ARGS__, NULL});     \
    }
COMMAND(0, status, "status", "r1")
COMMAND(1, describe, "describe", "run", "r1")
COMMAND(2, get, "get", "runs")
COMMAND(3, logs, "logs", "r1")
COMMAND(4, history, "history", "r1")
COMMAND(5, config, "config", "show")
COMMAND(6, version, "version")
COMMAND(7, sandboxes, "sandboxes")

/* Its verdict is about the machine as it is: nothing to compare. */
static void play_doctor(const char *dir, struct nth_report *report)
{
    static const char *const words[] = {"doctor", NULL};
    struct proc_result result autoproc = {0};
    factory(dir, true, words, &result);
    judge_command(report, "factory doctor", &result);
}

static void verify_nothing(const char *dir, struct nth_report *report)
{
    (void)dir;
    (void)report;
}

/* --- a place with a repository -----------------------------------------------------------------
 */

static void write_text(const char *dir, const char *name, const char *text, mode_t mode)
{
    autofree char *path = fs_join(dir, name);
    struct err err = {0};
    if (fs_write_file(path, text, strlen(text), mode, &err) < 0) {
        fprintf(stderr, "nth: %s\n", err.text);
        _exit(3);
    }
}

static void shell(const char *dir, const char *script)
{
    find_things();
    const char *argv[] = {"sh", "-ec", script, "sh", top, NULL};
    struct proc_spec spec = {.argv = argv, .dir = dir, .stdin_fd = -1};
    struct proc_result result autoproc = {0};
    struct err err = {0};
    if (proc_run(&spec, NULL, 0, 1 << 16, 60000, &result, &err) < 0 || result.exit_code != 0) {
        fprintf(stderr, "nth: %s%s\n", err.text, str_c(&result.err));
        _exit(3);
    }
}

static void make_place(const char *dir)
{
    shell(dir, "cp -r \"$1/contrib/examples/greeting\" repo; chmod -R u+w repo; cd repo;"
               "git init -q -b main; git add -A;"
               "git -c user.email=t@example.org -c user.name=t commit -qm one");
    write_text(dir, "agent.sh",
               "read -r task\n"
               "sed -i 's/^#define GREETING .*/#define GREETING \"nth\"/' greet.c\n"
               "echo done\n",
               0755);
    autofree char *ini = mem_printf("[storage]\ndata_dir = %s/data\n"
                                    "[engine]\nidle_exit = 100ms\n"
                                    "[local]\nbinds = {\"/agent.sh\": \"%s/agent.sh\"}\n"
                                    "[harnesses.greeter]\ntype = generic\nexecutable = /bin/sh\n"
                                    "args = [\"/agent.sh\"]\n"
                                    "[verification.default]\n[verification.default.look]\n"
                                    "argv = [\"grep\", \"-q\", \"nth\", \"greet.c\"]\n",
                                    dir, dir);
    write_text(dir, "factory.ini", ini, 0644);
}

static const char *const run_words[] = {"run",    "--local-path", "repo",     "--rev", "main",
                                        "--task", "say nth",      "--run-id", "r1",    NULL};
static const char *const detach_words[] = {"run",  "--local-path", "repo",    "--rev",
                                           "main", "--task",       "say nth", "--run-id",
                                           "r1",   "--detach",     NULL};
static const char *const work_words[] = {"worker", "--idle-exit", "100ms", NULL};
static const char *const cancel_words[] = {"cancel", "r1", NULL};

static void make_finished(const char *dir)
{
    struct proc_result result autoproc = {0};
    make_place(dir);
    if (factory(dir, false, run_words, &result) != 0) {
        fprintf(stderr, "nth: %s\n", str_c(&result.err));
        _exit(3);
    }
}

/* --- a run ---------------------------------------------------------------------------------------
 */

/* Does this process know the place: by its command line? "": it is one of the sandbox's. */
static bool knows(pid_t pid, const char *dir, char *line, size_t size)
{
    char path[64];
    struct str text = {0};
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    bool does = fs_read_file(path, 65536, &text, NULL) == 0 && text.len > 0;
    for (size_t i = 0; does && i + 1 < text.len; i++) {
        if (text.ptr[i] == '\0') {
            text.ptr[i] = ' ';
        }
    }
    does = does && strstr(str_c(&text), dir) != NULL;
    if (does) {
        snprintf(line, size, "%s", str_c(&text));
    }
    str_free(&text);
    return does;
}

/* How many processes of the place there are, those of sandboxes aside if told so; `kill_by` is sent
 * to them. */
static int strays(const char *dir, bool with_sandboxes, int kill_by, char *line, size_t size)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int count = 0;
    while (proc && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 1 || pid == getpid() || !knows(pid, dir, line, size)) {
            continue;
        }
        bool is_sandbox = !strstr(line, " worker") && !strstr(line, " run ");
        if (with_sandboxes || !is_sandbox) {
            count++;
            if (kill_by) {
                kill(pid, kill_by);
            }
        }
    }
    if (proc) {
        closedir(proc);
    }
    return count;
}

static bool wait_gone(const char *dir, bool with_sandboxes, int64_t ms, char *line, size_t size)
{
    int64_t until = clock_mono_ns() + ms * NS_PER_MS;
    while (strays(dir, with_sandboxes, 0, line, size) > 0) {
        if (clock_mono_ns() > until) {
            return false;
        }
        clock_sleep_ms(5);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    return true;
}

/* The engine that a command has started ends by itself, or when it is told to. */
static void settle(const char *dir, struct nth_report *report)
{
    char line[512] = "";
    if (!wait_gone(dir, false, QUIET_MS, line, sizeof(line))) {
        strays(dir, false, SIGTERM, line, sizeof(line));
        bool is_lasting = atomic_load(&nth_shared()->is_lasting);
        if (!wait_gone(dir, false, is_lasting ? QUIET_MS : STOP_MS, line, sizeof(line))) {
            if (!is_lasting) { /* else it waits for the store, for stop_grace_ms */
                nth_complain(report, "does not stop: %s", line);
            }
            strays(dir, false, SIGKILL, line, sizeof(line));
        }
    }
}

#define ACK_RUN 1   /* it is there */
#define ACK_PATCH 2 /* and was told to have succeeded */
#define ACK_CANCEL 4

static void play_run(const char *dir, struct nth_report *report)
{
    struct proc_result result autoproc = {0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    factory(dir, true, run_words, &result);
    if (judge_command(report, "factory run", &result)) {
        report->acks |= ACK_RUN | ACK_PATCH;
    }
    settle(dir, report);
}

static void play_detach(const char *dir, struct nth_report *report)
{
    struct proc_result result autoproc = {0}, next autoproc = {0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    factory(dir, true, detach_words, &result);
    if (judge_command(report, "factory run --detach", &result)) {
        report->acks |= ACK_RUN;
        factory(dir, true, cancel_words, &next);
        if (judge_command(report, "factory cancel", &next)) {
            report->acks |= ACK_CANCEL;
        }
    }
    settle(dir, report);
}

/* What `factory status` says behind this word; "" when it does not say it. */
static char *status_of(const char *dir, const char *word)
{
    static const char *const words[] = {"status", "r1", NULL};
    struct proc_result result autoproc = {0};
    factory(dir, false, words, &result);
    const char *at = strstr(str_c(&result.out), word);
    at = at ? at + strlen(word) : "";
    at += strspn(at, " ");
    return mem_strndup(at, strcspn(at, " \n"));
}

static void verify_run(const char *dir, struct nth_report *report)
{
    struct proc_result served autoproc = {0}, again autoproc = {0}, last autoproc = {0};
    char line[512] = "";
    if (factory(dir, false, work_words, &served) != 0) {
        nth_complain(report, "a second engine cannot serve: %s", last_line(&served.err));
    }
    autofree char *before = status_of(dir, "FACTORY RESULT:");
    if (before[0] == '\0' && report->acks & ACK_RUN) {
        nth_complain(report, "the acknowledged run came to no end");
    }
    int status = before[0] ? 0 : factory(dir, false, run_words, &again);
    autofree char *result = status_of(dir, "FACTORY RESULT:");
    autofree char *cleanup = status_of(dir, "CLEANUP:");
    bool was_honest = strcmp(result, "SUCCEEDED") == 0 ||
                      strcmp(result, "INFRASTRUCTURE_FAILED") == 0 ||
                      strcmp(result, "CANCELLED") == 0 || strcmp(result, "AGENT_FAILED") == 0;
    if (!was_honest) {
        nth_complain(report, "the run ends with \"%s\" (status %d): %s", result, status,
                     last_line(&again.err));
    }
    if (report->acks & ACK_PATCH && strcmp(result, "SUCCEEDED") != 0) {
        nth_complain(report, "the run was told to have succeeded, and is %s", result);
    }
    if (strcmp(cleanup, "PASSED") != 0 && strcmp(cleanup, "NOT") != 0) { /* NOT NEEDED */
        nth_complain(report, "cleaning up: %s", cleanup);
    }
    factory(dir, false, work_words, &last);
    if (!wait_gone(dir, true, STOP_MS, line, sizeof(line))) {
        nth_complain(report, "a process is left: %s", line);
        strays(dir, true, SIGKILL, line, sizeof(line));
    }
    autofree char *sandboxes = fs_join(dir, "data/sandboxes");
    DIR *left = opendir(sandboxes);
    struct dirent *entry;
    while (left && (entry = readdir(left)) != NULL) {
        if (entry->d_name[0] != '.') {
            nth_complain(report, "the sandbox %s is left", entry->d_name);
        }
    }
    if (left) {
        closedir(left);
    }
}

const struct nth_path program_paths[] = {
    {.name = "version",
     .about = "factory version",
     .play = play_version,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "config",
     .about = "factory config",
     .make = make_place,
     .play = play_config,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "doctor",
     .about = "factory doctor",
     .make = make_place,
     .play = play_doctor,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "status",
     .about = "factory status",
     .make = make_finished,
     .play = play_status,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "describe",
     .about = "factory describe",
     .make = make_finished,
     .play = play_describe,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "get",
     .about = "factory get",
     .make = make_finished,
     .play = play_get,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "logs",
     .about = "factory logs",
     .make = make_finished,
     .play = play_logs,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "history",
     .about = "factory history",
     .make = make_finished,
     .play = play_history,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "sandboxes",
     .about = "factory sandboxes",
     .make = make_finished,
     .play = play_sandboxes,
     .verify = verify_nothing,
     .is_program = true},
    {.name = "run",
     .about = "factory run, to its patch",
     .make = make_place,
     .play = play_run,
     .verify = verify_run,
     .is_program = true},
    {.name = "cancel",
     .about = "factory run --detach, factory cancel",
     .make = make_place,
     .play = play_detach,
     .verify = verify_run,
     .is_program = true},
    {0},
};
