/*
 * scenario.c - the harness: every proof of every scenario (see scenario.h). Timeout: 300 s
 *
 * Owns: the processes (one per play, killed where the plan says), the comparison with the golden
 * files, the TAP output. Must not: know any scenario.
 */
#include "scenario.h"

#include "harness.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/diff.h"
#include "history/json.h"
#include "history/validate.h"
#include "selftest/fault_disk.h"
#include "tests/lib/temp_path.h"

#define PLAY_S 30 /* a play that takes longer hangs */
#define SERVER_PLAY_S 120
#define SAMPLE_POINTS 2 /* commits of a sweep in make check */
#define RUNS_MAX 4096

static struct scenario *scenarios; /* by name */
static int tests, failures;

const dur_activity_options scenario_quick = {
    .start_to_close_ms = 10000, .retry = {.initial_interval_ms = 1, .maximum_interval_ms = 4}};

void scenario_add(struct scenario *scenario)
{
    struct scenario **at = &scenarios; /* by name: link order says nothing */
    while (*at && strcmp((*at)->name, scenario->name) < 0) {
        at = &(*at)->next;
    }
    scenario->next = *at;
    *at = scenario;
}

int scenario_echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

int scenario_start(dur_engine *engine, const char *type, const char *id, const char *input)
{
    int rc = dur_start(engine, type, id, input, &(dur_start_options){.request_id = "scenario"});
    return rc == DUR_EXISTS ? DUR_OK : rc;
}

int scenario_register(dur_engine *engine, const char *type, dur_workflow_fn fn)
{
    int rc = dur_register_workflow(engine, type, fn, NULL);
    return rc ? rc : dur_register_activity(engine, "Echo", scenario_echo, NULL);
}

/* --- updates that are sent before the engine serves --------------------------------------------
 */

static bool on_server; /* of the child's play */

/* On a server somebody has to wait for the answer; each has a thread, which lives until then. */
static struct update {
    struct update *next;
    pthread_t thread;
    dur_engine *engine;
    const char *id, *update_id, *name, *input;
} * updates;

static void *send_update(void *arg)
{
    struct update *u = arg;
    dur_update_options o = {.update_id = u->update_id, .timeout_ms = PLAY_S * 1000};
    char *result = NULL;
    dur_update(u->engine, u->id, u->name, u->input, &result, &o);
    dur_free(result);
    return NULL;
}

int scenario_update(dur_engine *engine, const char *id, const char *update_id, const char *name,
                    const char *input)
{
    dur_update_options o = {.update_id = update_id, .wait = DUR_WAIT_ADMITTED};
    char *result = NULL;
    if (on_server) {
        struct update *u = mem_alloc(sizeof(*u));
        *u = (struct update){updates, 0, engine, id, update_id, name, input};
        updates = u;
        int rc = pthread_create(&u->thread, NULL, send_update, u) ? DUR_IO : DUR_OK;
        clock_sleep_ms(100); /* it is there before the next */
        return rc;
    }
    int rc = dur_update(engine, id, name, input, &result, &o);
    dur_free(result);
    return rc == DUR_REJECTED || rc == DUR_FAILED || rc == DUR_NOT_FOUND ? DUR_OK : rc;
}

bool scenario_on_server(void)
{
    return on_server;
}

/* --- in the child: a play ------------------------------------------------------------------------
 */

static void quiet(void *user, int level, const char *line)
{
    (void)user;
    if (level == 0 || getenv("SCENARIO_LOG")) {
        fprintf(stderr, "# %s\n", line);
    }
}

void harness_die(dur_engine *engine, const char *what, int rc)
{
    printf("%s: %s: %s\n", what, dur_code_name(rc), dur_error(engine));
    fflush(stdout);
    _exit(1);
}

static dur_engine *make_engine(const struct play *play, const char *vfs, bool read_only)
{
    dur_engine *engine;
    autofree char *prefix = mem_printf("%s.", play->scenario->name);
    int rc = play->server ? dur_connect(&engine, play->server,
                                        &(dur_connect_options){.name_space = play->name_space,
                                                               .queue_prefix = prefix,
                                                               .identity = "scenario",
                                                               .on_log = quiet})
                          : dur_open(&engine, play->path,
                                     &(dur_options){.reserve_bytes = -1,
                                                    .vfs = vfs,
                                                    .read_only = read_only,
                                                    .schema_name = "scenario",
                                                    .schema = play->scenario->schema,
                                                    .identity = "scenario",
                                                    .chain_spacing_ms = -1,
                                                    .on_log = quiet});
    if (rc != DUR_OK) {
        harness_die(engine, "open", rc);
    }
    return engine;
}

dur_engine *harness_open(const struct play *play, const char *vfs, bool read_only)
{
    on_server = play->server != NULL;
    dur_engine *engine = make_engine(play, vfs, read_only);
    int rc = play->scenario->setup(engine, play->changed);
    if (rc != DUR_OK) {
        harness_die(engine, "setup", rc);
    }
    return engine;
}

struct companion {
    const struct scenario *scenario;
    dur_engine *engine;
};

static void *run_during(void *arg)
{
    struct companion *c = arg;
    c->scenario->during(c->engine);
    return NULL;
}

void harness_serve(const struct play *play, dur_engine *engine)
{
    const struct scenario *s = play->scenario;
    int rc = s->drive ? s->drive(engine) : scenario_start(engine, s->type, s->id, s->input);
    if (rc != DUR_OK && rc != DUR_EXISTS && rc != DUR_NOT_FOUND) {
        harness_die(engine, "drive", rc);
    }
    if (play->cancel) {
        rc = dur_cancel(engine, s->id, "sweep");
        if (rc != DUR_OK && rc != DUR_NOT_FOUND) {
            harness_die(engine, "cancel", rc);
        }
    }
    struct companion companion = {s, engine};
    pthread_t thread;
    bool has_thread = s->during && pthread_create(&thread, NULL, run_during, &companion) == 0;
    rc = dur_serve(engine, DUR_UNTIL_IDLE);
    if (rc != DUR_OK) {
        harness_die(engine, "serve", rc);
    }
    if (has_thread) {
        pthread_join(thread, NULL);
    }
    while (updates) {
        pthread_join(updates->thread, NULL);
        updates = updates->next;
    }
}

static void serve(const struct play *play)
{
    dur_engine *engine = harness_open(play, "fault", false);
    harness_serve(play, engine);
    dur_close(engine);
}

/* --- in the child: what is in the store afterwards -----------------------------------------------
 */

struct found {
    char *ids[RUNS_MAX]; /* "id@run", newest first */
    size_t count;
};

static int keep_id(void *user, int64_t token, const dur_description *d)
{
    struct found *found = user;
    (void)token;
    if (found->count == RUNS_MAX) {
        return 1;
    }
    found->ids[found->count++] = mem_printf("%s@%s", d->workflow_id, d->run_id);
    return 0;
}

void harness_parse(const char *what, struct arena *arena, const char *json, struct history *history)
{
    struct err err;
    if (history_from_json(arena, json, strlen(json), history, &err) < 0) {
        printf("%s: %s\n", what, err.text);
        fflush(stdout);
        _exit(1);
    }
}

static void check_history(dur_engine *engine, const char *id, const char *json)
{
    autoarena struct arena *arena = arena_new();
    struct history history = {0};
    autostr struct str warnings = {0};
    struct err err;
    char *report = NULL;
    harness_parse(id, arena, json, &history);
    if (history_validate(&history, &warnings, &err) < 0 || warnings.len > 0) {
        printf("history of %s: %s\n", id, warnings.len ? str_c(&warnings) : err.text);
        fflush(stdout);
        _exit(1);
    }
    int rc = dur_replay(engine, json, &report);
    if (rc != DUR_OK) {
        printf("replay of %s: %s: %s\n%s", id, dur_code_name(rc), dur_error(engine),
               report ? report : "");
        fflush(stdout);
        _exit(1);
    }
}

/* Every history validates and is replayed by the code. */
static void check_all(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, true);
    struct found found = {0};
    int rc = dur_list(engine, 0, 0, RUNS_MAX, keep_id, &found);
    if (rc != DUR_OK) {
        harness_die(engine, "list", rc);
    }
    for (size_t i = 0; i < found.count; i++) {
        char *json = NULL;
        rc = dur_history(engine, found.ids[i], &json);
        if (rc != DUR_OK) {
            harness_die(engine, found.ids[i], rc);
        }
        check_history(engine, found.ids[i], json);
        dur_free(json);
        free(found.ids[i]);
    }
    dur_close(engine);
}

void harness_outcome(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, true);
    dur_description *d = NULL;
    int rc = dur_describe(engine, play->scenario->id, &d);
    if (rc != DUR_OK) {
        harness_die(engine, "describe", rc);
    }
    printf("%s %s\n", dur_status_name(d->status), d->result ? d->result : "-");
    if (d->status == DUR_RUN_FAILED && getenv("SCENARIO_LOG")) {
        fprintf(stderr, "# failure %s\n", d->failure);
    }
    dur_description_free(d);
    dur_close(engine);
}

/* --- in the parent ---------------------------------------------------------------------------- */

static char *read_all(int fd)
{
    autostr struct str text = {0};
    char buf[4096];
    ssize_t n;
    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        str_addn(&text, buf, (size_t)n);
    }
    return str_take(&text);
}

/* fn in a child. What it printed, or NULL when the plan killed it. *ret_bad: it failed. */
char *harness_child(void (*fn)(const struct play *), const struct play *play, bool *ret_bad)
{
    int pipe_fds[2];
    int status = 0;
    fflush(stdout);
    if (pipe(pipe_fds) != 0) {
        abort();
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipe_fds[1], STDOUT_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        alarm(play->server ? SERVER_PLAY_S : PLAY_S);
        fn(play);
        fflush(stdout);
        _exit(0);
    }
    close(pipe_fds[1]);
    char *text = read_all(pipe_fds[0]);
    close(pipe_fds[0]);
    waitpid(pid, &status, 0);
    *ret_bad = false;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        free(text);
        return NULL;
    }
    if (WIFSIGNALED(status)) {
        char *more = mem_printf("%s(signal %d%s)", text, WTERMSIG(status),
                                WTERMSIG(status) == SIGALRM ? ": it hangs" : "");
        free(text);
        text = more;
    }
    *ret_bad = status != 0;
    return text;
}

void harness_judge(bool good, const char *scenario, const char *what, const char *why)
{
    tests++;
    failures += good ? 0 : 1;
    printf("%s %d - %s: %s\n", good ? "ok" : "not ok", tests, scenario, what);
    if (!good && why) {
        const char *line = why;
        while (*line) {
            size_t len = strcspn(line, "\n");
            printf("    # %.*s\n", (int)len, line);
            line += len + (line[len] == '\n');
        }
    }
    fflush(stdout);
}

char *harness_expected(const struct scenario *s, const char *got)
{
    dur_status status = s->status ? s->status : DUR_COMPLETED;
    const char *blank = strchr(got, ' ');
    const char *result = s->result ? s->result : status == DUR_COMPLETED && blank ? blank + 1 : "-";
    return mem_printf("%s %.*s\n", dur_status_name(status), (int)strcspn(result, "\n"), result);
}

/* NULL: good; else why not. */
static char *check_outcome(const struct play *play, bool cancelled, bool *ret_was_cancelled)
{
    bool bad;
    autofree char *checked = harness_child(check_all, play, &bad);
    if (bad) {
        return steal(&checked);
    }
    autofree char *got = harness_child(harness_outcome, play, &bad);
    if (bad || !got) {
        return mem_printf("%s", got ? got : "killed");
    }
    autofree char *want = harness_expected(play->scenario, got);
    bool is_cancelled = strncmp(got, "Canceled ", 9) == 0;
    if (cancelled) {
        *ret_was_cancelled |= is_cancelled;
        return strncmp(got, "Running ", 8) == 0 ? mem_strdup("it is still open") : NULL;
    }
    return strcmp(got, want) == 0 ? NULL : mem_printf("ended with %sexpected   %s", got, want);
}

/* Plays with a SIGKILL after commit k, then goes on. 1: the play ended before k; 0 good; -1 bad. */
static int kill_and_go_on(const struct scenario *s, int64_t k, bool cancel, bool *ret_cancelled,
                          char **ret_why)
{
    autofree char *path = temp_path("scenario.db");
    struct play play = {.scenario = s, .path = path};
    bool bad;
    fault_disk_plan(&(struct fault_plan){.after_commit = k});
    autofree char *first = harness_child(serve, &play, &bad);
    fault_disk_plan(NULL);
    if (bad) {
        *ret_why = mem_printf("killed after commit %lld: %s", (long long)k, first);
        return -1;
    }
    if (first) {
        return 1;
    }
    play.cancel = cancel;
    autofree char *second = harness_child(serve, &play, &bad);
    autofree char *why = bad ? mem_strdup(second) : check_outcome(&play, cancel, ret_cancelled);
    if (why) {
        *ret_why = mem_printf("killed after commit %lld%s, then: %s", (long long)k,
                              cancel ? " and cancelled" : "", why);
        return -1;
    }
    autofree char *dir = mem_strdup(path);
    *strrchr(dir, '/') = '\0';
    (void)fs_remove_tree(dir, NULL);
    return 0;
}

static int64_t stride_of(const struct scenario *s, int64_t commits)
{
    int points = s->is_slow ? 1 : SAMPLE_POINTS;
    return getenv("CHECK_LONG") || commits <= points ? 1 : commits / points + 1;
}

static void sweep(const struct scenario *s, int64_t commits, bool cancel)
{
    bool was_cancelled = false;
    char *why = NULL;
    int points = 0;
    for (int64_t k = s->is_slow && commits > 3 ? 3 : 1; k <= commits && !why;
         k += stride_of(s, commits)) {
        if (kill_and_go_on(s, k, cancel, &was_cancelled, &why) == 1) {
            break;
        }
        points++;
    }
    bool must_cancel = cancel && !s->ignores_cancel;
    for (int64_t k = 1; k <= commits && must_cancel && !why && !was_cancelled; k++) {
        (void)kill_and_go_on(s, k, cancel, &was_cancelled, &why); /* the sample missed it */
        points++;
    }
    if (must_cancel && !why && !was_cancelled) {
        why = mem_strdup("it was never cancelled");
    }
    autofree char *what = mem_printf("%s at %d of %lld commits", cancel ? "cancelled" : "killed",
                                     points, (long long)commits);
    harness_judge(!why, s->name, what, why);
    free(why);
}

/* --- golden histories --------------------------------------------------------------------------
 */

char *harness_golden(const struct scenario *s, size_t number)
{
    const char *top = getenv("abs_top_srcdir");
    return mem_printf("%s/tests/golden/scenario/%s-%zu.json", top ? top : ".", s->name, number);
}

/* Writes the histories of all runs to DIR/NAME-1.json and so on, oldest first. */
static const char *export_dir;

static void export_all(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, true);
    struct found found = {0};
    int rc = dur_list(engine, 0, 0, RUNS_MAX, keep_id, &found);
    if (rc != DUR_OK) {
        harness_die(engine, "list", rc);
    }
    for (size_t i = 0; i < found.count; i++) {
        char *json = NULL;
        struct err err;
        rc = dur_history(engine, found.ids[found.count - 1 - i], &json);
        if (rc != DUR_OK) {
            harness_die(engine, "history", rc);
        }
        autofree char *file = mem_printf("%s/%s-%zu.json", export_dir, play->scenario->name, i + 1);
        if (fs_write_file(file, json, strlen(json), 0644, &err) < 0) {
            printf("%s\n", err.text);
            fflush(stdout);
            _exit(1);
        }
        dur_free(json);
    }
    printf("%zu", found.count);
    dur_close(engine);
}

/* The code replays it. NULL: good. */
static char *replay_golden(const struct scenario *s, const char *json)
{
    autofree char *path = temp_path("golden.db");
    struct play play = {.scenario = s, .path = path};
    dur_engine *engine = harness_open(&play, NULL, false);
    char *report = NULL;
    int rc = dur_replay(engine, json, &report);
    char *why = rc ? mem_printf("%s\n%s", dur_code_name(rc), report ? report : "") : NULL;
    dur_free(report);
    dur_close(engine);
    return why;
}

/* {"seconds":S,"nanos":N} of local activities' markers become 0: they are times like any other. */
void harness_blank_times(struct arena *arena, struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        struct event *event = &history->items[i];
        const struct payloads *data =
            event->type == EVENT_MARKER_RECORDED && ev_marker_recorded(event)->details
                ? payloads_map_get(ev_marker_recorded(event)->details, "data")
                : NULL;
        const char *from = data ? payloads_first_json(data, NULL) : NULL;
        autostr struct str text = {0};
        if (!from || strcmp(ev_marker_recorded(event)->marker_name, "core_local_activity") != 0) {
            continue;
        }
        const char *at;
        while ((at = strstr(from, "_time\":{")) != NULL) {
            at += strlen("_time\":{");
            str_addn(&text, from, (size_t)(at - from));
            from = at + strcspn(at, "}");
        }
        str_add(&text, from);
        payload_set((struct payload *)(uintptr_t)&data->items[0], arena, "json/plain", str_c(&text),
                    text.len);
    }
}

/* The histories in export_dir equal the golden ones. */
static char *compare_golden(const struct scenario *s, size_t count)
{
    autofree char *beyond = harness_golden(s, count + 1);
    if (fs_exists(beyond) && !s->varies) {
        return mem_printf("%s exists, but there are only %zu runs", beyond, count);
    }
    for (size_t n = 1; n <= count; n++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str difference = {0};
        struct history golden = {0};
        struct history actual = {0};
        struct err err;
        autofree char *want = harness_golden(s, n);
        autofree char *have = mem_printf("%s/%s-%zu.json", export_dir, s->name, n);
        autostr struct str want_text = {0};
        autostr struct str have_text = {0};
        if (fs_read_file(want, HISTORY_BYTES, &want_text, &err) < 0) {
            return mem_printf("%s (UPDATE_GOLDEN=1 makes it)", err.text);
        }
        if (fs_read_file(have, HISTORY_BYTES, &have_text, &err) < 0) {
            return mem_strdup(err.text);
        }
        harness_parse(want, arena, str_c(&want_text), &golden);
        harness_parse(have, arena, str_c(&have_text), &actual);
        harness_blank_times(arena, &golden);
        harness_blank_times(arena, &actual);
        if (s->varies) {
            autofree char *replayed = replay_golden(s, str_c(&want_text));
            if (replayed) {
                return steal(&replayed);
            }
        } else if (!history_equal(&golden, &actual, DIFF_NORMAL, &difference)) {
            return mem_printf("run %zu differs from its golden history: %s", n, str_c(&difference));
        }
    }
    return NULL;
}

/* Replays the golden histories with the changed code. */
static void replay_changed(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, true);
    for (size_t n = 1;; n++) {
        autofree char *path = harness_golden(play->scenario, n);
        autostr struct str json = {0};
        char *report = NULL;
        if (!fs_exists(path) || fs_read_file(path, HISTORY_BYTES, &json, NULL) < 0) {
            break;
        }
        if (dur_replay(engine, str_c(&json), &report) == DUR_MISMATCH) {
            if (getenv("SCENARIO_LOG")) {
                fputs(report, stderr);
            }
            printf("mismatch");
            break;
        }
        dur_free(report);
    }
    fflush(stdout);
    _exit(0); /* an engine that never served: nothing to give back */
}

static void check_changed(const struct scenario *s, const char *path)
{
    struct play play = {.scenario = s, .path = path, .changed = true};
    bool bad;
    if (s->no_change) {
        return;
    }
    autofree char *text = harness_child(replay_changed, &play, &bad);
    harness_judge(!bad && text && strcmp(text, "mismatch") == 0, s->name,
                  "changed code is a mismatch",
                  text && *text ? text : "the changed code replays the golden histories");
}

static void check_golden(const struct scenario *s, size_t count)
{
    for (size_t n = 1; getenv("UPDATE_GOLDEN") && n <= count; n++) {
        struct err err;
        autostr struct str text = {0};
        autofree char *from = mem_printf("%s/%s-%zu.json", export_dir, s->name, n);
        autofree char *to = harness_golden(s, n);
        if (fs_read_file(from, HISTORY_BYTES, &text, &err) < 0 ||
            fs_write_file(to, text.ptr, text.len, 0644, &err) < 0) {
            harness_judge(false, s->name, "golden written", err.text);
            return;
        }
    }
    autofree char *why = compare_golden(s, count);
    harness_judge(!why, s->name, "golden histories", why);
}

static void check_scenario(const struct scenario *s)
{
    autofree char *path = temp_path("scenario.db");
    struct play play = {.scenario = s, .path = path};
    struct fault_counts counts;
    bool bad;
    bool ignored = false;
    fault_disk_plan(NULL);
    autofree char *served = harness_child(serve, &play, &bad);
    fault_disk_counts(&counts);
    autofree char *why = bad ? mem_strdup(served) : check_outcome(&play, false, &ignored);
    harness_judge(!why, s->name, "runs to its end", why);
    if (why || s->no_golden) {
        return;
    }
    autofree char *dir = mem_strdup(path);
    *strrchr(dir, '/') = '\0';
    export_dir = dir;
    autofree char *exported = harness_child(export_all, &play, &bad);
    if (bad) {
        harness_judge(false, s->name, "golden histories", exported);
        return;
    }
    check_golden(s, strtoul(exported, NULL, 10));
    check_changed(s, path);
    sweep(s, counts.wal_syncs, false);
    sweep(s, counts.wal_syncs, true);
}

static void export_scenario(const struct scenario *s)
{
    autofree char *path = temp_path("scenario.db");
    struct play play = {.scenario = s, .path = path};
    bool bad;
    autofree char *served = harness_child(serve, &play, &bad);
    autofree char *exported = bad ? NULL : harness_child(export_all, &play, &bad);
    if (bad) {
        fprintf(stderr, "%s: %s\n", s->name, exported ? exported : served);
        failures++;
    }
}

static bool is_wanted(const struct scenario *s, int argc, char **argv, int first)
{
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], s->name) == 0) {
            return true;
        }
    }
    return first >= argc;
}

static void play_on_server(const struct scenario *s, const char *address, const char *name_space,
                           const char *what)
{
    if (strcmp(what, "kill") == 0) {
        check_killed_on_server(s, address, name_space);
    } else if (strcmp(what, "cancel") == 0) {
        check_cancelled_on_server(s, address, name_space);
    } else {
        check_on_server(s, address, name_space, what);
    }
}

int main(int argc, char **argv)
{
    int first = 1;
    bool is_judging = argc > 2 && strcmp(argv[1], "--judge") == 0;
    bool is_server = argc > 4 && strcmp(argv[1], "--server") == 0;
    bool only_list = argc > 1 && strcmp(argv[1], "--list") == 0;
    if (argc > 2 && (is_judging || strcmp(argv[1], "--export") == 0)) {
        export_dir = argv[2];
        first = 3;
    }
    first = is_server ? 5 : first;
    fault_disk_register();
    for (const struct scenario *s = scenarios; s; s = s->next) {
        if (only_list) {
            printf("%-24s %s\n", s->name, s->primitive);
        } else if (!is_wanted(s, argc, argv, first)) {
            continue;
        } else if (is_server) {
            play_on_server(s, argv[2], argv[3], argv[4]);
        } else if (is_judging) {
            judge_histories(s, export_dir);
        } else if (first == 3 && (argc > 3 || !s->no_golden)) {
            export_scenario(s);
        } else if (first == 3) {
            continue;
        } else {
            check_scenario(s);
        }
    }
    if (is_server || is_judging || (!only_list && first != 3)) {
        printf("1..%d\n", tests);
    }
    return failures > 0;
}
