/*
 * doctor.c - see doctor.h. Owns all checks but the sandbox's (doctor_sandbox.c).
 * Tests: tests/cli/t0200-doctor.sh
 */
#include "factory/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "factory/factory.h"

#define MIB (1024LL * 1024)
#define GIB (1024.0 * 1024 * 1024)
#define COMMIT_ROUNDS 51
#define COMMIT_BYTES 8192 /* what a small transaction appends to a write-ahead log */
#define COMMIT_LIMIT_NS (2 * NS_PER_S)
#define OPEN_RUNS_MAX 10000
#define BINARY_BYTES_MAX (1024 * MIB)

/* --- rows ------------------------------------------------------------------------------------- */

const char *doctor_status_name(enum doctor_status status)
{
    static const char *const names[] = {"ok", "none", "warn", "FAIL"};
    return names[status];
}

static enum doctor_status status_of(const char *code)
{
    static const char *const warnings[] = {"D-002", "D-003", "D-015", "D-016", "D-018",
                                           "D-025", "D-030", "D-031", "D-032", "D-033",
                                           "D-042", "D-044", "D-052", "D-053", "D-054"};
    for (size_t i = 0; i < ARRAY_LEN(warnings); i++) {
        if (str_eq(code, warnings[i])) {
            return DOCTOR_WARN;
        }
    }
    return DOCTOR_FAIL;
}

static void add(struct doctor *d, struct doctor_row row, const char *fmt, va_list ap)
{
    autostr struct str text = {0};
    if (!d->arena) {
        d->arena = arena_new();
    }
    str_addv(&text, fmt, ap);
    row.check = arena_strdup(d->arena, row.check);
    row.text = arena_strdup(d->arena, str_c(&text));
    row.fix = row.fix ? arena_strdup(d->arena, row.fix) : NULL;
    mem_reserve(d->rows, &d->cap, d->count + 1);
    d->rows[d->count++] = row;
}

void doctor_ok(struct doctor *d, const char *check, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct doctor_row){.check = check, .status = DOCTOR_OK}, fmt, ap);
    va_end(ap);
}

void doctor_none(struct doctor *d, const char *check, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct doctor_row){.check = check, .status = DOCTOR_NONE}, fmt, ap);
    va_end(ap);
}

void doctor_bad(struct doctor *d, const char *check, const char *code, const char *fix,
                const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct doctor_row){check, status_of(code), code, NULL, fix}, fmt, ap);
    va_end(ap);
}

enum doctor_status doctor_worst(const struct doctor *d)
{
    enum doctor_status worst = DOCTOR_OK;
    for (size_t i = 0; i < d->count; i++) {
        worst = d->rows[i].status > worst ? d->rows[i].status : worst;
    }
    return worst;
}

void doctor_free(struct doctor *d)
{
    if (d->arena) {
        arena_free(d->arena);
    }
    dur_close(d->engine);
    free(d->rows);
    *d = (struct doctor){0};
}

/* --- the place -------------------------------------------------------------------------------- */

/* The directory itself, or the nearest one above it that exists. Caller frees. */
static char *existing(const char *path)
{
    char *dir = mem_strdup(path);
    while (!fs_is_dir(dir) && !str_eq(dir, "/") && !str_eq(dir, ".")) {
        char *above = fs_dirname(dir);
        free(dir);
        dir = above;
    }
    return dir;
}

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Median microseconds of an appended and synced write, as a small commit makes; 0: not possible. */
static int64_t measure_commit(const char *dir)
{
    static const char page[COMMIT_BYTES] = {1};
    int64_t took[COMMIT_ROUNDS];
    size_t rounds = 0;
    autofree char *name = mem_printf("%s/.doctor-XXXXXX", dir);
    autoclose int fd = mkstemp(name);
    int64_t until = clock_mono_ns() + COMMIT_LIMIT_NS;
    if (fd < 0) {
        return 0;
    }
    unlink(name);
    while (rounds < COMMIT_ROUNDS && clock_mono_ns() < until) {
        int64_t from = clock_mono_ns();
        if (fs_write_all(fd, page, sizeof(page), NULL) < 0 || fdatasync(fd) != 0) {
            return 0;
        }
        took[rounds++] = clock_mono_ns() - from;
    }
    qsort(took, rounds, sizeof(took[0]), by_size);
    int64_t us = rounds ? took[rounds / 2] / 1000 : 0;
    return us > 0 ? us : 1;
}

/* "ext4, 118 µs per fsynced commit", or false when the row was added. */
static bool check_place(struct doctor *d, const char *dir, struct str *facts)
{
    const char *kind = "";
    enum fs_class class = fs_classify(dir, &kind);
    if (class == FS_NETWORK || class == FS_FUSE) {
        doctor_bad(d, "store", "D-013", "set [storage] data_dir to a directory on a local disk",
                   "%s is on %s, whose locks and syncs cannot be trusted", dir, kind);
        return false;
    }
    if (access(dir, W_OK | X_OK) != 0) {
        doctor_bad(d, "store", "D-010", "give yourself that right, or set [storage] data_dir",
                   "%s cannot be written by this user", dir);
        return false;
    }
    d->commit_us = measure_commit(dir);
    if (d->commit_us == 0) {
        doctor_bad(d, "store", "D-018", "look for a full disk or an exceeded quota",
                   "no scratch file can be written and synced in %s", dir);
        return false;
    }
    str_addf(facts, "%s, %lld µs per fsynced commit", kind, (long long)d->commit_us);
    if (class == FS_MEMORY) {
        doctor_bad(d, "store", "D-015", "set [storage] data_dir to a directory on a disk",
                   "%s is %s: nothing survives a reboot", dir, kind);
    }
    return true;
}

/* --- store, engine, disk ---------------------------------------------------------------------- */

static void cannot_open(struct doctor *d, const struct err *err, const char *database)
{
    if (str_eq(err->name, "DUR_NEWER")) {
        doctor_bad(d, "store", "D-012", "use the program that wrote it, or a newer one", "%s",
                   err->text);
    } else if (str_eq(err->name, "DUR_BUSY")) {
        doctor_bad(d, "store", "D-016", "try again; fuser shows who holds it", "%s", err->text);
    } else {
        autofree char *fix =
            mem_printf("keep a copy of %s* aside before you try anything", database);
        doctor_bad(d, "store", "D-011", fix, "%s", err->text);
    }
}

static void check_store(struct doctor *d, const struct config *config)
{
    struct err err = {0};
    struct ledger_versions versions = {0};
    autoledger struct ledger *ledger = NULL;
    autofree char *database = config_database_path(config);
    autofree char *dir = existing(config->data_dir);
    autostr struct str facts = {0};
    bool place_is_good = check_place(d, dir, &facts);
    if (!fs_exists(database)) {
        if (place_is_good) {
            doctor_none(d, "store", "none yet at %s; the first run makes it; %s", database,
                        str_c(&facts));
        }
        return;
    }
    if (!config_is_remote(config)) {
        d->engine_is_there = true;
        if (factory_open_engine(config, true, 0, &d->engine, &err) < 0) {
            cannot_open(d, &err, database);
            dur_close(d->engine);
            d->engine = NULL;
            return;
        }
    }
    if (ledger_open(database, true, &ledger, &err) < 0 ||
        ledger_get_versions(ledger, &versions, &err) < 0) {
        cannot_open(d, &err, database);
        return;
    }
    if (place_is_good) {
        doctor_ok(d, "store", "%s%s, schema %d+%d, %s", database,
                  config_is_remote(config) ? " (the ledger)" : "", versions.engine,
                  versions.factory, str_c(&facts));
    }
}

struct open_runs {
    int count, parked;
};

static int count_open(void *user, int64_t token, const dur_description *description)
{
    struct open_runs *runs = user;
    (void)token;
    runs->count++;
    runs->parked += description->parked != NULL;
    return 0;
}

static void check_engine(struct doctor *d, const struct config *config)
{
    struct open_runs runs = {0};
    int64_t pid = 0;
    bool is_remote = config_is_remote(config);
    if (!d->engine) {
        doctor_none(d, "engine", "%s",
                    !d->engine_is_there ? "none running, 0 runs waiting"
                    : is_remote         ? "not known: the server cannot be asked"
                                        : "not known: the store cannot be opened");
        return;
    }
    int serves = dur_served_by(d->engine, &pid);
    if (serves < 0 || factory_list_runs(config, d->engine, DUR_RUNNING, 0, OPEN_RUNS_MAX,
                                        count_open, &runs) != DUR_OK) {
        doctor_bad(d, "engine", "D-030",
                   is_remote ? "look at the server's log"
                             : "look at the permissions of factory.db.lock",
                   "%s", dur_error(d->engine));
        return;
    }
    d->engine_pid = serves ? pid : 0;
    if (serves && pid) {
        doctor_ok(d, "engine", "pid %lld serves, %d open run%s", (long long)pid, runs.count,
                  runs.count == 1 ? "" : "s");
    } else if (serves) {
        doctor_ok(d, "engine", "another host serves, %d open run%s", runs.count,
                  runs.count == 1 ? "" : "s");
    } else if (runs.count == 0) {
        doctor_none(d, "engine", "none running, 0 runs waiting");
    } else {
        doctor_bad(d, "engine", "D-031", "factory worker (any factory run also starts one)",
                   "none running, %d run%s waiting", runs.count, runs.count == 1 ? "" : "s");
    }
    if (runs.parked) {
        doctor_bad(d, "engine", "D-032", "install the version that began them, or cancel them",
                   "%d run%s parked: this program does not fit their history", runs.parked,
                   runs.parked == 1 ? " is" : "s are");
    }
}

static void check_disk(struct doctor *d, const struct config *config)
{
    struct err err = {0};
    uint64_t free_bytes = 0;
    struct stat st; /* not opened: a plain close() would drop SQLite's locks */
    autofree char *dir = existing(config->data_dir);
    autofree char *database = config_database_path(config);
    if (fs_free_bytes(dir, &free_bytes, &err) < 0) {
        doctor_bad(d, "disk", "D-014", "look at the file system", "%s", err.text);
        return;
    }
    if ((int64_t)free_bytes < config->min_free_mib * MIB) {
        doctor_bad(d, "disk", "D-014", "free some, or lower [storage] min_free_mib",
                   "%.1f GiB free, new runs need %.1f GiB", (double)free_bytes / GIB,
                   (double)(config->min_free_mib * MIB) / GIB);
        return;
    }
    if (config->max_db_mib && stat(database, &st) == 0 &&
        (int64_t)st.st_size > config->max_db_mib * MIB) {
        doctor_bad(d, "disk", "D-017", "raise [storage] max_db_mib",
                   "the database takes %lld MiB, its budget is %lld MiB; new runs are refused",
                   (long long)st.st_size / MIB, (long long)config->max_db_mib);
        return;
    }
    doctor_ok(d, "disk", "%.1f GiB free, new runs need %.1f GiB", (double)free_bytes / GIB,
              (double)(config->min_free_mib * MIB) / GIB);
}

/* --- agents ----------------------------------------------------------------------------------- */

static bool check_binary(struct doctor *d, const char *check, const struct harness_config *h)
{
    struct err err = {0};
    char digest[SHA256_HEX_BYTES];
    if (!*h->binary) {
        if (h->executable[0] == '/' ? access(h->executable, X_OK) != 0
                                    : !proc_in_path(h->executable, NULL)) {
            doctor_bad(
                d, check, "D-044",
                "install it; nothing to do when the setup script or the repository brings it",
                "%s is not on this machine", h->executable);
            return false;
        }
        return true;
    }
    if (sha256_file(h->binary, digest, NULL, &err) < 0) {
        doctor_bad(d, check, "D-040", "correct binary, or put the file there", "%s", err.text);
        return false;
    }
    if (*h->binary_sha256 && !str_eq(digest, h->binary_sha256)) {
        autofree char *fix = mem_printf("if you trust the file: binary_sha256 = %s", digest);
        doctor_bad(d, check, "D-041", fix, "%s has another digest than binary_sha256", h->binary);
        return false;
    }
    return true;
}

static bool check_secrets(struct doctor *d, const char *check, const struct harness_config *h)
{
    bool good = true;
    for (const char *const *name = h->pass_env; *name; name++) {
        const char *value = getenv(*name);
        if (!value || !*value) {
            autofree char *fix = mem_printf("export %s where the engine starts", *name);
            doctor_bad(d, check, "D-042", fix, "the variable %s is not set here", *name);
            good = false;
        }
    }
    for (const char *const *pair = h->provider_files; *pair; pair += 2) {
        if (access(pair[1], R_OK) != 0) {
            doctor_bad(d, check, "D-043", "correct provider_files, or the file's permissions",
                       "%s cannot be read", pair[1]);
            good = false;
        }
    }
    return good;
}

static void check_agent(struct doctor *d, const struct harness_config *h)
{
    autofree char *check = mem_printf("agent %s", h->name);
    bool binary = check_binary(d, check, h);
    bool secrets = check_secrets(d, check, h);
    if (binary && secrets) {
        doctor_ok(d, check, "%s%s", *h->binary ? h->binary : h->executable,
                  *h->binary_sha256 ? ", digest matches"
                  : *h->binary      ? ", no digest pinned"
                                    : "");
    }
}

void doctor_run(struct doctor *d, const struct config *config, bool offline)
{
    check_store(d, config);
    doctor_check_sandbox(d, config, offline);
    check_engine(d, config);
    check_disk(d, config);
    for (size_t i = 0; i < config->harness_count; i++) {
        check_agent(d, &config->harnesses[i]);
    }
}
