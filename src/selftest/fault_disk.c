/*
 * fault_disk.c - see fault_disk.h. Wraps the system's VFS file by file.
 *
 * Format: struct fault_file is followed in memory by the file struct of the VFS below. For the
 * power cut each path has a journal of unsynced writes with the bytes before and after; at the cut
 * all are undone backwards and the surviving half is applied again in order. Tests:
 * tests/unit/test_journal_faults.c
 */
#include "selftest/fault_disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

struct fault_file {
    sqlite3_file base;
    char *path; /* NULL: temporary file, not part of the disk model */
    bool is_wal;
    bool is_unnamed; /* new, and the directory that names it was not synced since */
};

/* One change that the disk may still forget. */
struct change {
    struct change *older;
    char *path;
    int64_t offset;
    int64_t old_size; /* of the file before the change */
    int64_t new_size; /* of the file after a truncation; -1: a write */
    size_t old_len;   /* bytes kept in old_bytes, from offset */
    size_t new_len;   /* bytes in new_bytes */
    char *old_bytes;
    char *new_bytes;
    bool is_deletion; /* the file waits at path.undead */
    bool is_creation;
};

#define SECTOR_BYTES 512U

struct shared {
    struct fault_counts counts;
    struct fault_plan plan;
    char full_while_exists[512];
};

static struct shared *shared;
static struct change *unsynced; /* newest first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static sqlite3_file *below(sqlite3_file *file)
{
    return (sqlite3_file *)((struct fault_file *)file + 1);
}

static sqlite3_vfs *vfs_below(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static bool is_power_mode(void)
{
    return shared->plan.mode == FAULT_POWER_ALL || shared->plan.mode == FAULT_POWER_HALF;
}

static void (*last_words)(void);

static void die(void)
{
    if (last_words) {
        last_words();
    }
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

/* --- the disk that forgets ------------------------------------------------------------------- */

static void free_change(struct change *change)
{
    free(change->path);
    free(change->old_bytes);
    free(change->new_bytes);
    free(change);
}

/* Keeps what the file holds from change->offset on, at most len bytes, and its size. Reads through
 * SQLite's own descriptor: closing another one would drop this process's locks. */
static void keep_old(struct change *change, sqlite3_file *file, size_t len)
{
    sqlite3_file *real = below(file);
    sqlite3_int64 size = 0;
    real->pMethods->xFileSize(real, &size);
    change->old_size = size;
    if (size > change->offset) {
        size_t left = (size_t)(size - change->offset);
        change->old_len = left < len ? left : len;
    }
    change->old_bytes = mem_alloc(change->old_len + 1);
    if (change->old_len > 0) {
        real->pMethods->xRead(real, change->old_bytes, (int)change->old_len, change->offset);
    }
}

static void remember_write(sqlite3_file *file, const void *bytes, size_t len, int64_t offset)
{
    struct change *change = mem_alloc(sizeof(*change));
    *change = (struct change){.older = unsynced,
                              .path = mem_strdup(((struct fault_file *)file)->path),
                              .offset = offset,
                              .new_size = -1,
                              .new_bytes = mem_alloc(len + 1),
                              .new_len = len};
    memcpy(change->new_bytes, bytes, len);
    keep_old(change, file, len);
    unsynced = change;
}

/* Keeps the tail that a truncation takes away. */
static void remember_truncate(sqlite3_file *file, int64_t size)
{
    struct change *change = mem_alloc(sizeof(*change));
    *change = (struct change){.older = unsynced,
                              .path = mem_strdup(((struct fault_file *)file)->path),
                              .offset = size,
                              .new_size = size};
    keep_old(change, file, SIZE_MAX);
    unsynced = change;
}

/* path (NULL: none) was synced, and the directory with it: what is safe now. */
static void forget(const char *path, bool with_dir)
{
    struct change **link = &unsynced;
    while (*link) {
        struct change *change = *link;
        bool is_safe = change->is_creation
                           ? with_dir
                           : change->is_deletion || (path && str_eq(change->path, path));
        if (is_safe) {
            *link = change->older;
            if (change->is_deletion) {
                char *undead = mem_printf("%s.undead", change->path);
                unlink(undead);
                free(undead);
            }
            free_change(change);
        } else {
            link = &change->older;
        }
    }
}

/* The model cannot go on; a half-made disk must not pass for one. */
static void give_up(void)
{
    static const char why[] = "fault disk: the files under it cannot be written\n";
    (void)!write(STDERR_FILENO, why, sizeof(why) - 1);
    abort();
}

/* A file that is not there takes nothing: its creation was lost. */
static void put(const char *path, const char *bytes, size_t len, int64_t offset, int64_t size)
{
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return;
    }
    if (fd < 0 || (len && pwrite(fd, bytes, len, (off_t)offset) != (ssize_t)len) ||
        (size >= 0 && ftruncate(fd, (off_t)size) < 0)) {
        give_up();
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static void undo(const struct change *change)
{
    if (change->is_deletion) {
        char *undead = mem_printf("%s.undead", change->path);
        rename(undead, change->path);
        free(undead);
    } else if (change->is_creation) {
        unlink(change->path);
    } else {
        put(change->path, change->old_bytes, change->old_len, change->offset, change->old_size);
    }
}

/* A sector each, by its own chance, when the write had several. */
static void redo_torn(const struct change *change, uint64_t *state)
{
    for (size_t at = 0; at < change->new_len; at += SECTOR_BYTES) {
        size_t left = change->new_len - at;
        if (next_random(state) & 1) {
            put(change->path, change->new_bytes + at, left < SECTOR_BYTES ? left : SECTOR_BYTES,
                change->offset + (int64_t)at, -1);
        }
    }
}

static void redo(const struct change *change, uint64_t *state)
{
    if (change->is_deletion) {
        unlink(change->path);
    } else if (change->is_creation) {
        autoclose int fd = open(change->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) {
            give_up();
        }
    } else if (change->new_size < 0 && (next_random(state) & 3) == 0) {
        redo_torn(change, state);
    } else {
        put(change->path, change->new_bytes, change->new_len, change->offset, change->new_size);
    }
}

/* Undo everything, then let the survivors happen again. Does not return. */
static void cut_power(void)
{
    uint64_t state = shared->plan.seed;
    size_t count = 0;
    for (struct change *change = unsynced; change; change = change->older) {
        undo(change);
        count++;
    }
    struct change **order = mem_array(count + 1, sizeof(struct change *));
    size_t n = count;
    for (struct change *change = unsynced; change; change = change->older) {
        order[--n] = change;
    }
    for (n = 0; n < count && shared->plan.mode == FAULT_POWER_HALF; n++) {
        if (next_random(&state) & 1) {
            redo(order[n], &state);
        }
    }
    die();
}

/* --- the plan ------------------------------------------------------------------------------------
 */

enum verdict {
    GO_ON,
    FAIL_EIO,
    FAIL_FULL,
    TEAR,
    DIE_AFTER,
};

/* Counts one operation and says what is to happen to it. */
static enum verdict judge(bool is_write, const char *path, int64_t where)
{
    const struct fault_plan *plan = &shared->plan;
    int64_t number = ++shared->counts.operations;
    uint64_t state = shared->counts.trace + (uint64_t)where * 4 + (uint64_t)is_write * 2 +
                     (path ? (uint64_t)path[strlen(path) - 1] : 0);
    shared->counts.trace = next_random(&state);
    if (plan->plant == FAULT_PLANT_TORN_PAGE) {
        return GO_ON; /* plant_torn_page() */
    }
    if (shared->full_while_exists[0] && is_write && plan->mode == FAULT_FULL &&
        number >= plan->at) {
        return access(shared->full_while_exists, F_OK) == 0 ? FAIL_FULL : GO_ON;
    }
    bool is_now = plan->at > 0 && (plan->is_lasting ? number >= plan->at : number == plan->at);
    if (!is_now) {
        return GO_ON;
    }
    switch (plan->mode) {
    case FAULT_KILL_BEFORE:
        die();
        break;
    case FAULT_KILL_AFTER:
        return DIE_AFTER;
    case FAULT_KILL_TORN:
        if (!is_write) {
            die();
        }
        return TEAR;
    case FAULT_EIO:
        return FAIL_EIO;
    case FAULT_FULL:
        return is_write ? FAIL_FULL : GO_ON;
    case FAULT_POWER_ALL:
    case FAULT_POWER_HALF:
        cut_power();
        break;
    case FAULT_NONE:
    case FAULT_MODES:
        break;
    }
    return GO_ON;
}

static void after(enum verdict verdict)
{
    if (verdict == DIE_AFTER) {
        die();
    }
}

/* --- file methods --------------------------------------------------------------------------------
 */

static int fault_close(sqlite3_file *file)
{
    struct fault_file *self = (struct fault_file *)file;
    int rc = below(file)->pMethods->xClose(below(file));
    free(self->path);
    self->path = NULL;
    return rc;
}

static int fault_read(sqlite3_file *file, void *buf, int amount, sqlite3_int64 offset)
{
    return below(file)->pMethods->xRead(below(file), buf, amount, offset);
}

/* The page torn, the WAL gone, the process dead: when it is a page of the main file's turn. */
static void plant_torn_page(sqlite3_file *file, const void *buf, int amount, sqlite3_int64 offset)
{
    const struct fault_file *self = (struct fault_file *)file;
    const struct fault_plan *plan = &shared->plan;
    if (plan->plant != FAULT_PLANT_TORN_PAGE || self->is_wal || amount < (int)(2 * SECTOR_BYTES) ||
        plan->at == 0 || shared->counts.operations < plan->at) {
        return;
    }
    char *wal = mem_printf("%s-wal", self->path);
    below(file)->pMethods->xWrite(below(file), buf, amount / 2, offset);
    unlink(wal);
    die();
}

static int fault_write(sqlite3_file *file, const void *buf, int amount, sqlite3_int64 offset)
{
    const struct fault_file *self = (struct fault_file *)file;
    if (!self->path) {
        return below(file)->pMethods->xWrite(below(file), buf, amount, offset);
    }
    pthread_mutex_lock(&lock);
    enum verdict verdict = judge(true, self->path, offset + amount);
    shared->counts.writes++;
    shared->counts.written_bytes += amount;
    shared->counts.wal_frames += self->is_wal && amount > 32 ? 1 : 0;
    int rc = SQLITE_OK;
    if (verdict == FAIL_EIO) {
        rc = SQLITE_IOERR_WRITE;
    } else if (verdict == FAIL_FULL) {
        rc = SQLITE_FULL;
    } else {
        if (is_power_mode()) {
            remember_write(file, buf, (size_t)amount, offset);
        }
        plant_torn_page(file, buf, amount, offset);
        int part = verdict == TEAR ? amount / 2 : amount;
        rc = below(file)->pMethods->xWrite(below(file), buf, part, offset);
        if (verdict == TEAR) {
            die();
        }
        after(verdict);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    const struct fault_file *self = (struct fault_file *)file;
    if (!self->path) {
        return below(file)->pMethods->xTruncate(below(file), size);
    }
    pthread_mutex_lock(&lock);
    enum verdict verdict = judge(false, self->path, size);
    int rc = SQLITE_IOERR_TRUNCATE;
    if (verdict != FAIL_EIO) {
        if (is_power_mode()) {
            remember_truncate(file, size);
        }
        rc = below(file)->pMethods->xTruncate(below(file), size);
        after(verdict);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* A slow disk. Not under the lock: writes go on while a sync is under way. */
static void delay(int64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (ns > 0 && nanosleep(&left, &left) < 0) {
    }
}

/* The disk may forget no more of the file; unless a plant says that it was never told. */
static void sync_done(struct fault_file *file)
{
    enum fault_plant plant = shared->plan.plant;
    if (plant == FAULT_PLANT_UNSYNCED || (plant == FAULT_PLANT_WAL_UNSYNCED && file->is_wal)) {
        return;
    }
    forget(file->path, file->is_unnamed && plant != FAULT_PLANT_DIR_UNSYNCED);
    file->is_unnamed = false;
}

static int fault_sync(sqlite3_file *file, int flags)
{
    struct fault_file *self = (struct fault_file *)file;
    if (!self->path) {
        return below(file)->pMethods->xSync(below(file), flags);
    }
    delay(shared->plan.sync_ns);
    pthread_mutex_lock(&lock);
    enum verdict verdict = judge(false, self->path, 1);
    shared->counts.syncs++;
    shared->counts.wal_syncs += self->is_wal ? 1 : 0;
    int rc = SQLITE_IOERR_FSYNC;
    if (verdict != FAIL_EIO) {
        rc = below(file)->pMethods->xSync(below(file), flags);
        sync_done(self);
        after(verdict);
        if (self->is_wal && shared->plan.after_commit > 0 &&
            shared->counts.wal_syncs == shared->plan.after_commit) {
            raise(SIGKILL);
        }
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return below(file)->pMethods->xFileSize(below(file), ret);
}

static int fault_lock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xLock(below(file), level);
}

static int fault_unlock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xUnlock(below(file), level);
}

static int fault_check_reserved(sqlite3_file *file, int *ret)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), ret);
}

static int fault_control(sqlite3_file *file, int op, void *arg)
{
    return below(file)->pMethods->xFileControl(below(file), op, arg);
}

static int fault_sector(sqlite3_file *file)
{
    return below(file)->pMethods->xSectorSize(below(file));
}

static int fault_traits(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static int fault_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return below(file)->pMethods->xShmMap(below(file), page, size, extend, ret);
}

static int fault_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return below(file)->pMethods->xShmLock(below(file), offset, n, flags);
}

static void fault_shm_barrier(sqlite3_file *file)
{
    below(file)->pMethods->xShmBarrier(below(file));
}

static int fault_shm_unmap(sqlite3_file *file, int remove)
{
    return below(file)->pMethods->xShmUnmap(below(file), remove);
}

static const sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_reserved,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_traits,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

/* --- VFS methods ---------------------------------------------------------------------------------
 */

static void remember_creation(const char *name)
{
    struct change *change = mem_alloc(sizeof(*change));
    *change = (struct change){
        .older = unsynced, .path = mem_strdup(name), .new_size = -1, .is_creation = true};
    unsynced = change;
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                      int *ret_flags)
{
    struct fault_file *self = (struct fault_file *)file;
    enum verdict verdict = GO_ON;
    bool is_ours =
        name && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL));
    self->base.pMethods = NULL;
    self->path = NULL;
    pthread_mutex_lock(&lock);
    bool is_new = is_ours && (flags & SQLITE_OPEN_CREATE) && access(name, F_OK) != 0;
    if (is_new) {
        verdict = judge(false, name, 2);
    }
    int rc = SQLITE_CANTOPEN;
    if (verdict != FAIL_EIO) {
        rc = vfs_below(vfs)->xOpen(vfs_below(vfs), name, below(file), flags, ret_flags);
        if (below(file)->pMethods) {
            self->base.pMethods = &fault_methods;
            self->path = is_ours ? mem_strdup(name) : NULL;
            self->is_wal = (flags & SQLITE_OPEN_WAL) != 0;
            self->is_unnamed = is_new && !(flags & SQLITE_OPEN_MAIN_DB);
        }
        if (is_new && rc == SQLITE_OK && is_power_mode()) {
            remember_creation(name);
        }
        after(verdict);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int fault_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    pthread_mutex_lock(&lock);
    enum verdict verdict = judge(false, name, 3);
    int rc = SQLITE_IOERR_DELETE;
    if (verdict == FAIL_EIO) {
        /* nothing happened */
    } else if (is_power_mode() && !sync_dir && access(name, F_OK) == 0) {
        struct change *change = mem_alloc(sizeof(*change));
        *change = (struct change){
            .older = unsynced, .path = mem_strdup(name), .new_size = -1, .is_deletion = true};
        char *undead = mem_printf("%s.undead", name);
        rc = rename(name, undead) == 0 ? SQLITE_OK : SQLITE_IOERR_DELETE;
        free(undead);
        unsynced = change;
    } else {
        rc = vfs_below(vfs)->xDelete(vfs_below(vfs), name, sync_dir);
        if (sync_dir && shared->plan.plant != FAULT_PLANT_DIR_UNSYNCED) {
            forget(NULL, true);
        }
        after(verdict);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int fault_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    return vfs_below(vfs)->xAccess(vfs_below(vfs), name, flags, ret);
}

static int fault_full_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
    return vfs_below(vfs)->xFullPathname(vfs_below(vfs), name, size, ret);
}

static int fault_random(sqlite3_vfs *vfs, int size, char *ret)
{
    return vfs_below(vfs)->xRandomness(vfs_below(vfs), size, ret);
}

static int fault_sleep(sqlite3_vfs *vfs, int us)
{
    return vfs_below(vfs)->xSleep(vfs_below(vfs), us);
}

static int fault_time(sqlite3_vfs *vfs, double *ret)
{
    return vfs_below(vfs)->xCurrentTime(vfs_below(vfs), ret);
}

static int fault_last_error(sqlite3_vfs *vfs, int size, char *ret)
{
    return vfs_below(vfs)->xGetLastError(vfs_below(vfs), size, ret);
}

static struct shared *shared_memory(void)
{
    void *memory =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        mem_exhausted(sizeof(*shared));
    }
    return memory;
}

void fault_disk_detach(void)
{
    munmap(shared, sizeof(*shared));
    shared = shared_memory();
}

void fault_disk_register(void)
{
    static sqlite3_vfs vfs;
    if (shared) {
        return;
    }
    sqlite3_vfs *under = sqlite3_vfs_find(NULL);
    assert(under); /* SQLite was built with one */
    shared = shared_memory();
    vfs = (sqlite3_vfs){.iVersion = 1,
                        .szOsFile = (int)sizeof(struct fault_file) + under->szOsFile,
                        .mxPathname = under->mxPathname,
                        .zName = "fault",
                        .pAppData = under,
                        .xOpen = fault_open,
                        .xDelete = fault_delete,
                        .xAccess = fault_access,
                        .xFullPathname = fault_full_name,
                        .xRandomness = fault_random,
                        .xSleep = fault_sleep,
                        .xCurrentTime = fault_time,
                        .xGetLastError = fault_last_error};
    sqlite3_vfs_register(&vfs, 0);
}

void fault_disk_plan(const struct fault_plan *plan)
{
    static const struct fault_plan none = {.mode = FAULT_NONE};
    plan = plan ? plan : &none;
    pthread_mutex_lock(&lock);
    shared->plan = *plan;
    shared->counts = (struct fault_counts){0};
    str_copy(shared->full_while_exists, sizeof(shared->full_while_exists),
             plan->full_while_exists ? plan->full_while_exists : "");
    pthread_mutex_unlock(&lock);
}

void fault_disk_on_death(void (*words)(void))
{
    last_words = words;
}

void fault_disk_counts(struct fault_counts *ret)
{
    pthread_mutex_lock(&lock);
    *ret = shared->counts;
    pthread_mutex_unlock(&lock);
}

const char *fault_disk_mode_name(enum fault_mode mode)
{
    static const char *const names[FAULT_MODES] = {
        "none",      "kill before", "kill after",          "torn write",
        "I/O error", "disk full",   "power cut, all lost", "power cut, half lost",
    };
    return mode < FAULT_MODES ? names[mode] : "?";
}
