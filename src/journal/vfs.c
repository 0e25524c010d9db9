/*
 * vfs.c - see vfs.h. The shim VFS that gives up the disk reserve when a write finds no room.
 * Format: struct shim_file is followed in memory by the file struct of the VFS below.
 * Must not: buffer, reorder or drop anything. Tests: tests/unit/test_journal_reserve.c
 */
#include "journal/vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

struct shim_file {
    sqlite3_file base;
    char *reserve; /* path, or NULL for files that have none */
};

static sqlite3_file *below(sqlite3_file *file)
{
    return (sqlite3_file *)((struct shim_file *)file + 1);
}

static sqlite3_vfs *vfs_below(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* True when the reserve was there and is now free space. */
static bool give_up_reserve(sqlite3_file *file)
{
    const struct shim_file *shim = (struct shim_file *)file;
    return shim->reserve && unlink(shim->reserve) == 0;
}

static bool disk_is_full(int rc)
{
    return (rc & 0xff) == SQLITE_FULL || (rc == SQLITE_IOERR_WRITE && errno == EDQUOT) ||
           rc == SQLITE_IOERR_SHMSIZE;
}

static int shim_close(sqlite3_file *file)
{
    struct shim_file *shim = (struct shim_file *)file;
    int rc = below(file)->pMethods->xClose(below(file));
    free(shim->reserve);
    shim->reserve = NULL;
    return rc;
}

static int shim_read(sqlite3_file *file, void *buf, int amount, sqlite3_int64 offset)
{
    return below(file)->pMethods->xRead(below(file), buf, amount, offset);
}

static int shim_write(sqlite3_file *file, const void *buf, int amount, sqlite3_int64 offset)
{
    int rc = below(file)->pMethods->xWrite(below(file), buf, amount, offset);
    if (rc != SQLITE_OK && disk_is_full(rc) && give_up_reserve(file)) {
        rc = below(file)->pMethods->xWrite(below(file), buf, amount, offset);
    }
    return rc;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return below(file)->pMethods->xTruncate(below(file), size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    return below(file)->pMethods->xSync(below(file), flags);
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return below(file)->pMethods->xFileSize(below(file), ret);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xLock(below(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xUnlock(below(file), level);
}

static int shim_check_reserved(sqlite3_file *file, int *ret)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), ret);
}

static int shim_control(sqlite3_file *file, int op, void *arg)
{
    return below(file)->pMethods->xFileControl(below(file), op, arg);
}

static int shim_sector(sqlite3_file *file)
{
    return below(file)->pMethods->xSectorSize(below(file));
}

static int shim_traits(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    int rc = below(file)->pMethods->xShmMap(below(file), page, size, extend, ret);
    if (rc != SQLITE_OK && disk_is_full(rc) && give_up_reserve(file)) {
        rc = below(file)->pMethods->xShmMap(below(file), page, size, extend, ret);
    }
    return rc;
}

static int shim_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return below(file)->pMethods->xShmLock(below(file), offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    below(file)->pMethods->xShmBarrier(below(file));
}

static int shim_shm_unmap(sqlite3_file *file, int remove)
{
    return below(file)->pMethods->xShmUnmap(below(file), remove);
}

/* Version 2: shared memory, but no xFetch (memory-mapped I/O would pass by xWrite). */
static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_traits,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

/* "/x/f.db", "/x/f.db-wal" and "/x/f.db-journal" share "/x/f.db.reserve". */
static char *reserve_path_of(const char *name, int flags)
{
    if (!name || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL))) {
        return NULL;
    }
    size_t len = strlen(name);
    if (flags & SQLITE_OPEN_WAL) {
        len -= strlen("-wal");
    } else if (flags & SQLITE_OPEN_MAIN_JOURNAL) {
        len -= strlen("-journal");
    }
    return mem_printf("%.*s.reserve", (int)len, name);
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    struct shim_file *shim = (struct shim_file *)file;
    shim->base.pMethods = NULL;
    shim->reserve = NULL;
    int rc = vfs_below(vfs)->xOpen(vfs_below(vfs), name, below(file), flags, ret_flags);
    if (below(file)->pMethods) {
        shim->base.pMethods = &shim_methods;
        shim->reserve = reserve_path_of(name, flags);
    }
    return rc;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    return vfs_below(vfs)->xDelete(vfs_below(vfs), name, sync_dir);
}

static int shim_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    return vfs_below(vfs)->xAccess(vfs_below(vfs), name, flags, ret);
}

static int shim_full_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
    return vfs_below(vfs)->xFullPathname(vfs_below(vfs), name, size, ret);
}

static int shim_random(sqlite3_vfs *vfs, int size, char *ret)
{
    return vfs_below(vfs)->xRandomness(vfs_below(vfs), size, ret);
}

static int shim_sleep(sqlite3_vfs *vfs, int us)
{
    return vfs_below(vfs)->xSleep(vfs_below(vfs), us);
}

static int shim_time(sqlite3_vfs *vfs, double *ret)
{
    return vfs_below(vfs)->xCurrentTime(vfs_below(vfs), ret);
}

static int shim_last_error(sqlite3_vfs *vfs, int size, char *ret)
{
    return vfs_below(vfs)->xGetLastError(vfs_below(vfs), size, ret);
}

int vfs_register(const char *below_name, const char **ret, struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int answer = 0;
    sqlite3_vfs *under = sqlite3_vfs_find(below_name);
    autofree char *name = under ? mem_printf("durable-%s", under->zName) : NULL;
    sqlite3_vfs *known = name ? sqlite3_vfs_find(name) : NULL;
    if (known) {
        *ret = known->zName;
    } else if (!under) {
        answer = err_set(err, ERR_PERMANENT, "NoSuchVfs", "SQLite has no VFS named %s",
                         below_name ? below_name : "(default)");
    } else {
        /* Lives as long as the process, like SQLite's own; the list of VFSes reaches it. */
        sqlite3_vfs *vfs = mem_alloc(sizeof(*vfs));
        *vfs = (sqlite3_vfs){.iVersion = 1,
                             .szOsFile = (int)sizeof(struct shim_file) + under->szOsFile,
                             .mxPathname = under->mxPathname,
                             .zName = name,
                             .pAppData = under,
                             .xOpen = shim_open,
                             .xDelete = shim_delete,
                             .xAccess = shim_access,
                             .xFullPathname = shim_full_name,
                             .xRandomness = shim_random,
                             .xSleep = shim_sleep,
                             .xCurrentTime = shim_time,
                             .xGetLastError = shim_last_error};
        *ret = steal(&name);
        sqlite3_vfs_register(vfs, 0);
    }
    pthread_mutex_unlock(&lock);
    return answer;
}
