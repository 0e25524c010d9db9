/*
 * local.c - the local provider: everything but create().
 *
 * Owns: the vtable, list, reattach, destroy, suspend, resume, state, usage. Must not: remember
 * anything about a sandbox between calls: the directory and /proc are asked every time.
 *
 * destroy(), in an order that can be cut anywhere and begun again:
 *     `doomed` written -> supervisor stopped (so that it starts nothing) -> all below it and it
 * killed
 *     -> until none of them lives -> control groups, socket, fs/ -> renamed to .gone-ID -> removed
 *
 * Thread rule: no mutable state but errno; any thread, any process.
 * Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local_internal.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "sandbox/envd_wire.h"
#include "sandbox/local_start.h"
#include "sandbox/local_watch.h"
#include "sandbox/proctree.h"

#define KILL_WAIT_MS 15000
#define STOP_WAIT_MS 10000
#define RESUME_WAIT_MS 10000

static struct local_provider *local_of(struct provider *provider)
{
    return (struct local_provider *)provider;
}

static unsigned capabilities(const struct provider *provider)
{
    (void)provider;
    return PROVIDER_CAN_SUSPEND | PROVIDER_CAN_RESUME | PROVIDER_CAN_STATE | PROVIDER_CAN_USAGE;
}

static int ping(struct provider *provider, const atomic_bool *cancel, struct err *err)
{
    struct local_provider *local = local_of(provider);
    struct local_host host = {0};
    autofree char *runtime = NULL;

    (void)cancel; /* takes some milliseconds */
    if (access(local->guest_argv[0], X_OK) || access(local->supervisor_argv[0], X_OK)) {
        return err_set(err, ERR_PERMANENT, "ProgramMissing",
                       "local sandboxes need %s, which is not there", local->guest_argv[0]);
    }
    if (fs_runtime_dir(&runtime, err) || fs_mkdirs(local->top, 0750, err)) {
        return -1;
    }
    int rc = local_host_find(local, &host, err);
    if (rc == 0) {
        rc = local_probe(local, &host, err);
    }
    local_host_free(&host);
    return rc;
}

/* --- handles --------------------------------------------------------------------------------- */

struct sandbox *local_handle(const struct local_record *record)
{
    struct sandbox *sandbox = mem_alloc(sizeof(*sandbox));

    sandbox->id = mem_strdup(record->id);
    sandbox->provider = "local";
    sandbox->target.unix_socket = mem_strdup(record->socket);
    sandbox->target.base_url = mem_strdup("http://sandbox");
    sandbox->target.user = mem_strdup(LOCAL_USER);
    sandbox->enforced = record->enforced;
    sandbox->host_dir = mem_printf("%s/fs/workspace", record->dir);
    return sandbox;
}

/* Record and state in one step. 0; PROVIDER_GONE; PROVIDER_DEAD (also for an unreadable record). */
static int look(struct local_provider *local, const char *id, struct arena *arena,
                struct local_record *record, enum sandbox_state *ret, struct err *err)
{
    struct err why = {0};
    int rc = id && id[0] ? local_record_read(arena, local->top, id, record, &why) : PROVIDER_GONE;

    if (rc < 0 && why.kind != ERR_PERMANENT) {
        if (err) {
            *err = why;
        }
        return -1;
    }
    *ret = rc < 0 ? SANDBOX_DEAD : SANDBOX_CREATING;
    if (rc == 0) {
        *ret = local_record_state(arena, record, NULL);
    }
    return rc == PROVIDER_GONE ? PROVIDER_GONE : *ret == SANDBOX_DEAD ? PROVIDER_DEAD : 0;
}

static int reattach(struct provider *provider, const char *id, const atomic_bool *cancel,
                    struct sandbox **ret, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    enum sandbox_state state = SANDBOX_DEAD;

    if (cancel && atomic_load(cancel)) {
        return err_set(err, ERR_CANCELLED, "Cancelled", "sandbox: reattaching was cancelled");
    }
    int rc = look(local_of(provider), id, arena, &record, &state, err);
    if (rc) {
        return rc;
    }
    if (state == SANDBOX_CREATING) {
        return err_set(err, ERR_TRANSIENT, "SandboxCreating",
                       "sandbox %s is still being created by process %d", id,
                       (int)record.creator.pid);
    }
    *ret = local_handle(&record);
    return 0;
}

static int get_state(struct provider *provider, const char *id, enum sandbox_state *ret,
                     struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    int rc = look(local_of(provider), id, arena, &record, ret, err);

    return rc == PROVIDER_DEAD ? 0 : rc;
}

/* --- list ------------------------------------------------------------------------------------ */

static void fill_info(struct local_provider *local, const char *id, struct sandbox_info *info)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    const char *why = NULL;

    *info = (struct sandbox_info){
        .id = mem_strdup(id),
        .provider = "local",
        .template_name = mem_strdup(""),
        .state = SANDBOX_DEAD,
    };
    if (local_record_read(arena, local->top, id, &record, NULL)) {
        info->ended = mem_strdup("its record cannot be read");
        return;
    }
    info->created_ns = record.created_ns;
    info->state = local_record_state(arena, &record, &why);
    info->ended = mem_strdup(why);
    info->labels = mem_array(record.label_count + 1, sizeof(*info->labels));
    info->label_count = record.label_count;
    for (size_t i = 0; i < record.label_count; i++) {
        info->labels[i].key = mem_strdup(record.labels[i].key);
        info->labels[i].value = mem_strdup(record.labels[i].value);
    }
}

static int by_age(const void *a, const void *b)
{
    const struct sandbox_info *left = a;
    const struct sandbox_info *right = b;

    if (left->created_ns != right->created_ns) {
        return left->created_ns < right->created_ns ? -1 : 1;
    }
    return strcmp(left->id, right->id);
}

static int list(struct provider *provider, struct sandbox_list *ret, struct err *err)
{
    struct local_provider *local = local_of(provider);
    struct sandbox_list found = {0};
    size_t cap = 0;
    DIR *dir = opendir(local->top);

    if (!dir && errno != ENOENT) {
        return err_sys(err, errno, "ListFailed", "sandbox: %s", local->top);
    }
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        autofree char *path = fs_join(local->top, entry->d_name);
        if (entry->d_name[0] == '.' || !fs_is_dir(path)) {
            continue;
        }
        mem_reserve(found.items, &cap, found.count + 1);
        fill_info(local, entry->d_name, &found.items[found.count++]);
        if (!fs_is_dir(path)) { /* destroyed while we read it */
            struct sandbox_list one = {.items = mem_alloc(sizeof(*one.items)), .count = 1};
            one.items[0] = found.items[--found.count];
            sandbox_list_free(&one);
        }
    }
    if (dir) {
        closedir(dir);
    }
    if (found.count > 1) {
        qsort(found.items, found.count, sizeof(*found.items), by_age);
    }
    *ret = found;
    return 0;
}

/* --- destroy --------------------------------------------------------------------------------- */

static size_t count_alive(const struct proctree *tree)
{
    size_t alive = 0;

    for (size_t i = 0; i < tree->count; i++) {
        alive += proctree_alive(tree->items[i].pid, tree->items[i].ticks, NULL);
    }
    return alive;
}

static int kill_tree(const char *id, const struct local_ident *supervisor,
                     const struct cgroup_set *cgroups, struct err *err)
{
    autoproctree struct proctree tree = {0};
    int64_t until = clock_mono_ns() + KILL_WAIT_MS * NS_PER_MS;

    /* Held before anything is done to it: whatever cannot be read later on (no descriptors left),
     * who was stopped is also killed. */
    autoclose int held = pidfd_open(supervisor->pid, 0);
    if (held < 0 && errno != ESRCH && errno != ENOSYS && errno != EPERM) {
        return err_sys(err, errno, "DestroyFailed", "sandbox %s: its supervisor", id);
    }
    if (!local_ident_alive(supervisor)) {
        return 0;
    }
    proctree_signal(supervisor->pid, supervisor->ticks, SIGSTOP); /* it forks nothing any more */
    char state = 0;
    int64_t stopped_by = clock_mono_ns() + NS_PER_S;
    while (proctree_alive(supervisor->pid, supervisor->ticks, &state) && state != 'T' &&
           state != 't' && clock_mono_ns() < stopped_by) {
        clock_sleep_ms(1);
    }
    proctree_below(supervisor->pid, &tree);
    for (size_t i = 0; i < tree.count; i++) {
        proctree_signal(tree.items[i].pid, tree.items[i].ticks, SIGKILL);
    }
    if (held >= 0) {
        pidfd_send_signal(held, SIGKILL, NULL, 0);
    } else {
        proctree_signal(supervisor->pid, supervisor->ticks, SIGKILL);
    }
    if (cgroups && cgroup_is_frozen(cgroups)) {
        cgroup_freeze(cgroups, false, NULL); /* the frozen die when they wake */
    }
    while (count_alive(&tree) > 0 || local_ident_alive(supervisor)) {
        if (clock_mono_ns() > until) {
            return err_set(err, ERR_AMBIGUOUS, "DestroyUnconfirmed",
                           "sandbox %s: %zu of its processes still live after SIGKILL", id,
                           count_alive(&tree));
        }
        clock_sleep_ms(1);
    }
    return 0;
}

static int remove_rest(struct local_provider *local, const char *id, const char *dir,
                       struct err *err)
{
    autofree char *fs = fs_join(dir, "fs");
    autofree char *gone = mem_printf("%s/.gone-%s", local->top, id);

    if (fs_remove_tree(fs, err)) {
        return err_wrap(err, "sandbox %s", id);
    }
    if (rename(dir, gone) && errno != ENOENT) {
        if (errno != ENOTEMPTY && errno != EEXIST) {
            return err_sys(err, errno, "DestroyFailed", "sandbox %s: %s", id, dir);
        }
        if (fs_remove_tree(dir, err)) {
            return -1;
        }
    }
    return fs_remove_tree(gone, err);
}

int local_destroy(struct provider *provider, const char *id, struct err *err)
{
    struct local_provider *local = local_of(provider);
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    struct local_ident supervisor = {0};

    if (!id || !id[0]) {
        return 0;
    }
    int read = local_record_read(arena, local->top, id, &record, NULL);
    if (read == PROVIDER_GONE) {
        return 0;
    }
    autofree char *dir = fs_join(local->top, id);
    autofree char *runtime = NULL;
    if (read < 0) { /* damaged by somebody: where such things are is known all the same */
        cgroup_plan(arena, arena_printf(arena, LOCAL_CGROUP, id), &record.cgroups);
        if (fs_runtime_dir(&runtime, NULL) == 0) {
            record.socket = arena_printf(arena, LOCAL_SOCKET, runtime, id);
        }
    }
    local_put_mark(dir, "doomed", "", NULL);
    if (local_ident_read(dir, &supervisor) && kill_tree(id, &supervisor, &record.cgroups, err)) {
        return -1;
    }
    if (cgroup_remove(&record.cgroups, err)) {
        return -1;
    }
    if (record.socket) {
        unlink(record.socket);
    }
    struct err why = {0};
    for (int tries = 0; tries < 5; tries++) { /* another destroy() may be removing the same tree */
        if (remove_rest(local, id, dir, &why) == 0 || !fs_is_dir(dir)) {
            return 0;
        }
        clock_sleep_ms(20);
    }
    if (err) {
        *err = why;
    }
    return -1;
}

/* --- suspend and resume ------------------------------------------------------------------------
 */

/* Without a freezer: SIGSTOP to every process below the supervisor, again until a scan finds nobody
 * running. Their parents are stopped too, so nobody notices; init cannot be woken from inside. */
static int stop_all(const char *id, const struct local_ident *supervisor, struct err *err)
{
    int64_t until = clock_mono_ns() + STOP_WAIT_MS * NS_PER_MS;

    for (;;) {
        autoproctree struct proctree tree = {0};
        size_t running = 0;
        proctree_below(supervisor->pid, &tree);
        for (size_t i = 0; i < tree.count; i++) {
            char state = tree.items[i].state;
            if (state != 'T' && state != 't' && state != 'Z' && state != 'X') {
                running++;
                proctree_signal(tree.items[i].pid, tree.items[i].ticks, SIGSTOP);
            }
        }
        if (running == 0) {
            return 0;
        }
        if (clock_mono_ns() > until) {
            return err_set(err, ERR_TRANSIENT, "SuspendFailed",
                           "sandbox %s: %zu processes do not stop", id, running);
        }
        clock_sleep_ms(1);
    }
}

static void continue_all(const struct local_ident *supervisor)
{
    autoproctree struct proctree tree = {0};

    proctree_below(supervisor->pid, &tree);
    for (size_t i = tree.count; i-- > 0;) { /* children first: their parents see them running */
        proctree_signal(tree.items[i].pid, tree.items[i].ticks, SIGCONT);
    }
}

static int suspend(struct provider *provider, const char *id, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    struct local_ident supervisor = {0};
    enum sandbox_state state = SANDBOX_DEAD;
    int rc = look(local_of(provider), id, arena, &record, &state, err);

    if (rc) {
        return rc;
    }
    if (state == SANDBOX_CREATING) {
        return err_set(err, ERR_TRANSIENT, "SandboxCreating", "sandbox %s is still being created",
                       id);
    }
    if (record.cgroups.dir[CGROUP_FREEZER][0]) {
        return cgroup_freeze(&record.cgroups, true, err);
    }
    return local_ident_read(record.dir, &supervisor) ? stop_all(id, &supervisor, err)
                                                     : PROVIDER_DEAD;
}

static int resume(struct provider *provider, const char *id, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    struct local_ident supervisor = {0};
    enum sandbox_state state = SANDBOX_DEAD;
    int rc = look(local_of(provider), id, arena, &record, &state, err);

    if (rc) {
        return rc;
    }
    if (record.cgroups.dir[CGROUP_FREEZER][0]) {
        if (cgroup_freeze(&record.cgroups, false, err)) {
            return -1;
        }
    } else if (local_ident_read(record.dir, &supervisor)) {
        continue_all(&supervisor);
    }
    struct sandbox *handle = local_handle(&record);
    struct envd *envd = envd_open(&handle->target);
    rc = envd_wait_healthy(envd, RESUME_WAIT_MS, NULL, err);
    envd_close(envd);
    sandbox_free(handle);
    return rc;
}

/* --- usage ----------------------------------------------------------------------------------- */

static int usage(struct provider *provider, const char *id, struct sandbox_usage *ret,
                 struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct local_record record = {0};
    enum sandbox_state state = SANDBOX_DEAD;
    int rc = look(local_of(provider), id, arena, &record, &state, err);

    if (rc < 0 || rc == PROVIDER_GONE) {
        return rc;
    }
    *ret = (struct sandbox_usage){-1, -1, -1, -1, -1, -1, -1, -1};
    if (!record.id) {
        return PROVIDER_DEAD;
    }
    autofree char *fs = fs_join(record.dir, "fs");
    ret->disk_bytes = local_disk_bytes(fs);
    local_watch_read(&record, ret);
    cgroup_usage(&record.cgroups, ret);
    struct local_ident supervisor = {0};
    if (ret->processes < 0 && local_ident_read(record.dir, &supervisor) &&
        local_ident_alive(&supervisor)) {
        autoproctree struct proctree tree = {0};
        proctree_below(supervisor.pid, &tree);
        ret->processes = (int64_t)tree.count;
    }
    return rc;
}

/* --- the provider ----------------------------------------------------------------------------- */

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++) {
        free(words[i]);
    }
    free(words);
}

static void free_provider(struct provider *provider)
{
    struct local_provider *local = local_of(provider);

    free_words(local->guest_argv);
    free_words(local->supervisor_argv);
    free_words(local->bind_sources);
    free(local->data_dir);
    free(local->top);
    free(local->bwrap);
    free(local->run_as);
    free(local);
}

static const struct provider_ops local_ops = {
    .name = "local",
    .capabilities = capabilities,
    .ping = ping,
    .create = local_create,
    .reattach = reattach,
    .destroy = local_destroy,
    .list = list,
    .free = free_provider,
    .suspend = suspend,
    .resume = resume,
    .state = get_state,
    .usage = usage,
};

static char **copy_words(const char *const *words)
{
    size_t count = 0;

    while (words && words[count]) {
        count++;
    }
    char **copy = mem_array(count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = mem_strdup(words[i]);
    }
    return copy;
}

/* argv[0] must be a path that means the same in every process. */
static char **program_words(const char *const *given, const char *subcommand)
{
    autofree char *self = NULL;

    if (!given) {
        fs_realpath("/proc/self/exe", &self, NULL);
        const char *const own[] = {self ? self : "/proc/self/exe", subcommand, NULL};
        return copy_words(own);
    }
    char **words = copy_words(given);
    if (words[0] && fs_realpath(words[0], &self, NULL) == 0) {
        free(words[0]);
        words[0] = steal(&self);
    }
    return words;
}

struct provider *local_provider_new(const struct local_config *config)
{
    struct local_provider *local = mem_alloc(sizeof(*local));
    autofree char *real = NULL;

    local->base.ops = &local_ops;
    /* The directory may not exist yet; what exists of it is made absolute. */
    if (fs_mkdirs(config->data_dir, 0750, NULL) == 0 &&
        fs_realpath(config->data_dir, &real, NULL) == 0) {
        local->data_dir = steal(&real);
    } else {
        local->data_dir = mem_strdup(config->data_dir);
    }
    local->top = fs_join(local->data_dir, "sandboxes");
    local->guest_argv = program_words(config->guest_argv, "guest");
    local->supervisor_argv = program_words(config->supervisor_argv, "sandbox-supervisor");
    local->bwrap = mem_strdup(config->bwrap);
    local->bind_sources = copy_words(config->bind_sources);
    local->run_as = mem_strdup(config->run_as);
    local->allow_share_net = config->allow_share_net;
    return &local->base;
}
