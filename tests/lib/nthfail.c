/*
 * nthfail.c - see nthfail.h. Stands in front of the C library's functions.
 *
 * A function counts for its kinds and, when its time has come, fails as the system would, without
 * having done anything (short reads and writes do half). Who asks for memory is told by the return
 * address: the program itself, libsqlite3 or any other library, the C library among them. Preloaded
 * into others than the product's programs it does nothing. Needs glibc.
 * Tests: tests/nth/nth.c (every kind must be able to fail)
 */
#include "tests/lib/nthfail.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define BIT(kind) (1U << (kind))

static struct nth_shared *shared; /* the plan; NULL: there is none here */
static atomic_bool is_onlooker;
static atomic_long live;
static uintptr_t sqlite_from, sqlite_to, program_from, program_to;

struct nth_shared *nth_shared(void)
{
    return shared;
}

long nth_live_blocks(void)
{
    return atomic_load(&live);
}

const char *nth_kind_name(enum nth_kind kind)
{
    static const char *const names[] = {
#define NTH_NAME_OF(kind, name, error) name,
        NTH_KINDS(NTH_NAME_OF)
#undef NTH_NAME_OF
    };
    return names[kind];
}

static int error_of(enum nth_kind kind)
{
    static const int errors[] = {
#define NTH_ERROR_OF(kind, name, error) error,
        NTH_KINDS(NTH_ERROR_OF)
#undef NTH_ERROR_OF
    };
    return errors[kind];
}

void nth_plan(struct nth_shared *plan, enum nth_kind kind, long at, bool is_lasting)
{
    atomic_store(&plan->is_off, true);
    for (int i = 0; i < NTH_KIND_COUNT; i++) {
        atomic_store(&plan->seen[i], 0);
    }
    atomic_store(&plan->failed, 0);
    plan->where[0] = '\0';
    atomic_store(&plan->kind, (int)kind);
    atomic_store(&plan->at, at);
    atomic_store(&plan->is_lasting, is_lasting);
    atomic_store(&plan->is_off, false);
}

/* --- who asks ----------------------------------------------------------------------------------
 */

static int find_ranges(struct dl_phdr_info *info, size_t size, void *nth)
{
    int *count = nth;
    uintptr_t from = UINTPTR_MAX, to = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + header->p_vaddr;
            from = begin < from ? begin : from;
            to = begin + header->p_memsz > to ? begin + header->p_memsz : to;
        }
    }
    if ((*count)++ == 0) {
        program_from = from;
        program_to = to;
    } else if (strstr(info->dlpi_name, "libsqlite3")) {
        sqlite_from = from;
        sqlite_to = to;
    }
    return 0;
}

static enum nth_kind memory_of(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (at >= program_from && at < program_to) {
        return NTH_OWN_MEMORY;
    }
    return at >= sqlite_from && at < sqlite_to ? NTH_SQLITE_MEMORY : NTH_OTHER_MEMORY;
}

static void look_around(void)
{
    int count = 0;
    dl_iterate_phdr(find_ranges, &count);
}

void nth_look_on(void)
{
    atomic_store(&is_onlooker, true);
}

void nth_begin(const char *file)
{
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*shared)) < 0) {
        abort();
    }
    void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        abort();
    }
    close(fd);
    look_around();
    shared = memory;
    atomic_store(&shared->is_off, true);
}

__attribute__((constructor)) static void begin_preloaded(void)
{
    const char *path = getenv(NTH_FILE_VARIABLE);
    const char *program = program_invocation_short_name;
    if (!path || (strcmp(program, "factory") != 0 && strcmp(program, "guest-daemon") != 0)) {
        return;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) {
        close(fd);
    }
    if (memory != MAP_FAILED) {
        look_around();
        shared = memory;
    }
}

/* --- counting ----------------------------------------------------------------------------------
 */

/* Notes the first failure: what, and whatever tells the place. */
static void note(const char *function, const void *caller)
{
    Dl_info info = {0};
    if (atomic_fetch_add(&shared->failed, 1) > 0) {
        return;
    }
    int saved_errno = errno;
    const void *from = NULL;
    if (dladdr(caller, &info)) {
        from = info.dli_fbase;
    }
    snprintf(shared->where, sizeof(shared->where), "%s from %s+0x%lx, process %d", function,
             info.dli_fname
                 ? strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : info.dli_fname
                 : "?",
             (unsigned long)((uintptr_t)caller - (uintptr_t)from), (int)getpid());
    errno = saved_errno;
}

/* True: this call fails, with this kind's error in errno. */
static bool fails(unsigned kinds, const char *function, const void *caller)
{
    struct nth_shared *s = shared;
    bool is_hit = false;
    if (!s || atomic_load(&is_onlooker) || atomic_load(&s->is_off)) {
        return false;
    }
    int wanted = atomic_load(&s->kind);
    for (int kind = 0; kind < NTH_KIND_COUNT; kind++) {
        if (!(kinds & BIT(kind))) {
            continue;
        }
        long number = atomic_fetch_add(&s->seen[kind], 1) + 1;
        long at = atomic_load(&s->at);
        if (kind == wanted && at > 0 &&
            (number == at || (number > at && atomic_load(&s->is_lasting)))) {
            is_hit = true;
        }
    }
    if (is_hit) {
        note(function, caller);
        errno = error_of((enum nth_kind)wanted);
    }
    return is_hit;
}

#define CALLER __builtin_return_address(0)
#define FAILS(kinds) fails((kinds), __func__, CALLER)
#define REAL(ret, name, ...)                                                                       \
    static ret (*real)(__VA_ARGS__);                                                               \
    if (!real) {                                                                                   \
        real = (ret(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, #name);                            \
    }

/* --- memory ------------------------------------------------------------------------------------
 */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *ptr, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *ptr);

static void *counted(void *ptr)
{
    if (ptr) {
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    }
    return ptr;
}

EXPORT void *malloc(size_t bytes)
{
    return FAILS(BIT(memory_of(CALLER))) ? NULL : counted(__libc_malloc(bytes));
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    return FAILS(BIT(memory_of(CALLER))) ? NULL : counted(__libc_calloc(count, bytes));
}

EXPORT void free(void *ptr)
{
    if (ptr) {
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        __libc_free(ptr);
    }
}

EXPORT void *realloc(void *ptr, size_t bytes)
{
    if (FAILS(BIT(memory_of(CALLER)))) {
        return NULL;
    }
    if (!ptr) {
        return counted(__libc_realloc(NULL, bytes));
    }
    if (bytes == 0) {
        free(ptr);
        return NULL;
    }
    return __libc_realloc(ptr, bytes);
}

EXPORT void *memalign(size_t align, size_t bytes)
{
    return FAILS(BIT(memory_of(CALLER))) ? NULL : counted(__libc_memalign(align, bytes));
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
    return FAILS(BIT(memory_of(CALLER))) ? NULL : counted(__libc_memalign(align, bytes));
}

EXPORT int posix_memalign(void **ret, size_t align, size_t bytes)
{
    if (FAILS(BIT(memory_of(CALLER)))) {
        return ENOMEM;
    }
    void *ptr = counted(__libc_memalign(align, bytes));
    if (!ptr) {
        return ENOMEM;
    }
    *ret = ptr;
    return 0;
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    REAL(void *, mmap, void *, size_t, int, int, int, off_t)
    return FAILS(BIT(NTH_MAP)) ? MAP_FAILED : real(addr, len, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    REAL(void *, mmap64, void *, size_t, int, int, int, off_t)
    return FAILS(BIT(NTH_MAP)) ? MAP_FAILED : real(addr, len, prot, flags, fd, offset);
}

/* --- threads and processes ---------------------------------------------------------------------
 */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
    return FAILS(BIT(NTH_THREAD)) ? EAGAIN : real(thread, attr, fn, arg);
}

EXPORT pid_t fork(void)
{
    REAL(pid_t, fork, void)
    return FAILS(BIT(NTH_PROCESS)) ? -1 : real();
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    REAL(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *,
         const posix_spawnattr_t *, char *const[], char *const[])
    return FAILS(BIT(NTH_PROCESS)) ? EAGAIN : real(pid, path, actions, attr, argv, envp);
}

#define WAITS BIT(NTH_INTERRUPT)

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    REAL(pid_t, waitpid, pid_t, int *, int)
    return FAILS(WAITS) ? -1 : real(pid, status, options);
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    REAL(int, waitid, idtype_t, id_t, siginfo_t *, int)
    return FAILS(WAITS) ? -1 : real(type, id, info, options);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    REAL(int, poll, struct pollfd *, nfds_t, int)
    return FAILS(WAITS) ? -1 : real(fds, count, timeout);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
    REAL(int, epoll_wait, int, struct epoll_event *, int, int)
    return FAILS(WAITS) ? -1 : real(fd, events, most, timeout);
}

/* --- files -------------------------------------------------------------------------------------
 */

static unsigned open_kinds(int flags)
{
    return flags & (O_CREAT | O_TMPFILE) ? BIT(NTH_OPEN) | BIT(NTH_CREATE) : BIT(NTH_OPEN);
}

#define MODE(flags)                                                                                \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        mode = va_arg(ap, mode_t);                                                                 \
        va_end(ap);                                                                                \
    }

EXPORT int open(const char *path, int flags, ...)
{
    REAL(int, open, const char *, int, ...)
    MODE(flags)
    return FAILS(open_kinds(flags)) ? -1 : real(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    REAL(int, open64, const char *, int, ...)
    MODE(flags)
    return FAILS(open_kinds(flags)) ? -1 : real(path, flags, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
    REAL(int, openat, int, const char *, int, ...)
    MODE(flags)
    return FAILS(open_kinds(flags)) ? -1 : real(dir, path, flags, mode);
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
    REAL(int, openat64, int, const char *, int, ...)
    MODE(flags)
    return FAILS(open_kinds(flags)) ? -1 : real(dir, path, flags, mode);
}

EXPORT DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, const char *)
    return FAILS(BIT(NTH_OPEN)) ? NULL : real(path);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, const char *, const char *)
    return FAILS(BIT(NTH_OPEN)) ? NULL : real(path, mode);
}

#define NEW_NAME BIT(NTH_CREATE)
#define OLD_NAME BIT(NTH_NAME)

EXPORT int mkdir(const char *path, mode_t mode)
{
    REAL(int, mkdir, const char *, mode_t)
    return FAILS(NEW_NAME) ? -1 : real(path, mode);
}

EXPORT int mkdirat(int dir, const char *path, mode_t mode)
{
    REAL(int, mkdirat, int, const char *, mode_t)
    return FAILS(NEW_NAME) ? -1 : real(dir, path, mode);
}

EXPORT int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    REAL(int, linkat, int, const char *, int, const char *, int)
    return FAILS(NEW_NAME) ? -1 : real(from_dir, from, to_dir, to, flags);
}

EXPORT int symlink(const char *target, const char *path)
{
    REAL(int, symlink, const char *, const char *)
    return FAILS(NEW_NAME) ? -1 : real(target, path);
}

EXPORT int symlinkat(const char *target, int dir, const char *path)
{
    REAL(int, symlinkat, const char *, int, const char *)
    return FAILS(NEW_NAME) ? -1 : real(target, dir, path);
}

EXPORT int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *)
    return FAILS(OLD_NAME) ? -1 : real(from, to);
}

EXPORT int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    REAL(int, renameat, int, const char *, int, const char *)
    return FAILS(OLD_NAME) ? -1 : real(from_dir, from, to_dir, to);
}

EXPORT int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    REAL(int, renameat2, int, const char *, int, const char *, unsigned)
    return FAILS(OLD_NAME) ? -1 : real(from_dir, from, to_dir, to, flags);
}

EXPORT int unlink(const char *path)
{
    REAL(int, unlink, const char *)
    return FAILS(OLD_NAME) ? -1 : real(path);
}

EXPORT int unlinkat(int dir, const char *path, int flags)
{
    REAL(int, unlinkat, int, const char *, int)
    return FAILS(OLD_NAME) ? -1 : real(dir, path, flags);
}

EXPORT int rmdir(const char *path)
{
    REAL(int, rmdir, const char *)
    return FAILS(OLD_NAME) ? -1 : real(path);
}

#define READS (BIT(NTH_READ) | BIT(NTH_READ_SHORT) | WAITS)
#define WRITES (BIT(NTH_WRITE) | BIT(NTH_WRITE_FULL) | BIT(NTH_WRITE_SHORT) | WAITS)

/* A transfer that fails, or that is short: half of it. */
#define TRANSFER(kinds, whole, half)                                                               \
    if (!FAILS(kinds)) {                                                                           \
        return whole;                                                                              \
    }                                                                                              \
    if (errno != 0) {                                                                              \
        return -1;                                                                                 \
    }                                                                                              \
    len = len > 1 ? len / 2 : len;                                                                 \
    return half

EXPORT ssize_t read(int fd, void *bytes, size_t len)
{
    REAL(ssize_t, read, int, void *, size_t)
    TRANSFER(READS, real(fd, bytes, len), real(fd, bytes, len));
}

EXPORT ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
    REAL(ssize_t, pread, int, void *, size_t, off_t)
    TRANSFER(READS, real(fd, bytes, len, at), real(fd, bytes, len, at));
}

EXPORT ssize_t pread64(int fd, void *bytes, size_t len, off64_t at)
{
    REAL(ssize_t, pread64, int, void *, size_t, off64_t)
    TRANSFER(READS, real(fd, bytes, len, at), real(fd, bytes, len, at));
}

EXPORT ssize_t write(int fd, const void *bytes, size_t len)
{
    REAL(ssize_t, write, int, const void *, size_t)
    TRANSFER(WRITES, real(fd, bytes, len), real(fd, bytes, len));
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
    TRANSFER(WRITES, real(fd, bytes, len, at), real(fd, bytes, len, at));
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
    TRANSFER(WRITES, real(fd, bytes, len, at), real(fd, bytes, len, at));
}

EXPORT int fsync(int fd)
{
    REAL(int, fsync, int)
    return FAILS(BIT(NTH_SYNC)) ? -1 : real(fd);
}

EXPORT int fdatasync(int fd)
{
    REAL(int, fdatasync, int)
    return FAILS(BIT(NTH_SYNC)) ? -1 : real(fd);
}

EXPORT int ftruncate(int fd, off_t len)
{
    REAL(int, ftruncate, int, off_t)
    return FAILS(BIT(NTH_SIZE)) ? -1 : real(fd, len);
}

EXPORT int ftruncate64(int fd, off64_t len)
{
    REAL(int, ftruncate64, int, off64_t)
    return FAILS(BIT(NTH_SIZE)) ? -1 : real(fd, len);
}

EXPORT int posix_fallocate(int fd, off_t at, off_t len)
{
    REAL(int, posix_fallocate, int, off_t, off_t)
    return FAILS(BIT(NTH_SIZE)) ? ENOSPC : real(fd, at, len);
}

EXPORT int posix_fallocate64(int fd, off64_t at, off64_t len)
{
    REAL(int, posix_fallocate64, int, off64_t, off64_t)
    return FAILS(BIT(NTH_SIZE)) ? ENOSPC : real(fd, at, len);
}

/* --- descriptors and sockets -------------------------------------------------------------------
 */

#define ANY BIT(NTH_DESCRIPTOR)

EXPORT int pipe2(int ends[2], int flags)
{
    REAL(int, pipe2, int[2], int)
    return FAILS(ANY) ? -1 : real(ends, flags);
}

EXPORT int eventfd(unsigned value, int flags)
{
    REAL(int, eventfd, unsigned, int)
    return FAILS(ANY) ? -1 : real(value, flags);
}

EXPORT int timerfd_create(clockid_t clock, int flags)
{
    REAL(int, timerfd_create, clockid_t, int)
    return FAILS(ANY) ? -1 : real(clock, flags);
}

EXPORT int epoll_create1(int flags)
{
    REAL(int, epoll_create1, int)
    return FAILS(ANY) ? -1 : real(flags);
}

EXPORT int inotify_init1(int flags)
{
    REAL(int, inotify_init1, int)
    return FAILS(ANY) ? -1 : real(flags);
}

EXPORT int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    REAL(int, inotify_add_watch, int, const char *, uint32_t)
    return FAILS(ANY) ? -1 : real(fd, path, mask);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    REAL(int, memfd_create, const char *, unsigned)
    return FAILS(ANY) ? -1 : real(name, flags);
}

EXPORT int pidfd_open(pid_t pid, unsigned flags)
{
    REAL(int, pidfd_open, pid_t, unsigned)
    return FAILS(ANY) ? -1 : real(pid, flags);
}

EXPORT int dup(int fd)
{
    REAL(int, dup, int)
    return FAILS(ANY) ? -1 : real(fd);
}

EXPORT int socketpair(int domain, int type, int protocol, int ends[2])
{
    REAL(int, socketpair, int, int, int, int[2])
    return FAILS(ANY) ? -1 : real(domain, type, protocol, ends);
}

#define SOCKETS BIT(NTH_SOCKET)

EXPORT int socket(int domain, int type, int protocol)
{
    REAL(int, socket, int, int, int)
    return FAILS(SOCKETS) ? -1 : real(domain, type, protocol);
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    REAL(int, bind, int, const struct sockaddr *, socklen_t)
    return FAILS(SOCKETS) ? -1 : real(fd, address, len);
}

EXPORT int listen(int fd, int backlog)
{
    REAL(int, listen, int, int)
    return FAILS(SOCKETS) ? -1 : real(fd, backlog);
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *len)
{
    REAL(int, accept, int, struct sockaddr *, socklen_t *)
    return FAILS(SOCKETS | WAITS) ? -1 : real(fd, address, len);
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    REAL(int, accept4, int, struct sockaddr *, socklen_t *, int)
    return FAILS(SOCKETS | WAITS) ? -1 : real(fd, address, len, flags);
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    REAL(int, connect, int, const struct sockaddr *, socklen_t)
    return FAILS(BIT(NTH_CONNECT)) ? -1 : real(fd, address, len);
}

#define TRAFFIC (BIT(NTH_TRAFFIC) | WAITS)

EXPORT ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    REAL(ssize_t, send, int, const void *, size_t, int)
    TRANSFER(TRAFFIC | BIT(NTH_WRITE_SHORT), real(fd, bytes, len, flags),
             real(fd, bytes, len, flags));
}

EXPORT ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
    REAL(ssize_t, recv, int, void *, size_t, int)
    TRANSFER(TRAFFIC | BIT(NTH_READ_SHORT), real(fd, bytes, len, flags),
             real(fd, bytes, len, flags));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    REAL(ssize_t, sendmsg, int, const struct msghdr *, int)
    return FAILS(TRAFFIC) ? -1 : real(fd, message, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    REAL(ssize_t, recvmsg, int, struct msghdr *, int)
    return FAILS(TRAFFIC) ? -1 : real(fd, message, flags);
}
