/*
 * bench-open.c - what an engine costs that has much to wait for, or nothing to do.
 *
 *   open_runs                runs that wait: for a signal, for a timer, for an activity that a dead
 *                            engine had begun
 *   recovery_ms              from dur_serve() to the first activity that starts
 *   recovered_all_ms         until every lost activity has been started again
 *   cached_run_kib           resident memory that one waiting run costs while it is cached
 *   idle_rss_mib             of an engine with an empty store
 *   idle_anon_mib            of that, what is its own (the rest is shared with the files it maps)
 *   idle_wakeups_per_min     voluntary switches of all its threads
 * Every engine is a process of its own. Usage: bench-open [RUNS [IDLE_SECONDS]] (10000, 10)
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#include <dirent.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "durable.h"

#define STARTERS 16
#define PATIENCE_NS (120 * NS_PER_S)
#define LANE_SLOTS 64

/* What the processes tell each other. */
struct board {
    _Atomic int64_t first_ns; /* when the first activity started; monotonic */
    _Atomic int64_t last_ns;
    _Atomic int started, lanes_full;
};

static struct board *board;

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    int64_t none = 0, now = clock_mono_ns();
    (void)input;
    (void)result;
    (void)user;
    atomic_compare_exchange_strong(&board->first_ns, &none, now);
    atomic_store(&board->last_ns, now);
    atomic_fetch_add(&board->started, 1);
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(20);
    }
    return DUR_CANCELLED;
}

/* Its input says what it waits for. */
static int wait_for_it(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    switch (dur_json_int(input, "", 0)) {
    case 0:
        return dur_run(ctx, "hang", NULL, NULL, NULL);
    case 1:
        return dur_sleep(ctx, DUR_DAYS);
    default:
        return dur_receive(ctx, "go", -1, NULL);
    }
}

static dur_engine *open_engine(const char *path)
{
    dur_engine *engine;
    dur_options o = {.reserve_bytes = -1, .max_cached_runs = 100000, .stop_grace_ms = 100};
    if (dur_open(&engine, path, &o) != DUR_OK) {
        fprintf(stderr, "bench-open: %s\n", dur_error(engine));
        exit(1);
    }
    dur_register_activity(engine, "hang", hang, NULL);
    dur_register_workflow(engine, "Wait", wait_for_it, NULL);
    dur_lane(engine, "default", LANE_SLOTS);
    return engine;
}

struct starter {
    dur_engine *engine;
    int first, runs;
};

static void *start_some(void *arg)
{
    const struct starter *s = arg;
    for (int i = s->first; i < s->runs; i += STARTERS) {
        char id[32], input[8];
        snprintf(id, sizeof(id), "wait-%d", i);
        snprintf(input, sizeof(input), "%d", i < LANE_SLOTS ? 0 : 1 + i % 2);
        if (dur_start(s->engine, "Wait", id, input, NULL) != DUR_OK) {
            fprintf(stderr, "bench-open: %s\n", dur_error(s->engine));
            exit(1);
        }
    }
    return NULL;
}

static void start_all(dur_engine *engine, int runs)
{
    pthread_t threads[STARTERS];
    struct starter starters[STARTERS];
    for (int i = 0; i < STARTERS; i++) {
        starters[i] = (struct starter){engine, i, runs};
        pthread_create(&threads[i], NULL, start_some, &starters[i]);
    }
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static int64_t field_of(const char *path, const char *name)
{
    struct err err;
    autostr struct str text = {0};
    long long value = 0;
    if (fs_read_file(path, 1 << 20, &text, &err) == 0) {
        const char *at = strstr(str_c(&text), name);
        if (at) {
            sscanf(at + strlen(name), " %lld", &value);
        }
    }
    return value;
}

static int64_t rss_bytes(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return field_of(path, "VmRSS:") * 1024;
}

static int64_t anon_bytes(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return field_of(path, "RssAnon:") * 1024;
}

static int64_t switches_of(pid_t pid)
{
    char path[300];
    int64_t sum = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", (int)pid, entry->d_name);
            sum += field_of(path, "\nvoluntary_ctxt_switches:");
        }
    }
    if (dir) {
        closedir(dir);
    }
    return sum;
}

static int count_row(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    *(int *)user += d->history_events >= 4; /* its first task is done */
    return 0;
}

static void *serve(void *engine)
{
    dur_serve(engine, DUR_UNTIL_STOPPED);
    return NULL;
}

/* Makes the runs, lets every one of them come to its wait, and dies. */
static void make_store(const char *path, int runs)
{
    pthread_t thread;
    dur_engine *engine = open_engine(path);
    start_all(engine, runs);
    int64_t before = rss_bytes(getpid());
    pthread_create(&thread, NULL, serve, engine);
    int waiting = 0;
    for (int64_t since = clock_mono_ns();
         waiting < runs && clock_mono_ns() - since < PATIENCE_NS;) {
        clock_sleep_ms(200);
        waiting = 0;
        dur_list(engine, DUR_RUNNING, 0, runs, count_row, &waiting);
    }
    clock_sleep_ms(1500); /* waiting runs give back what they do not need */
    printf("figure open_runs %d runs\n", waiting);
    printf("figure cached_run_kib %.1f KiB\n",
           (double)(rss_bytes(getpid()) - before) / 1024 / (runs > 0 ? runs : 1));
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

static void recover(const char *path)
{
    pthread_t thread;
    dur_engine *engine = open_engine(path);
    memset(board, 0, sizeof(*board));
    int64_t since = clock_mono_ns();
    pthread_create(&thread, NULL, serve, engine);
    while (atomic_load(&board->started) < LANE_SLOTS && clock_mono_ns() - since < PATIENCE_NS) {
        clock_sleep_ms(1);
    }
    printf("figure recovery_ms %.1f ms\n", (double)(atomic_load(&board->first_ns) - since) / 1e6);
    printf("figure recovered_all_ms %.1f ms\n",
           (double)(atomic_load(&board->last_ns) - since) / 1e6);
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

static pid_t in_child(void (*fn)(const char *path, int runs), const char *path, int runs)
{
    pid_t pid = fork();
    if (pid == 0) {
        fn(path, runs);
        _exit(0);
    }
    return pid;
}

static void recover_there(const char *path, int runs)
{
    (void)runs;
    recover(path);
}

static void be_idle(const char *path, int runs)
{
    (void)runs;
    dur_serve(open_engine(path), DUR_UNTIL_STOPPED);
}

static void idle_figures(const char *path, int seconds)
{
    pid_t pid = in_child(be_idle, path, 0);
    clock_sleep_ms(2000);
    int64_t before = switches_of(pid);
    clock_sleep_ms(seconds * 1000);
    int64_t wakeups = switches_of(pid) - before;
    printf("figure idle_rss_mib %.1f MiB\n", (double)rss_bytes(pid) / (1 << 20));
    printf("figure idle_anon_mib %.1f MiB\n", (double)anon_bytes(pid) / (1 << 20));
    printf("figure idle_wakeups_per_min %.0f wakeups\n", (double)wakeups * 60 / seconds);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    char dir[] = "bench-open-XXXXXX";
    int runs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10000;
    int seconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 10;
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED || !mkdtemp(dir) || runs < LANE_SLOTS || seconds < 1) {
        fprintf(stderr, "usage: bench-open [RUNS [IDLE_SECONDS]]\n");
        return 2;
    }
    autofree char *path = mem_printf("%s/open.db", dir);
    autofree char *empty = mem_printf("%s/empty.db", dir);
    waitpid(in_child(make_store, path, runs), NULL, 0);
    waitpid(in_child(recover_there, path, runs), NULL, 0);
    idle_figures(empty, seconds);
    fs_remove_tree(dir, NULL);
    return 0;
}
