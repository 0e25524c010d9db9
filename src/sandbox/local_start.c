/*
 * local_start.c - see local_start.h.
 *
 * Owns: the sandbox's view of the machine:
 *
 *     /usr /bin /sbin /lib*      the host's, read-only
 *     /etc                       chosen files of the host, read-only; own passwd, group, hosts
 *     /workspace /home/user /tmp directories of its own on the host's disk
 *     /dev/shm                   memory, bounded
 *     /run/factory/guest         the guest daemon, read-only
 *     /proc /dev                 its own
 *     everything else            absent: no /run, no /home, no /root, no /sys, no host /tmp
 *
 * New user, pid, ipc, uts, net and cgroup namespaces, no further user namespaces, no capabilities,
 * no_new_privs, a system call filter. As root the sandbox first becomes an ordinary user; since
 * that user cannot walk to directories that only root may enter, they are first bound below a
 * private tmpfs ("staging") in a mount namespace of our own.
 *
 * bubblewrap's arguments go through a descriptor: argv is visible inside and would show host paths.
 * Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local_start.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/seccomp.h"

#define GUEST_INSIDE "/run/factory/guest"
#define SHM_DEFAULT (64LL << 20)
#define STAGING "/mnt"

/* What programs need of /etc and what tells nothing about the operator. Every bind costs two mounts
 * and a look through all others, so files are copied into the sandbox's root instead. */
static const char *const etc_files[] = {
    "/etc/ld.so.cache", "/etc/ld.so.conf",     "/etc/localtime",
    "/etc/timezone",    "/etc/services",       "/etc/protocols",
    "/etc/mime.types",  "/etc/debian_version", "/etc/profile",
    "/etc/bash.bashrc", "/etc/inputrc",        "/etc/shells",
    "/etc/gai.conf",    "/etc/host.conf",      "/etc/ssl/openssl.cnf",
    "/etc/login.defs",  "/etc/os-release",     "/etc/ca-certificates.conf",
};
static const char *const system_dirs[] = {
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ld.so.conf.d",
    "/etc/perl",
    "/etc/fonts",
    "/etc/xml",
    "/etc/sgml",
    "/etc/python3.11",
    "/etc/python3.13",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/var/lib/dpkg", /* what is installed: [sandbox] base_packages asks */
};
#define ETC_FILE_MAX (4 << 20)

#define COMMAND_MAX 32

struct args {
    struct str list;            /* options: NUL-separated, as bwrap --args reads it */
    char *command[COMMAND_MAX]; /* what runs inside; this much is visible there */
    size_t words;
};

static void word(struct args *args, const char *text)
{
    if (args->words < COMMAND_MAX - 5) {
        args->command[args->words++] = mem_strdup(text);
    }
}

static void free_args(struct args *args)
{
    str_free(&args->list);
    for (size_t i = 0; i < args->words; i++) {
        free(args->command[i]);
    }
}

static void arg(struct args *args, const char *text)
{
    str_addn(&args->list, text, strlen(text) + 1);
}

static void arg3(struct args *args, const char *option, const char *a, const char *b)
{
    arg(args, option);
    arg(args, a);
    arg(args, b);
}

static void arg_number(struct args *args, const char *option, long long value)
{
    autofree char *text = mem_printf("%lld", value);

    arg(args, option);
    arg(args, text);
}

/* A descriptor that reads as these bytes and is inherited by bubblewrap. */
static int bytes_fd(const void *bytes, size_t len, struct err *err)
{
    int fd = memfd_create("sandbox", 0);

    if (fd < 0 || fs_write_all(fd, bytes, len, err) || lseek(fd, 0, SEEK_SET) < 0) {
        return err_sys(err, errno, "StartFailed", "sandbox: memfd");
    }
    return fd;
}

/* --- staging --------------------------------------------------------------------------------- */

struct staging {
    bool on;
    unsigned count;
};

static int stage_begin(struct staging *staging, struct err *err)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
        return err_sys(err, errno, "NamespacesForbidden",
                       "sandbox: this machine's root may not make a mount namespace");
    }
    staging->on = true;
    return 0;
}

/* A path at which the dropped user finds `fd` (opened with O_PATH before staging covers anything).
 */
static int stage(struct staging *staging, int fd, char **ret_path, struct err *err)
{
    autofree char *source = mem_printf("/proc/self/fd/%d", fd);
    autofree char *path = mem_printf(STAGING "/%u", staging->count++);
    struct stat facts;

    if (fstat(fd, &facts)) {
        return err_sys(err, errno, "StartFailed", "sandbox: staging");
    }
    int rc = 0;
    if (S_ISDIR(facts.st_mode)) {
        rc = mkdir(path, 0755);
    } else {
        autoclose int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        rc = file < 0 ? -1 : 0;
    }
    if (rc || mount(source, path, NULL, MS_BIND | MS_REC, NULL)) {
        return err_sys(err, errno, "StartFailed", "sandbox: staging %s", path);
    }
    *ret_path = steal(&path);
    return 0;
}

/* One thing to bind: host path and place inside. */
struct wanted {
    const char *option; /* "--bind" or "--ro-bind" */
    char *source;
    const char *target;
    int fd;
};

static int stage_all(struct wanted *list, size_t count, struct err *err)
{
    struct staging staging = {0};

    if (stage_begin(&staging, err)) {
        return -1;
    }
    /* In the new namespace (mounts of another one cannot be bound), before anything is covered. */
    for (size_t i = 0; i < count; i++) {
        list[i].fd = open(list[i].source, O_PATH | O_CLOEXEC);
        if (list[i].fd < 0) {
            return err_sys(err, errno, "StartFailed", "sandbox: %s", list[i].source);
        }
    }
    if (mount("tmpfs", STAGING, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m")) {
        return err_sys(err, errno, "StartFailed", "sandbox: staging on " STAGING);
    }
    for (size_t i = 0; i < count; i++) {
        char *staged = NULL;
        if (stage(&staging, list[i].fd, &staged, err)) {
            return -1;
        }
        free(list[i].source);
        list[i].source = staged;
    }
    return 0;
}

static int add_wanted(const struct local_record *record, struct args *args, struct err *err)
{
    size_t count = 4 + record->bind_count;
    struct wanted *list = mem_array(count, sizeof(*list));
    int rc = 0;

    list[0] =
        (struct wanted){"--bind", mem_printf("%s/fs/workspace", record->dir), LOCAL_WORKSPACE, -1};
    list[1] = (struct wanted){"--bind", mem_printf("%s/fs/home", record->dir), LOCAL_HOME, -1};
    list[2] = (struct wanted){"--bind", mem_printf("%s/fs/tmp", record->dir), "/tmp", -1};
    list[3] = (struct wanted){"--ro-bind", mem_strdup(record->guest_argv[0]), GUEST_INSIDE, -1};
    for (size_t i = 0; i < record->bind_count; i++) {
        list[4 + i] = (struct wanted){"--ro-bind", mem_strdup(record->binds[i].source),
                                      record->binds[i].target, -1};
    }
    if (record->drop) {
        rc = stage_all(list, count, err);
    }
    for (size_t i = 0; i < count; i++) {
        if (rc == 0) {
            arg3(args, list[i].option, list[i].source, list[i].target);
        }
        free(list[i].source);
    }
    free(list);
    return rc;
}

/* --- arguments ------------------------------------------------------------------------------- */

static void add_namespaces(struct args *args, bool share_net)
{
    static const char *const always[] = {
        "--unshare-user",       "--unshare-pid",    "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--disable-userns", "--new-session", "--die-with-parent",
    };

    for (size_t i = 0; i < ARRAY_LEN(always); i++) {
        arg(args, always[i]);
    }
    if (!share_net) {
        arg(args, "--unshare-net");
    }
    arg_number(args, "--uid", LOCAL_UID);
    arg_number(args, "--gid", LOCAL_UID);
    arg(args, "--hostname");
    arg(args, "sandbox");
    arg(args, "--cap-drop");
    arg(args, "ALL");
}

static void add_system(struct args *args)
{
    static const char *const tops[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

    arg3(args, "--ro-bind", "/usr", "/usr");
    for (size_t i = 0; i < ARRAY_LEN(tops); i++) {
        char target[256];
        ssize_t len = readlink(tops[i], target, sizeof(target) - 1);
        if (len > 0) {
            target[len] = '\0';
            arg3(args, "--symlink", target, tops[i]);
        } else {
            arg3(args, "--ro-bind-try", tops[i], tops[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++) {
        if (fs_is_dir(system_dirs[i])) {
            arg3(args, "--ro-bind", system_dirs[i], system_dirs[i]);
        }
    }
}

static void add_own_places(struct args *args, const struct local_record *record)
{
    int64_t shm = record->limits.memory_bytes / 4;

    if (shm <= 0 || shm > SHM_DEFAULT) {
        shm = SHM_DEFAULT;
    }
    arg(args, "--proc");
    arg(args, "/proc");
    arg(args, "--dev");
    arg(args, "/dev");
    arg_number(args, "--size", shm);
    arg(args, "--perms");
    arg(args, "1777");
    arg(args, "--tmpfs");
    arg(args, "/dev/shm");
    arg(args, "--remount-ro");
    arg(args, "/dev");
    static const char *const dirs[] = {"/home", "/run", "/run/factory", "/var", "/var/log", "/opt"};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        arg(args, "--perms");
        arg(args, "0755");
        arg(args, "--dir");
        arg(args, dirs[i]);
    }
    arg3(args, "--symlink", "../tmp", "/var/tmp");
    arg3(args, "--symlink", "../run", "/var/run");
    if (record->share_net) {
        arg3(args, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
    }
}

/* A file in the sandbox's root, which is made read-only at the end. */
static void add_file(struct args *args, int fd, const char *target)
{
    arg(args, "--perms");
    arg(args, "0644");
    arg_number(args, "--file", fd);
    arg(args, target);
}

/* Only what everybody may read: we may still be root here. */
static void add_etc(struct args *args)
{
    for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
        struct stat facts;
        int fd = open(etc_files[i], O_RDONLY | O_NONBLOCK);
        if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
            (facts.st_mode & S_IROTH) && facts.st_size <= ETC_FILE_MAX) {
            add_file(args, fd, etc_files[i]);
        } else if (fd >= 0) {
            close(fd);
        }
    }
}

static int add_own_files(struct args *args, struct err *err)
{
    static const char *const files[][2] = {
        {"/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                        "user:x:1000:1000:sandbox user:/home/user:/bin/bash\n"
                        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
        {"/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"},
        {"/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n"},
        {"/etc/hostname", "sandbox\n"},
        {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n"
                               "protocols: files\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        int fd = bytes_fd(files[i][1], strlen(files[i][1]), err);
        if (fd < 0) {
            return -1;
        }
        add_file(args, fd, files[i][0]);
    }
    add_etc(args);
    return 0;
}

static int add_filter(struct args *args, struct err *err)
{
    autostr struct str program = {0};

    if (!seccomp_program(&program)) {
        return 0;
    }
    int fd = bytes_fd(program.ptr, program.len, err);
    if (fd < 0) {
        return -1;
    }
    arg_number(args, "--seccomp", fd);
    return 0;
}

static void add_guest(struct args *args, const struct local_record *record, int listen_fd)
{
    arg(args, "--remount-ro");
    arg(args, "/");
    arg(args, "--chdir");
    arg(args, LOCAL_WORKSPACE);
    if (str_eq(record->enforced.processes, "rlimit")) {
        autofree char *limit = mem_printf("--nproc=%lld:%lld", (long long)record->limits.processes,
                                          (long long)record->limits.processes);
        word(args, "/usr/bin/prlimit");
        word(args, limit);
        word(args, "--");
    }
    word(args, GUEST_INSIDE);
    for (size_t i = 1; record->guest_argv[i]; i++) {
        word(args, record->guest_argv[i]);
    }
    autofree char *listening = mem_printf("%d", listen_fd);
    autofree char *idle = mem_printf("%lld", (long long)record->idle_ms);
    const char *const options[] = {"--listen-fd", listening, "--workdir", LOCAL_WORKSPACE, "--home",
                                   LOCAL_HOME,    "--user",  LOCAL_USER,  "--idle-ms",     idle};
    for (size_t i = 0; i < ARRAY_LEN(options) - (record->idle_ms > 0 ? 0 : 2); i++) {
        word(args, options[i]);
    }
}

/* --- exec ------------------------------------------------------------------------------------ */

static void set_rlimits(const struct local_record *record)
{
    const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    if (record->limits.disk_bytes > 0) {
        const struct rlimit size = {(rlim_t)record->limits.disk_bytes,
                                    (rlim_t)record->limits.disk_bytes};
        setrlimit(RLIMIT_FSIZE, &size);
    }
}

static int drop_rights(uid_t uid, gid_t gid, bool drop, struct err *err)
{
    if (drop && (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))) {
        return err_sys(err, errno, "StartFailed", "sandbox: becoming user %u", (unsigned)uid);
    }
    /* A change of user clears it, so it comes after. */
    pid_t parent = getppid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || parent == 1) {
        return err_set(err, ERR_TRANSIENT, "StartFailed", "sandbox: the supervisor died");
    }
    return 0;
}

static int exec_bwrap(const char *bwrap, const struct args *args, struct err *err)
{
    static const char *const env[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME=" LOCAL_HOME,
        "USER=" LOCAL_USER,
        "LOGNAME=" LOCAL_USER,
        "LANG=C.UTF-8",
        "TMPDIR=/tmp",
        NULL,
    };
    int fd = bytes_fd(args->list.ptr, args->list.len, err);

    if (fd < 0) {
        return -1;
    }
    autofree char *number = mem_printf("%d", fd);
    const char *argv[COMMAND_MAX] = {"bwrap", "--args", number, "--"};
    for (size_t i = 0; i < args->words; i++) {
        argv[4 + i] = args->command[i];
    }
    execve(bwrap, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
    return err_sys(err, errno, "ProgramMissing", "sandbox: %s", bwrap);
}

int local_start_exec(const struct local_record *record, int listen_fd, struct err *err)
{
    struct args args = {0};

    int rc = cgroup_join(&record->cgroups);
    if (rc) {
        return err_sys(err, -rc, "StartFailed", "sandbox: joining its control groups");
    }
    set_rlimits(record);
    add_namespaces(&args, record->share_net);
    add_system(&args);
    add_own_places(&args, record);
    if (add_wanted(record, &args, err) || add_own_files(&args, err) || add_filter(&args, err) ||
        drop_rights(record->uid, record->gid, record->drop, err)) {
        free_args(&args);
        return -1;
    }
    add_guest(&args, record, listen_fd);
    rc = exec_bwrap(record->bwrap, &args, err);
    free_args(&args);
    return rc;
}

int local_probe_exec(const char *bwrap, uid_t uid, gid_t gid, bool drop, struct err *err)
{
    struct args args = {0};

    add_namespaces(&args, false);
    add_system(&args);
    arg(&args, "--proc");
    arg(&args, "/proc");
    arg(&args, "--dev");
    arg(&args, "/dev");
    word(&args, "/usr/bin/true");
    struct staging staging = {0};
    int rc = drop ? stage_begin(&staging, err) : 0;
    if (rc == 0) {
        rc = drop_rights(uid, gid, drop, err);
    }
    if (rc == 0) {
        rc = exec_bwrap(bwrap, &args, err);
    }
    free_args(&args);
    return rc;
}
