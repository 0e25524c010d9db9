/*
 * cgroup.c - see cgroup.h.
 *
 * Owns: reading /proc/self/mounts and /proc/self/cgroup, and every file of a group.
 *
 * What is written where:
 *                 version 1                              version 2
 *     memory      memory.limit_in_bytes (+memsw)         memory.max, memory.swap.max = 0
 *     processes   pids.max                               pids.max
 *     cpu         cpu.cfs_period_us, cpu.cfs_quota_us    cpu.max
 *     freeze      freezer.state                          cgroup.freeze
 * Tests: tests/unit/test_sandbox_host.c, tests/unit/test_sandbox_contract.c
 */
#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#define CGROUP_FILE_MAX (256 * 1024)
#define CPU_PERIOD_US 100000
#define FREEZE_WAIT_MS 10000
#define REMOVE_WAIT_MS 5000

static const char *const resource_names[CGROUP_COUNT] = {"memory", "pids", "cpu", "freezer"};

const char *cgroup_resource_name(enum cgroup_resource resource)
{
    return resource_names[resource];
}

/* --- small files ----------------------------------------------------------------------------- */

static bool read_text(const char *path, struct str *ret)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && fs_read_fd(fd, CGROUP_FILE_MAX, ret, NULL) == 0;
}

static bool read_in(const char *dir, const char *name, struct str *ret)
{
    autofree char *path = fs_join(dir, name);

    return read_text(path, ret);
}

static int write_in(const char *dir, const char *name, const char *text)
{
    autofree char *path = fs_join(dir, name);
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        return -errno;
    }
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

static int write_number(const char *dir, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    return write_in(dir, name, text);
}

static int64_t read_number(const char *dir, const char *name)
{
    autostr struct str text = {0};

    return read_in(dir, name, &text) && text.len > 0 ? strtoll(text.ptr, NULL, 10) : -1;
}

/* "key 12" lines, as memory.events has them; -1 when absent. */
static int64_t read_keyed(const char *dir, const char *name, const char *key)
{
    autostr struct str text = {0};
    autofree char *head = mem_printf("%s ", key);

    if (!read_in(dir, name, &text)) {
        return -1;
    }
    for (const char *line = str_c(&text); line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (str_starts(line, head)) {
            return strtoll(line + strlen(head), NULL, 10);
        }
        if (!*line) {
            break;
        }
    }
    return -1;
}

static bool has_word(const char *list, const char *word, const char *separators)
{
    size_t len = strlen(word);

    while (*list) {
        size_t size = strcspn(list, separators);
        if (size == len && memcmp(list, word, len) == 0) {
            return true;
        }
        list += size;
        list += strspn(list, separators);
    }
    return false;
}

/* --- where ----------------------------------------------------------------------------------- */

/* Mount point of a version 1 hierarchy (controller != NULL) or of version 2; NULL when none. */
static char *mount_point(struct arena *arena, const char *controller)
{
    autostr struct str mounts = {0};

    if (!read_text("/proc/self/mounts", &mounts)) {
        return NULL;
    }
    char *rest = mounts.ptr;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *fields[4] = {0};
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
            fields[i] = strsep(&line, " ");
        }
        if (!fields[3] || !str_eq(fields[2], controller ? "cgroup" : "cgroup2")) {
            continue;
        }
        if (!controller || has_word(fields[3], controller, ",")) {
            return arena_strdup(arena, fields[1]);
        }
    }
    return NULL;
}

/* Our own group in that hierarchy ("/..."); NULL when unknown. */
static char *own_group(struct arena *arena, const char *controller)
{
    autostr struct str text = {0};

    if (!read_text("/proc/self/cgroup", &text)) {
        return NULL;
    }
    char *rest = text.ptr;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) {
            continue;
        }
        *list++ = '\0';
        *path++ = '\0';
        if (controller ? has_word(list, controller, ",") : str_eq(line, "0")) {
            return arena_strdup(arena, path);
        }
    }
    return NULL;
}

static bool may_make_in(const char *dir)
{
    autofree char *procs = fs_join(dir, "cgroup.procs");

    return access(dir, W_OK | X_OK) == 0 && access(procs, W_OK) == 0;
}

static void plan_v1(struct arena *arena, const char *name, enum cgroup_resource resource,
                    struct cgroup_set *ret)
{
    const char *mount = mount_point(arena, resource_names[resource]);
    const char *own = mount ? own_group(arena, resource_names[resource]) : NULL;

    if (!own) {
        return;
    }
    const char *base = arena_printf(arena, "%s%s", mount, str_eq(own, "/") ? "" : own);
    if (!fs_is_dir(base)) { /* a container shows its own group as the mount's root */
        base = mount;
    }
    if (may_make_in(base)) {
        ret->dir[resource] = arena_printf(arena, "%s/%s", base, name);
    }
}

/* Version 2: from our own group upwards, the nearest place that hands the controller down. */
static void plan_v2(struct arena *arena, const char *name, enum cgroup_resource resource,
                    struct cgroup_set *ret)
{
    const char *mount = mount_point(arena, NULL);
    char *path = mount ? own_group(arena, NULL) : NULL;

    if (path && str_eq(path, "/")) {
        *path = '\0';
    }
    while (path) {
        autofree char *base = mem_printf("%s%s", mount, path);
        autostr struct str handed = {0};
        bool hands = resource == CGROUP_FREEZER;
        if (!hands && read_in(base, "cgroup.subtree_control", &handed)) {
            hands = has_word(str_c(&handed), resource_names[resource], " \n");
        }
        if (hands && may_make_in(base)) {
            ret->dir[resource] = arena_printf(arena, "%s/%s", base, name);
            ret->v2[resource] = true;
            return;
        }
        char *slash = strrchr(path, '/');
        if (!slash) {
            return;
        }
        *slash = '\0';
    }
}

void cgroup_plan(struct arena *arena, const char *name, struct cgroup_set *ret)
{
    *ret = (struct cgroup_set){0};
    for (int r = 0; r < CGROUP_COUNT; r++) {
        ret->dir[r] = "";
        plan_v1(arena, name, (enum cgroup_resource)r, ret);
        if (!ret->dir[r][0]) {
            plan_v2(arena, name, (enum cgroup_resource)r, ret);
        }
    }
}

/* --- make ------------------------------------------------------------------------------------ */

static int set_limit(const struct cgroup_set *set, enum cgroup_resource resource, int64_t value)
{
    const char *dir = set->dir[resource];
    char quota[48];
    int rc = 0;

    switch (resource) {
    case CGROUP_MEMORY:
        if (!set->v2[resource]) {
            rc = write_number(dir, "memory.limit_in_bytes", value);
            write_number(dir, "memory.memsw.limit_in_bytes", value); /* only with swap accounting */
            return rc;
        }
        write_in(dir, "memory.swap.max", "0");
        return write_number(dir, "memory.max", value);
    case CGROUP_PIDS:
        return write_number(dir, "pids.max", value);
    case CGROUP_CPU:
        if (!set->v2[resource]) {
            rc = write_number(dir, "cpu.cfs_period_us", CPU_PERIOD_US);
            return rc ? rc : write_number(dir, "cpu.cfs_quota_us", value * CPU_PERIOD_US / 1000);
        }
        snprintf(quota, sizeof(quota), "%lld %d", (long long)(value * CPU_PERIOD_US / 1000),
                 CPU_PERIOD_US);
        return write_in(dir, "cpu.max", quota);
    case CGROUP_FREEZER:
    case CGROUP_COUNT:
        break;
    }
    return 0;
}

int cgroup_make(const struct cgroup_set *set, const struct sandbox_limits *limits, struct err *err)
{
    const int64_t values[CGROUP_COUNT] = {limits->memory_bytes, limits->processes,
                                          limits->cpu_milli, 0};

    for (int r = 0; r < CGROUP_COUNT; r++) {
        if (!set->dir[r][0]) {
            continue;
        }
        int rc = mkdir(set->dir[r], 0755) == 0 || errno == EEXIST ? 0 : -errno;
        if (rc == 0 && values[r] > 0) {
            rc = set_limit(set, (enum cgroup_resource)r, values[r]);
        }
        if (rc) {
            cgroup_remove(set, NULL);
            err_sys(err, -rc, "CgroupFailed", "sandbox: control group %s", set->dir[r]);
            if (err) {
                err->kind = ERR_TRANSIENT;
            }
            return -1;
        }
    }
    return 0;
}

int cgroup_join(const struct cgroup_set *set)
{
    for (int r = 0; r < CGROUP_COUNT; r++) {
        int rc = set->dir[r][0] ? write_in(set->dir[r], "cgroup.procs", "0") : 0;
        if (rc) {
            return rc;
        }
    }
    return 0;
}

/* --- freeze ---------------------------------------------------------------------------------- */

static bool freeze_holds(const struct cgroup_set *set, bool freeze)
{
    const char *dir = set->dir[CGROUP_FREEZER];
    autostr struct str state = {0};

    if (set->v2[CGROUP_FREEZER]) {
        return read_keyed(dir, "cgroup.events", "frozen") == (freeze ? 1 : 0);
    }
    return read_in(dir, "freezer.state", &state) &&
           str_starts(str_c(&state), freeze ? "FROZEN" : "THAWED");
}

bool cgroup_is_frozen(const struct cgroup_set *set)
{
    return set->dir[CGROUP_FREEZER][0] && freeze_holds(set, true);
}

int cgroup_freeze(const struct cgroup_set *set, bool freeze, struct err *err)
{
    const char *dir = set->dir[CGROUP_FREEZER];
    int64_t until = clock_mono_ns() + FREEZE_WAIT_MS * NS_PER_MS;

    while (!freeze_holds(set, freeze)) {
        /* Version 1 may have to be told again while processes fork. */
        int rc = set->v2[CGROUP_FREEZER]
                     ? write_in(dir, "cgroup.freeze", freeze ? "1" : "0")
                     : write_in(dir, "freezer.state", freeze ? "FROZEN" : "THAWED");
        if (rc) {
            return err_sys(err, -rc, "FreezeFailed", "sandbox: control group %s", dir);
        }
        if (freeze_holds(set, freeze)) {
            break;
        }
        if (clock_mono_ns() > until) {
            return err_set(err, ERR_TRANSIENT, "FreezeFailed",
                           "sandbox: control group %s did not %s within %d s", dir,
                           freeze ? "freeze" : "thaw", FREEZE_WAIT_MS / 1000);
        }
        clock_sleep_ms(2);
    }
    return 0;
}

/* --- remove ---------------------------------------------------------------------------------- */

static void kill_members(const char *dir)
{
    autostr struct str procs = {0};

    if (write_in(dir, "cgroup.kill", "1") == 0 || !read_in(dir, "cgroup.procs", &procs)) {
        return;
    }
    for (char *at = procs.ptr; at && *at;) {
        char *end = NULL;
        long pid = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        if (pid > 1) {
            kill((pid_t)pid, SIGKILL);
        }
        at = end + strspn(end, "\n");
    }
}

int cgroup_remove(const struct cgroup_set *set, struct err *err)
{
    int64_t until = clock_mono_ns() + REMOVE_WAIT_MS * NS_PER_MS;

    for (int r = CGROUP_COUNT - 1; r >= 0; r--) {
        const char *dir = set->dir[r];
        while (dir && dir[0] && rmdir(dir) && errno != ENOENT) {
            int saved = errno;
            kill_members(dir);
            if (r == CGROUP_FREEZER) {
                write_in(dir, set->v2[r] ? "cgroup.freeze" : "freezer.state",
                         set->v2[r] ? "0" : "THAWED");
            }
            if (clock_mono_ns() > until) {
                return err_sys(err, saved, "CgroupFailed", "sandbox: removing control group %s",
                               dir);
            }
            clock_sleep_ms(2);
        }
    }
    return 0;
}

/* --- facts ----------------------------------------------------------------------------------- */

static void put_known(int64_t *to, int64_t value)
{
    if (value >= 0) {
        *to = value;
    }
}

void cgroup_usage(const struct cgroup_set *set, struct sandbox_usage *usage)
{
    const char *memory = set->dir[CGROUP_MEMORY];
    const char *pids = set->dir[CGROUP_PIDS];
    const char *cpu = set->dir[CGROUP_CPU];
    bool v2 = set->v2[CGROUP_MEMORY];

    if (memory[0]) {
        put_known(&usage->memory_bytes,
                  read_number(memory, v2 ? "memory.current" : "memory.usage_in_bytes"));
        put_known(&usage->memory_peak_bytes,
                  read_number(memory, v2 ? "memory.peak" : "memory.max_usage_in_bytes"));
        put_known(&usage->memory_hits,
                  read_keyed(memory, v2 ? "memory.events" : "memory.oom_control", "oom_kill"));
    }
    if (pids[0]) {
        put_known(&usage->processes, read_number(pids, "pids.current"));
        put_known(&usage->process_hits, read_keyed(pids, "pids.events", "max"));
    }
    if (cpu[0]) {
        int64_t us = set->v2[CGROUP_CPU] ? read_keyed(cpu, "cpu.stat", "usage_usec") : -1;
        put_known(&usage->cpu_ns, us >= 0 ? us * NS_PER_US : read_number(cpu, "cpuacct.usage"));
    }
}
