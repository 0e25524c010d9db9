/*
 * sweep.c - see sweep.h. Tests: tests/unit/test_selftest_sweep.c
 *
 * Format: struct hall is one shared mapping: the shards take points from it and write results
 * under its lock. A shard dies holding the lock only by a kill from outside; the lock is robust.
 */
#include "selftest/sweep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"

#define JOBS_MAX 64
#define PLAY_MS 60000
#define LOOK_MS 50 /* how often the parent looks */
#define EXIT_KILLED (128 + SIGKILL)
#define EXIT_JUDGED 100 /* + the harm found: no status that a process has by accident */

struct hall {
    pthread_mutex_t lock;
    int64_t next; /* point to be tried */
    struct sweep_table table;
};

/* What one process of the sweep needs; the stage's memory is shared with its children. */
struct run {
    const struct sweep_subject *subject;
    const struct sweep_options *options;
    struct hall *hall;
    void *known;
    int64_t count;  /* points to try */
    int64_t stride; /* between two points that follow each other */
    int64_t until_ns;
    int64_t play_ms;
    enum fault_mode modes[FAULT_MODES];
    int mode_count;
};

const char *sweep_harm_name(enum sweep_harm harm)
{
    static const char *const names[SWEEP_HARMS] = {"good",   "lost",    "corrupt",
                                                   "broken", "differs", "stuck"};
    return harm < SWEEP_HARMS ? names[harm] : "?";
}

void sweep_say(const struct sweep_stage *stage, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(stage->why, SWEEP_WHY_BYTES, fmt, ap);
    va_end(ap);
}

static void *shared_alloc(size_t bytes)
{
    void *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        mem_exhausted(bytes);
    }
    return memory;
}

static struct hall *make_hall(void)
{
    struct hall *hall = shared_alloc(sizeof(*hall));
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&hall->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return hall;
}

static void enter(struct hall *hall)
{
    if (pthread_mutex_lock(&hall->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&hall->lock);
    }
}

static void leave(struct hall *hall)
{
    pthread_mutex_unlock(&hall->lock);
}

/* In a new process: dies with its parent, is not asked by Ctrl-C. */
static void settle(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    signal(SIGINT, SIG_IGN);
}

/* --- a point ---------------------------------------------------------------------------------- */

enum act {
    LEARN,
    PLAY,
    JUDGE,
};

/* One act in a process of its own. Its exit status, or 128 + signal; -1: it took too long. */
static int perform(const struct run *run, struct sweep_stage *stage, enum act act,
                   const struct fault_plan *plan)
{
    int status = 0;
    pid_t parent = getpid();
    stage->vfs = act == JUDGE ? NULL : "fault";
    pid_t pid = fork();
    if (pid == 0) {
        settle(parent);
        fault_disk_plan(plan);
        int rc = act == LEARN  ? run->subject->learn(stage)
                 : act == PLAY ? run->subject->play(stage)
                               : (int)run->subject->judge(stage);
        _exit(act == JUDGE ? EXIT_JUDGED + rc : rc != 0);
    }
    if (pid < 0 || proc_wait(pid, run->play_ms, &status, NULL) != 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            proc_wait(pid, -1, &status, NULL);
        }
        return -1;
    }
    return status;
}

/* What the act's end says of it; SWEEP_GOOD: nothing bad. */
static enum sweep_harm harm_of_play(const struct sweep_stage *stage, int status)
{
    if (status == 0 || status == EXIT_KILLED) {
        return SWEEP_GOOD;
    }
    char before[SWEEP_WHY_BYTES];
    snprintf(before, sizeof(before), "%s", stage->why);
    if (status < 0) {
        sweep_say(stage, "the disturbed play took too long; last words: %s", before);
    } else if (status > 128) {
        sweep_say(stage, "signal %d ended the disturbed play", status - 128);
        return SWEEP_BROKEN;
    } else {
        sweep_say(stage, "the error ended the play: %s", before);
    }
    return SWEEP_STUCK;
}

static enum sweep_harm harm_of_judge(const struct sweep_stage *stage, int status)
{
    if (status >= EXIT_JUDGED && status < EXIT_JUDGED + SWEEP_HARMS) {
        return (enum sweep_harm)(status - EXIT_JUDGED);
    }
    if (status < 0) {
        sweep_say(stage, "it took too long to go on to its end");
        return SWEEP_STUCK;
    }
    sweep_say(stage, "status %d ended the process that went on", status);
    return SWEEP_BROKEN;
}

static void note(struct run *run, const struct fault_plan *plan, int status, bool reached,
                 enum sweep_harm harm, const char *why)
{
    struct sweep_table *table = &run->hall->table;
    enter(run->hall);
    struct sweep_row *row = &table->rows[plan->mode];
    row->points++;
    row->died += status == EXIT_KILLED;
    row->unreached += !reached;
    row->harm[harm]++;
    if (harm != SWEEP_GOOD && table->finding_count < SWEEP_FINDINGS) {
        struct sweep_finding *finding = &table->findings[table->finding_count++];
        *finding = (struct sweep_finding){
            .mode = plan->mode, .at = plan->at, .seed = plan->seed, .harm = harm};
        str_copy(finding->why, sizeof(finding->why), why[0] ? why : "it said nothing");
    }
    leave(run->hall);
}

static void try_point(struct run *run, struct sweep_stage *stage, int64_t number)
{
    const struct fault_plan plan = {
        .mode = run->modes[number % run->mode_count],
        .at = number / run->mode_count + 1,
        .seed = run->options->seed * 1000003 + (uint64_t)number,
        .plant = run->options->plant,
    };
    struct fault_counts counts;
    struct err err = {0};
    if (fs_mkdirs(stage->dir, 0700, &err) < 0) {
        note(run, &plan, 0, false, SWEEP_STUCK, err.text);
        return;
    }
    memset(stage->board, 0, run->subject->board_bytes);
    stage->why[0] = '\0';
    fault_disk_plan(&plan); /* the counts begin anew */
    int status = perform(run, stage, PLAY, &plan);
    fault_disk_counts(&counts);
    enum sweep_harm harm = harm_of_play(stage, status);
    if (harm == SWEEP_GOOD) {
        stage->why[0] = '\0';
        harm = harm_of_judge(stage, perform(run, stage, JUDGE, NULL));
    }
    note(run, &plan, status, counts.operations >= plan.at, harm, stage->why);
    fs_remove_tree(stage->dir, NULL);
}

/* --- shards ----------------------------------------------------------------------------------- */

static struct sweep_stage make_stage(const struct run *run, const char *base, const char *dir)
{
    return (struct sweep_stage){.base = base,
                                .dir = dir,
                                .known = run->known,
                                .board = shared_alloc(run->subject->board_bytes),
                                .why = shared_alloc(SWEEP_WHY_BYTES),
                                .user = run->subject->user};
}

static void run_shard(struct run *run, const char *base, int shard)
{
    char name[32];
    snprintf(name, sizeof(name), "shard-%d", shard);
    autofree char *dir = fs_join(base, name);
    struct sweep_stage stage = make_stage(run, base, dir);
    fault_disk_detach();
    for (bool is_first = true;; is_first = false) {
        enter(run->hall);
        int64_t index = run->hall->next < run->count ? run->hall->next++ : run->count;
        leave(run->hall);
        if (index == run->count || (!is_first && clock_mono_ns() >= run->until_ns)) {
            return;
        }
        int64_t total = run->hall->table.total;
        uint64_t first = run->options->seed % (uint64_t)total;
        try_point(run, &stage,
                  (int64_t)((first + (uint64_t)index * (uint64_t)run->stride) % (uint64_t)total));
    }
}

/* A stride that spreads any number of points evenly over `total` and meets each once. */
static int64_t stride_for(int64_t total)
{
    int64_t stride = total * 618 / 1000 + 1;
    for (;; stride++) {
        int64_t a = total, b = stride;
        while (b != 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            return stride;
        }
    }
}

static int learn(struct run *run, const char *base, struct err *err)
{
    struct fault_counts counts;
    autofree char *dir = fs_join(base, "learn");
    struct sweep_stage stage = make_stage(run, base, dir);
    if (fs_mkdirs(dir, 0700, err) < 0) {
        return -1;
    }
    fault_disk_plan(NULL);
    int status = perform(run, &stage, LEARN, NULL);
    fault_disk_counts(&counts);
    struct sweep_table *table = &run->hall->table;
    table->operations = counts.operations;
    table->syncs = counts.syncs;
    table->commits = counts.wal_syncs;
    table->total = counts.operations * run->mode_count;
    if (status != 0) {
        err_set(err, ERR_PERMANENT, "SweepPlay", "the undisturbed play %s: %s",
                status < 0 ? "took too long" : "did not end well",
                stage.why[0] ? stage.why : "it said nothing");
    }
    fs_remove_tree(dir, NULL);
    munmap(stage.board, run->subject->board_bytes + 1);
    munmap(stage.why, SWEEP_WHY_BYTES + 1);
    return status == 0 ? 0 : -1;
}

static bool ask_progress(struct run *run)
{
    if (!run->options->progress) {
        return false;
    }
    enter(run->hall);
    struct sweep_table so_far = run->hall->table;
    leave(run->hall);
    return run->options->progress(run->options->progress_user, &so_far);
}

/* Waits for all of them; kills them when progress() says so. */
static int watch(struct run *run, pid_t *shards, int count, struct err *err)
{
    int left = count, rc = 0, status;
    while (left > 0) {
        for (int i = 0; i < count; i++) {
            if (shards[i] > 0 && proc_wait(shards[i], 0, &status, NULL) == 0) {
                shards[i] = 0;
                left--;
                if (status != 0 && !run->hall->table.stopped) {
                    rc = err_set(err, ERR_PERMANENT, "SweepProcess",
                                 "status %d ended a process of the sweep", status);
                }
            }
        }
        if (left > 0 && !run->hall->table.stopped && ask_progress(run)) {
            run->hall->table.stopped = true;
            for (int i = 0; i < count; i++) {
                if (shards[i] > 0) {
                    kill(shards[i], SIGKILL);
                }
            }
        }
        if (left > 0) {
            clock_sleep_ms(LOOK_MS);
        }
    }
    return rc;
}

static int run_shards(struct run *run, const char *base, struct err *err)
{
    pid_t shards[JOBS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int jobs = run->options->jobs > 0 ? run->options->jobs
               : processors > 0       ? 2 * (int)processors
                                      : 1;
    int count = 0, rc = 0;
    pid_t parent = getpid();
    jobs = jobs > JOBS_MAX ? JOBS_MAX : jobs;
    fflush(NULL);
    for (int i = 0; i < jobs && rc == 0; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            settle(parent);
            run_shard(run, base, i);
            _exit(0);
        }
        if (pid > 0) {
            shards[count++] = pid;
        } else {
            rc = err_sys(err, errno, "SweepProcess", "a process of the sweep cannot be started");
        }
    }
    int watched = watch(run, shards, count, rc < 0 ? NULL : err);
    return rc < 0 ? rc : watched;
}

int sweep_run(const struct sweep_subject *subject, const struct sweep_options *options,
              struct sweep_table *table, struct err *err)
{
    int64_t from = clock_mono_ns();
    struct run run = {.subject = subject,
                      .options = options,
                      .hall = make_hall(),
                      .known = shared_alloc(subject->known_bytes),
                      .play_ms = options->play_ms > 0 ? options->play_ms : PLAY_MS};
    autofree char *prefix = fs_join(options->dir, "sweep");
    autofree char *base = NULL;
    run.until_ns = options->limit_ms > 0 ? from + options->limit_ms * NS_PER_MS : INT64_MAX;
    for (int mode = FAULT_NONE + 1; mode < FAULT_MODES; mode++) {
        if (options->faults & 1U << mode) {
            run.modes[run.mode_count++] = (enum fault_mode)mode;
        }
    }
    fault_disk_register();
    int rc = fs_make_temp_dir(prefix, &base, err);
    if (rc == 0) {
        rc = learn(&run, base, err);
    }
    if (rc == 0 && run.hall->table.total > 0) {
        int64_t total = run.hall->table.total;
        run.count = options->points > 0 && options->points < total ? options->points : total;
        run.stride = stride_for(total);
        rc = run_shards(&run, base, err);
    }
    *table = run.hall->table;
    table->elapsed_ns = clock_mono_ns() - from;
    if (base) {
        fs_remove_tree(base, NULL);
    }
    munmap(run.known, subject->known_bytes + 1);
    munmap(run.hall, sizeof(*run.hall) + 1);
    return rc;
}

/* --- the table -------------------------------------------------------------------------------- */

struct sweep_row sweep_sum(const struct sweep_table *table)
{
    struct sweep_row sum = {0};
    for (int mode = 0; mode < FAULT_MODES; mode++) {
        const struct sweep_row *row = &table->rows[mode];
        sum.points += row->points;
        sum.died += row->died;
        sum.unreached += row->unreached;
        for (int harm = 0; harm < SWEEP_HARMS; harm++) {
            sum.harm[harm] += row->harm[harm];
        }
    }
    return sum;
}

int64_t sweep_harmed(const struct sweep_table *table)
{
    struct sweep_row sum = sweep_sum(table);
    return sum.points - sum.harm[SWEEP_GOOD];
}

static void print_row(struct str *out, const char *name, const struct sweep_row *row)
{
    str_addf(out, "%-20s%6lld%5lld%8lld%7lld%8lld%6lld\n", name, (long long)row->points,
             (long long)row->harm[SWEEP_LOST], (long long)row->harm[SWEEP_CORRUPT],
             (long long)row->harm[SWEEP_BROKEN], (long long)row->harm[SWEEP_DIFFERS],
             (long long)row->harm[SWEEP_STUCK]);
}

void sweep_print(struct str *out, const struct sweep_table *table)
{
    struct sweep_row sum = sweep_sum(table);
    str_add(out, "fault               points lost corrupt broken differs stuck\n");
    for (int mode = 0; mode < FAULT_MODES; mode++) {
        if (table->rows[mode].points > 0) {
            print_row(out, fault_disk_mode_name((enum fault_mode)mode), &table->rows[mode]);
        }
    }
    print_row(out, "all", &sum);
    for (int i = 0; i < table->finding_count; i++) {
        const struct sweep_finding *finding = &table->findings[i];
        str_addf(out, "%s: %s at operation %lld, seed %llu\n  %s\n", sweep_harm_name(finding->harm),
                 fault_disk_mode_name(finding->mode), (long long)finding->at,
                 (unsigned long long)finding->seed, finding->why);
    }
}
