/*
 * local_create.c - create() of the local provider.
 *
 * Owns: the order in which a sandbox comes to be:
 *
 *     1 refuse what cannot be done        nothing exists
 *     2 .new-ID written, renamed to ID    list() finds it (CREATING, DEAD when we die)
 *     3 socket, control groups            removed by destroy()
 *     4 supervisor started                processes; all below it
 *     5 /health answered                  (the connection waits in the socket until the guest
 * accepts) 6 environment handed over           through the socket: never on disk, never in argv 7
 * `ready`                           RUNNING
 *
 * Dying between any two steps leaves what destroy() removes. Failing does the same at once.
 * Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/rng.h"
#include "sandbox/envd_wire.h"

#define START_TIMEOUT_MS 30000
#define LAUNCH_TIMEOUT_MS 20000
#define LISTEN_BACKLOG 128
#define LOG_MAX (64 * 1024)
#define STALE_S 3600 /* a half-written .new-* directory of a creator that died */

/* --- binds ----------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);

    return str_eq(top, "/") ||
           (strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

/* Symbolic links are resolved on both sides before they are compared. */
static bool is_declared(const struct local_provider *local, const char *real)
{
    for (size_t i = 0; local->bind_sources && local->bind_sources[i]; i++) {
        autofree char *top = NULL;
        if (fs_realpath(local->bind_sources[i], &top, NULL) == 0 && is_below(real, top)) {
            return true;
        }
    }
    return false;
}

static int resolve_binds(const struct local_provider *local, const struct sandbox_spec *spec,
                         struct arena *arena, struct local_record *record, struct err *err)
{
    struct sandbox_bind *binds = arena_array_of(arena, struct sandbox_bind, spec->bind_count + 1);

    for (size_t i = 0; i < spec->bind_count; i++) {
        autofree char *real = NULL;
        if (fs_realpath(spec->binds[i].source, &real, err)) {
            return err_wrap(err, "sandbox: bind source");
        }
        if (!is_declared(local, real)) {
            return err_set(
                err, ERR_PERMANENT, "BindNotDeclared",
                "sandbox: %.300s may not be shown inside; declare it (or a directory above "
                "it) to the local provider",
                real);
        }
        binds[i].source = arena_strdup(arena, real);
        binds[i].target = arena_strdup(arena, spec->binds[i].target);
    }
    record->binds = binds;
    record->bind_count = spec->bind_count;
    return 0;
}

/* --- on disk --------------------------------------------------------------------------------- */

static int make_places(const struct local_record *record, const char *dir, struct err *err)
{
    static const struct {
        const char *name;
        mode_t mode;
    } places[] = {{"fs/workspace", 0755}, {"fs/home", 0755}, {"fs/tmp", 01777}};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        autofree char *path = fs_join(dir, places[i].name);
        if (fs_mkdirs(path, 0755, err)) {
            return -1;
        }
        if ((record->drop && chown(path, record->uid, record->gid)) ||
            chmod(path, places[i].mode)) {
            return err_sys(err, errno, "CreateFailed", "sandbox: preparing %s", path);
        }
    }
    return 0;
}

static int write_down(const struct local_provider *local, const struct local_record *record,
                      struct err *err)
{
    autofree char *part = mem_printf("%s/.new-%s", local->top, record->id);

    if (fs_mkdirs(local->top, 0750, err) || fs_mkdirs(part, 0750, err)) {
        return -1;
    }
    if (make_places(record, part, err) || local_record_write(record, part, err)) {
        fs_remove_tree(part, NULL);
        return -1;
    }
    if (rename(part, record->dir)) {
        int saved = errno;
        fs_remove_tree(part, NULL);
        return err_sys(err, saved, "CreateFailed", "sandbox: %s", record->dir);
    }
    return fs_fsync_dir(local->top, err);
}

/* What died half-way leaves directories that list() does not show and nothing uses. */
static void sweep(const char *top)
{
    DIR *dir = opendir(top);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        bool gone = str_starts(entry->d_name, ".gone-");
        struct stat facts;
        if (!gone && !str_starts(entry->d_name, ".new-")) {
            continue;
        }
        autofree char *path = fs_join(top, entry->d_name);
        if (gone ||
            (stat(path, &facts) == 0 && clock_wall_ns() / NS_PER_S - facts.st_mtime > STALE_S)) {
            fs_remove_tree(path, NULL);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* --- the socket ------------------------------------------------------------------------------ */

static int listen_at(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path)) {
        return err_set(err, ERR_PERMANENT, "SocketPathTooLong",
                       "sandbox: %s is too long for a socket; set XDG_RUNTIME_DIR to something "
                       "shorter",
                       path);
    }
    str_copy(address.sun_path, sizeof(address.sun_path), path);
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
        chmod(path, 0600) || listen(fd, LISTEN_BACKLOG)) {
        return err_sys(err, errno, "CreateFailed", "sandbox: listening on %s", path);
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* --- start ----------------------------------------------------------------------------------- */

static int launch(const struct local_provider *local, const struct local_record *record,
                  int listen_fd, struct err *err)
{
    const char *argv[16] = {0};
    autoproc struct proc_result result = {0};
    size_t n = 0;

    while (local->supervisor_argv[n] && n < ARRAY_LEN(argv) - 2) {
        argv[n] = local->supervisor_argv[n];
        n++;
    }
    argv[n] = record->dir;
    struct proc_spec spec = {
        .argv = argv,
        .envp = local_outer_env,
        .dir = "/",
        .stdin_fd = listen_fd,
    };
    if (proc_run(&spec, NULL, 0, 4096, LAUNCH_TIMEOUT_MS, &result, err)) {
        return err_wrap(err, "sandbox %s: its supervisor", record->id);
    }
    if (result.exit_code != 0) {
        return err_set(err, ERR_TRANSIENT, "SandboxNotStarted",
                       "sandbox %s: its supervisor ended with status %d: %.400s", record->id,
                       result.exit_code, str_c(&result.err));
    }
    return 0;
}

/* Why did it not come up? */
static int explain(const struct local_provider *local, const struct local_host *host,
                   const struct local_record *record, struct err *err)
{
    autofree char *path = fs_join(record->dir, "log");
    autostr struct str log = {0};
    struct err why = {0};

    if (local_probe(local, host, &why) && why.kind == ERR_PERMANENT) {
        if (err) {
            *err = why;
        }
        return -1;
    }
    fs_read_file(path, LOG_MAX, &log, NULL);
    while (log.len > 0 && log.ptr[log.len - 1] == '\n') {
        str_cut(&log, log.len - 1);
    }
    if (log.len == 0) {
        autofree char *ended = fs_join(record->dir, "ended");
        fs_read_file(ended, LOG_MAX, &log, NULL);
        str_cut(&log, strcspn(str_c(&log), "\n"));
    }
    return err_set(err, ERR_TRANSIENT, "SandboxNotStarted", "sandbox %s did not come up: %.600s",
                   record->id, log.len ? log.ptr : "it said nothing");
}

static int wait_ready(const struct local_provider *local, const struct local_host *host,
                      const struct local_record *record, struct envd *envd, int64_t timeout_ms,
                      const atomic_bool *cancel, struct err *err)
{
    int64_t deadline = clock_mono_ns() + timeout_ms * NS_PER_MS;
    struct local_ident supervisor = {0};

    for (;;) {
        struct err why = {0};
        int64_t left = (deadline - clock_mono_ns()) / NS_PER_MS;
        if (left <= 0) {
            return err_set(err, ERR_TRANSIENT, "SandboxNotStarted",
                           "sandbox %s did not answer within %lld ms", record->id,
                           (long long)timeout_ms);
        }
        if (envd_ask_health(envd, left, cancel, &why) == 0) {
            return 0;
        }
        if (why.kind == ERR_CANCELLED) {
            return err_set(err, ERR_CANCELLED, "Cancelled", "sandbox %s: creation was cancelled",
                           record->id);
        }
        if (!local_ident_read(record->dir, &supervisor) || !local_ident_alive(&supervisor)) {
            return explain(local, host, record, err);
        }
        clock_sleep_ms(2);
    }
}

static int bring_up(const struct local_provider *local, const struct local_host *host,
                    const struct local_record *record, const struct sandbox_spec *spec,
                    struct sandbox *handle, const atomic_bool *cancel, struct err *err)
{
    autoclose int listen_fd = -1;
    int64_t timeout_ms = spec->start_timeout_ms > 0 ? spec->start_timeout_ms : START_TIMEOUT_MS;

    if (listen_at(record->socket, &listen_fd, err) ||
        cgroup_make(&record->cgroups, &record->limits, err) ||
        launch(local, record, listen_fd, err)) {
        return -1;
    }
    close(listen_fd); /* so that a dead guest is a refused connection and not a silent one */
    listen_fd = -1;
    autoenvd struct envd *envd = envd_open(&handle->target);
    if (wait_ready(local, host, record, envd, timeout_ms, cancel, err) ||
        envd_push_env(envd, spec->env, err) || local_put_mark(record->dir, "ready", "", err)) {
        return -1;
    }
    if (local_has_mark(record->dir, "doomed")) {
        return err_set(err, ERR_CANCELLED, "Cancelled", "sandbox %s was destroyed while it came up",
                       record->id);
    }
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int plan(const struct local_provider *local, const struct sandbox_spec *spec,
                struct arena *arena, struct local_record *record, struct err *err)
{
    char unique[21];
    autofree char *runtime = NULL;

    if (local_check_egress(local, &spec->egress, err) ||
        resolve_binds(local, spec, arena, record, err) || fs_runtime_dir(&runtime, err)) {
        return -1;
    }
    rng_hex(unique, 10);
    record->id = arena_printf(arena, LOCAL_ID_PREFIX "%s", unique);
    record->dir = arena_printf(arena, "%s/%s", local->top, record->id);
    record->socket = arena_printf(arena, LOCAL_SOCKET, runtime, record->id);
    record->created_ns = clock_wall_ns();
    record->labels = arena_array_of(arena, struct sandbox_label, spec->label_count + 1);
    for (size_t i = 0; i < spec->label_count; i++) {
        record->labels[i] = spec->labels[i];
    }
    record->label_count = spec->label_count;
    local_ident_self(&record->creator);
    record->guest_argv = (const char *const *)local->guest_argv;
    record->share_net = spec->egress.allow_internet;
    record->idle_ms = spec->idle_timeout_ms;
    record->limits = spec->limits;
    cgroup_plan(arena, arena_printf(arena, LOCAL_CGROUP, record->id), &record->cgroups);
    if (local_plan_limits(&spec->limits, &record->cgroups, &record->enforced, err)) {
        return -1;
    }
    record->enforced.network = record->share_net ? "open" : "cut";
    return 0;
}

static int create_planned(struct local_provider *local, const struct sandbox_spec *spec,
                          const struct local_host *host, struct local_record *record,
                          const atomic_bool *cancel, struct sandbox **ret, struct err *err)
{
    if (fs_mkdirs(local->top, 0750, err)) {
        return err_wrap(err, "sandbox: its data directory");
    }
    sweep(local->top);
    if (write_down(local, record, err)) {
        return -1;
    }
    struct sandbox *handle = local_handle(record);
    if (bring_up(local, host, record, spec, handle, cancel, err) == 0) {
        *ret = handle;
        return 0;
    }
    sandbox_free(handle);
    struct err undo = {0};
    if (local_destroy(&local->base, record->id, &undo)) {
        err_wrap(err, "sandbox %s could not be removed again (%.200s)", record->id, undo.text);
        if (err) {
            err->kind = ERR_AMBIGUOUS;
        }
    }
    return -1;
}

int local_create(struct provider *provider, const struct sandbox_spec *spec,
                 const atomic_bool *cancel, struct sandbox **ret, struct err *err)
{
    struct local_provider *local = (struct local_provider *)provider;
    autoarena struct arena *arena = arena_new();
    struct local_host host = {0};
    struct local_record record = {0};

    if (cancel && atomic_load(cancel)) {
        return err_set(err, ERR_CANCELLED, "Cancelled", "sandbox: creation was cancelled");
    }
    if (spec->template_name && spec->template_name[0]) {
        return err_set(err, ERR_PERMANENT, "InvalidSpec",
                       "the local provider has no templates, so not \"%.100s\"; leave it out",
                       spec->template_name);
    }
    if (sandbox_spec_check(spec, err)) {
        return -1;
    }
    int rc = plan(local, spec, arena, &record, err);
    if (rc == 0 && (rc = local_host_find(local, &host, err)) == 0) {
        record.uid = host.uid;
        record.gid = host.gid;
        record.drop = host.drop;
        record.bwrap = host.bwrap;
        rc = create_planned(local, spec, &host, &record, cancel, ret, err);
    }
    local_host_free(&host);
    return rc;
}
