/*
 * nth.c - plays every path of nth.h with the Nth call of every kind failing, and prints the table.
 *
 * usage: nth [--path NAME]... [--kind NAME]... [--sample N] [--at N [--lasting]] [--planted]
 * [--verbose]
 *   --sample N  about N calls of each kind and path instead of all
 *   --at N      this one alone: to look closer at a finding; its place is kept
 *   --planted   paths with a known bug (planted_paths.c); good when each is found
 * A play fails when its process is ended by a signal or hangs, leaves without a documented reason,
 * says nothing about an error, leaks memory or descriptors, leaves a temporary file, or when what
 * was acknowledged is not there for a second engine. Exit status: 0 when no play failed.
 * Leaks: the balance of allocations of a play is compared with that of one without a failure; what
 * is allocated once per process is there before, since the path is played once before the forks.
 */
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tests/nth/nth.h"

#define PLAY_SECONDS 20
#define PROGRAM_SECONDS 90 /* a client's patience with a program, some times over */
#define PLANTED_SECONDS 1
#define NAMES_MAX 16
#define THREADS_PRIMED 12
#define LIBRARY_BLOCKS 2 /* libcrypto keeps what its first error needs, per thread */

struct tally {
    long points, clean, retried, left, failed;
};

static const char *only_paths[NAMES_MAX], *only_kinds[NAMES_MAX];
static int path_count, kind_count;
static long sample, only_at;
static bool only_lasting, is_verbose, is_planted;
static char *home;
static struct nth_report *report;
static long failures;
static bool is_found; /* what was planted in this path */

const char *nth_plan_file, *nth_library;

void nth_complain(struct nth_report *r, const char *fmt, ...)
{
    va_list ap;
    if (r->complaint[0]) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(r->complaint, sizeof(r->complaint), fmt, ap);
    va_end(ap);
}

void nth_told(struct nth_report *r, const char *call, int code, const char *text)
{
    if (code == 0) {
        return;
    }
    if (!text || text[0] == '\0') {
        nth_complain(r, "%s: code %d without a word", call, code);
    } else if (strchr(text, '\n')) {
        nth_complain(r, "%s: code %d in more than one line: %s", call, code, text);
    }
    if (r->code == 0) {
        r->code = code;
        snprintf(r->text, sizeof(r->text), "%s: %d %s", call, code, text ? text : "");
    }
}

static void copy_dir(const char *from, const char *to);

/* --- places ------------------------------------------------------------------------------------
 */

static void must(bool is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "nth: %s: %s\n", what, strerrordesc_np(errno));
        exit(2);
    }
}

static void copy_file(const char *from, const char *to, mode_t mode)
{
    struct str bytes = {0};
    struct err err = {0};
    must(fs_read_file(from, 1 << 28, &bytes, &err) == 0, from);
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && fs_write_all(fd, str_c(&bytes), bytes.len, &err) == 0, to);
    must(fchmod(fd, mode & 07777) == 0, to);
    close(fd);
    str_free(&bytes);
}

static void copy_entry(const char *from, const char *to)
{
    struct stat st;
    char target[PATH_MAX] = "";
    must(lstat(from, &st) == 0, from);
    if (S_ISDIR(st.st_mode)) {
        copy_dir(from, to);
    } else if (S_ISLNK(st.st_mode)) {
        must(readlink(from, target, sizeof(target) - 1) > 0 && symlink(target, to) == 0, to);
    } else if (S_ISREG(st.st_mode)) {
        copy_file(from, to, st.st_mode);
    }
}

static void copy_dir(const char *from, const char *to)
{
    must(fs_remove_tree(to, NULL) == 0 && mkdir(to, 0755) == 0, to);
    DIR *dir = opendir(from);
    must(dir != NULL, from);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char *a = fs_join(from, entry->d_name);
        char *b = fs_join(to, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            copy_entry(a, b);
        }
        free(a);
        free(b);
    }
    closedir(dir);
}

static void find_left(const char *where)
{
    DIR *dir = opendir(where);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, ".tmp-", 5) == 0) {
            nth_complain(report, "a temporary file is left: %s/%s", where, entry->d_name);
        } else if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            char *below = fs_join(where, entry->d_name);
            find_left(below);
            free(below);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* --- one play ----------------------------------------------------------------------------------
 */

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

/* For whoever looks at one finding. */
static void list_descriptors(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char link[64], to[256];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, to, sizeof(to) - 1);
        if (len > 0) {
            fprintf(stderr, "%d -> %.*s\n", fd, (int)len, to);
        }
    }
}

static long play(const struct nth_path *path, const char *place)
{
    long before = nth_live_blocks();
    if (path->is_program) {
        nth_look_on(); /* in warming up too: nothing of the judge's is meant to fail */
    }
    path->play(place, report);
    atomic_store(&nth_shared()->is_off, true);
    return nth_live_blocks() - before;
}

/* In a child. */
static void play_with(const struct nth_path *path, const char *place, enum nth_kind kind, long at,
                      bool is_lasting, long usual_blocks)
{
    alarm(is_planted ? PLANTED_SECONDS : path->is_program ? PROGRAM_SECONDS : PLAY_SECONDS);
    int before = descriptors();
    nth_plan(nth_shared(), kind, at, is_lasting);
    long blocks = play(path, place);
    int fds = descriptors() - before;
    if (fds > 0) {
        nth_complain(report, "%d descriptors leak", fds);
        list_descriptors();
    }
    if (kind == NTH_OTHER_MEMORY) {
        usual_blocks += LIBRARY_BLOCKS;
    }
    if (blocks > usual_blocks && !path->is_program) {
        nth_complain(report, "%ld blocks of memory leak", blocks - usual_blocks);
    }
    report->is_over = true;
}

static void to_file(const char *name)
{
    char *path = fs_join(home, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) {
        dup2(fd, STDERR_FILENO);
        close(fd);
    }
    free(path);
}

static int in_child(void (*fn)(void *), void *arg, const char *output)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        to_file(output);
        fn(arg);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

struct job {
    const struct nth_path *path;
    const char *place;
    enum nth_kind kind;
    long at;
    bool is_lasting;
    long blocks;
};

/* Where it was, for play.err; then it ends as it would have. */
static void on_crash(int number)
{
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

static void do_play(void *arg)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM};
    struct job *job = arg;
    for (size_t i = 0; i < ARRAY_LEN(crashes); i++) {
        signal(crashes[i], on_crash);
    }
    play_with(job->path, job->place, job->kind, job->at, job->is_lasting, job->blocks);
}

static void do_verify(void *arg)
{
    struct job *job = arg;
    alarm(job->path->is_program ? PROGRAM_SECONDS : PLAY_SECONDS);
    job->path->verify(job->place, report);
}

static void do_make(void *arg)
{
    struct job *job = arg;
    alarm(PLAY_SECONDS);
    if (job->path->make) {
        job->path->make(job->place);
    }
}

static bool is_memory(enum nth_kind kind)
{
    return kind == NTH_OWN_MEMORY || kind == NTH_SQLITE_MEMORY || kind == NTH_OTHER_MEMORY ||
           kind == NTH_MAP;
}

/* Its last words: one line that says why. */
static bool says_out_of_memory(void)
{
    char *path = fs_join(home, "play.err");
    struct str text = {0};
    bool says = fs_read_file(path, 1 << 20, &text, NULL) == 0 &&
                strstr(str_c(&text), "factory: out of memory (") != NULL;
    str_free(&text);
    free(path);
    return says;
}

static const char *judge_end(const struct job *job, int status)
{
    static char text[64];
    if (WIFSIGNALED(status)) {
        snprintf(text, sizeof(text), "%s (signal %d)",
                 WTERMSIG(status) == SIGALRM ? "hangs" : "is ended", WTERMSIG(status));
        return text;
    }
    if (WEXITSTATUS(status) == MEM_EXHAUSTED_EXIT && is_memory(job->kind) && job->is_lasting &&
        says_out_of_memory()) {
        return NULL;
    }
    snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
    return WEXITSTATUS(status) ? text : NULL;
}

/* Plays one point and what comes after. False: the path makes fewer such calls. */
static bool play_point(struct job *job, struct tally *tally)
{
    char *template = fs_join(home, "template");
    copy_dir(template, job->place);
    free(template);
    memset(report, 0, sizeof(*report));
    int status = in_child(do_play, job, "play.err");
    bool is_reached = atomic_load(&nth_shared()->failed) > 0;
    char where[sizeof(nth_shared()->where)];
    snprintf(where, sizeof(where), "%s", nth_shared()->where);
    atomic_store(&nth_shared()->is_off, true);
    const char *end = judge_end(job, status);
    if (end) {
        nth_complain(report, "the play %s", end);
    }
    if (status == 0 && !(job->is_lasting && (job->kind == NTH_NAME || job->path->is_program))) {
        find_left(job->place); /* who may remove nothing, or was killed, leaves one */
    }
    if (!is_reached && !report->complaint[0]) {
        return false;
    }
    int after = in_child(do_verify, job, "verify.err");
    if (after != 0) {
        nth_complain(report, "what comes after ends with status %d", after);
    }
    tally->points++;
    if (report->complaint[0] && is_planted) {
        tally->failed++;
        is_found |= strstr(report->complaint, job->path->about) != NULL;
    } else if (report->complaint[0]) {
        tally->failed++;
        failures++;
        printf("FAILED %s, %s %ld%s: %s\n       at %s\n       told: %s\n", job->path->name,
               nth_kind_name(job->kind), job->at, job->is_lasting ? " and on" : "",
               report->complaint, where, report->text);
    } else if (status != 0 || report->has_left) {
        tally->left++;
    } else if (report->code != 0) {
        tally->clean++;
    } else {
        tally->retried++;
    }
    if (is_verbose) {
        printf("  %s %ld%s: %s; %s\n", nth_kind_name(job->kind), job->at,
               job->is_lasting ? " and on" : "", where, report->text);
    }
    return is_reached;
}

/* --- all of them -------------------------------------------------------------------------------
 */

static bool is_wanted(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return count == 0;
}

static void print_row(const char *path, const char *kind, const struct tally *t)
{
    printf("%-12s %-20s %8ld %8ld %8ld %8ld %8ld\n", path, kind, t->points, t->clean, t->retried,
           t->left, t->failed);
    fflush(stdout);
}

static void play_kind(struct job *job, long calls, struct tally *all)
{
    struct tally tally = {0};
    long step = sample > 0 && calls > sample ? calls / sample : 1;
    for (int lasting = 0; lasting < 2; lasting++) {
        job->is_lasting = lasting;
        if (only_at && only_lasting != (bool)lasting) {
            continue;
        }
        long first = only_at ? only_at : step > 1 ? 1 + (lasting * step / 2 + job->kind) % step : 1;
        for (job->at = first; play_point(job, &tally) && !only_at; job->at += step) {
        }
        if (job->kind == NTH_INTERRUPT || job->kind == NTH_READ_SHORT) {
            break; /* for ever interrupted is no failure but a standstill */
        }
    }
    print_row(job->path->name, nth_kind_name(job->kind), &tally);
    all->points += tally.points;
    all->clean += tally.clean;
    all->retried += tally.retried;
    all->left += tally.left;
    all->failed += tally.failed;
}

/* What glibc keeps of threads that have ended belongs to no play. */
static void *wait_for_all(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

static void prime_threads(void)
{
    pthread_t threads[THREADS_PRIMED];
    pthread_barrier_t barrier;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 20); /* as lanes have them */
    pthread_barrier_init(&barrier, NULL, THREADS_PRIMED);
    for (int i = 0; i < THREADS_PRIMED; i++) {
        must(pthread_create(&threads[i], &attr, wait_for_all, &barrier) == 0, "threads");
    }
    for (int i = 0; i < THREADS_PRIMED; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
    pthread_attr_destroy(&attr);
}

static void play_path(const struct nth_path *path, struct tally *all)
{
    char *template = fs_join(home, "template");
    char *place = fs_join(home, "place");
    struct job job = {.path = path, .place = place};
    must(fs_remove_tree(place, NULL) == 0 && mkdir(place, 0755) == 0, place);
    must(in_child(do_make, &job, "make.err") == 0, "making the template (see make.err)");
    copy_dir(place, template);
    for (int i = 0; i < 2; i++) { /* the first one allocates what lasts */
        copy_dir(template, place);
        memset(report, 0, sizeof(*report));
        nth_plan(nth_shared(), 0, 0, false);
        job.blocks = play(path, place);
        if (in_child(do_verify, &job, "verify.err") != 0) {
            nth_complain(report, "what comes after fails");
        }
        if (report->code || report->complaint[0]) {
            printf("FAILED %s without a failure: %s %s\n", path->name, report->text,
                   report->complaint);
            failures++;
        }
    }
    long calls[NTH_KIND_COUNT];
    for (int kind = 0; kind < NTH_KIND_COUNT; kind++) {
        calls[kind] = atomic_load(&nth_shared()->seen[kind]);
    }
    for (int kind = 0; kind < NTH_KIND_COUNT; kind++) {
        job.kind = (enum nth_kind)kind;
        if (calls[kind] > 0 && is_wanted(nth_kind_name(job.kind), only_kinds, kind_count)) {
            play_kind(&job, calls[kind], all);
        }
    }
    free(template);
    free(place);
}

static void usage(void)
{
    fprintf(stderr, "usage: nth [--path NAME]... [--kind NAME]... [--sample N] [--at N "
                    "[--lasting]] [--planted] [--verbose]\n");
    exit(2);
}

static void take_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--lasting") == 0) {
            only_lasting = true;
        } else if (strcmp(argv[i], "--planted") == 0) {
            is_planted = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            is_verbose = true;
        } else if (!value) {
            usage();
        } else if (strcmp(argv[i], "--path") == 0 && path_count < NAMES_MAX) {
            only_paths[path_count++] = argv[++i];
        } else if (strcmp(argv[i], "--kind") == 0 && kind_count < NAMES_MAX) {
            only_kinds[kind_count++] = argv[++i];
        } else if (strcmp(argv[i], "--sample") == 0) {
            sample = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--at") == 0) {
            only_at = strtol(argv[++i], NULL, 10);
        } else {
            usage();
        }
    }
}

static void find_library(void)
{
    const char *built = getenv("abs_top_builddir");
    nth_library = mem_printf("%s/.libs/nthfail.so", built ? built : ".");
}

int main(int argc, char **argv)
{
    const struct nth_path *const groups[] = {engine_paths, guest_paths, program_paths, NULL};
    const struct nth_path *const planted[] = {planted_paths, NULL};
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR"); /* no waits */
    struct tally all = {0};
    struct err err = {0};
    take_options(argc, argv);
    prime_threads();
    signal(SIGPIPE, SIG_IGN);
    char *prefix = fs_join(base && *base ? base : "/tmp", "nth");
    must(fs_make_temp_dir(prefix, &home, &err) == 0, err.text);
    free(prefix);
    find_library();
    char *plan = fs_join(home, "plan");
    nth_begin(plan);
    nth_plan_file = plan;
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(report != MAP_FAILED, "shared memory");
    printf("%-12s %-20s %8s %8s %8s %8s %8s\n", "path", "kind", "points", "clean", "retried",
           "exit 70", "failures");
    for (const struct nth_path *const *group = is_planted ? planted : groups; *group; group++) {
        for (const struct nth_path *path = *group; path->name; path++) {
            if (!is_wanted(path->name, only_paths, path_count)) {
                continue;
            }
            is_found = false;
            play_path(path, &all);
            if (is_planted && !is_found) {
                printf("FAILED the planted bug of %s was not found\n", path->name);
                failures++;
            }
        }
    }
    print_row("all", "", &all);
    if (!only_at) { /* else somebody wants to look: play.err, place, verify.err */
        fs_remove_tree(home, NULL);
    }
    free(home);
    return failures ? 1 : 0;
}
