/*
 * local_record.c - see local_record.h.
 *
 * Owns: reading and writing sandbox.json, and telling a sandbox's state from what is on disk and in
 * /proc.
 * Tests: tests/unit/test_sandbox_host.c, tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "sandbox/proctree.h"

#define RECORD_MAX (1024 * 1024)
#define MARK_MAX 4096
#define RECORD_VERSION 1

/* --- identities ------------------------------------------------------------------------------ */

static void read_boot(char boot[LOCAL_BOOT_BYTES])
{
    autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    autostr struct str text = {0};

    if (fd >= 0 && fs_read_fd(fd, 256, &text, NULL) == 0) {
        str_cut(&text, strcspn(str_c(&text), "\n"));
    }
    str_copy(boot, LOCAL_BOOT_BYTES, text.len ? text.ptr : "unknown");
}

void local_ident_self(struct local_ident *ret)
{
    *ret = (struct local_ident){.pid = getpid()};
    proc_start_ticks(ret->pid, &ret->ticks);
    read_boot(ret->boot);
}

bool local_ident_read(const char *dir, struct local_ident *ret)
{
    autofree char *path = fs_join(dir, "supervisor");
    autostr struct str text = {0};
    int pid = 0;
    unsigned long long ticks = 0;

    *ret = (struct local_ident){0};
    if (fs_read_file(path, MARK_MAX, &text, NULL) ||
        sscanf(str_c(&text), "%d %llu %39s", &pid, &ticks, ret->boot) != 3) {
        return false;
    }
    ret->pid = pid;
    ret->ticks = ticks;
    return pid > 0;
}

int local_ident_write(const char *dir, const struct local_ident *ident, struct err *err)
{
    autofree char *text =
        mem_printf("%d %llu %s\n", (int)ident->pid, (unsigned long long)ident->ticks, ident->boot);

    return local_put_mark(dir, "supervisor", text, err);
}

bool local_ident_alive(const struct local_ident *ident)
{
    char boot[LOCAL_BOOT_BYTES];

    if (ident->pid <= 0) {
        return false;
    }
    read_boot(boot);
    return str_eq(boot, ident->boot) && proctree_alive(ident->pid, ident->ticks, NULL);
}

bool local_has_mark(const char *dir, const char *name)
{
    autofree char *path = fs_join(dir, name);

    return fs_exists(path);
}

/* Written whole or not at all, but not synced: a mark speaks of processes, which no power cut
 * survives. */
int local_put_mark(const char *dir, const char *name, const char *text, struct err *err)
{
    autofree char *path = fs_join(dir, name);
    autofree char *part = mem_printf("%s/.%s.%d", dir, name, (int)getpid());
    autoclose int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

    if (fd < 0) {
        return err_sys(err, errno, "MarkFailed", "sandbox: writing %s", path);
    }
    if (fs_write_all(fd, text, strlen(text), err)) {
        return err_wrap(err, "sandbox: writing %s", path);
    }
    if (rename(part, path)) {
        return err_sys(err, errno, "MarkFailed", "sandbox: writing %s", path);
    }
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_ident(struct json_out *w, const char *key, const struct local_ident *ident)
{
    json_key(w, key);
    json_begin_object(w);
    json_kv_i64(w, "pid", ident->pid);
    json_kv_i64(w, "ticks", (int64_t)ident->ticks);
    json_kv_str(w, "boot", ident->boot);
    json_end_object(w);
}

static void put_limits(struct json_out *w, const struct local_record *record)
{
    json_key(w, "limits");
    json_begin_object(w);
    json_kv_i64_opt(w, "cpu_milli", record->limits.cpu_milli);
    json_kv_i64_opt(w, "memory_bytes", record->limits.memory_bytes);
    json_kv_i64_opt(w, "processes", record->limits.processes);
    json_kv_i64_opt(w, "disk_bytes", record->limits.disk_bytes);
    json_end_object(w);
    json_key(w, "enforced");
    json_begin_object(w);
    json_kv_str_opt(w, "cpu", record->enforced.cpu);
    json_kv_str_opt(w, "memory", record->enforced.memory);
    json_kv_str_opt(w, "processes", record->enforced.processes);
    json_kv_str_opt(w, "disk", record->enforced.disk);
    json_kv_str(w, "network", record->enforced.network);
    json_end_object(w);
    json_key(w, "cgroups");
    json_begin_object(w);
    for (int r = 0; r < CGROUP_COUNT; r++) {
        const char *dir = record->cgroups.dir[r];
        if (dir && dir[0]) {
            json_key(w, cgroup_resource_name((enum cgroup_resource)r));
            json_begin_object(w);
            json_kv_str(w, "dir", dir);
            json_kv_bool(w, "v2", record->cgroups.v2[r]);
            json_end_object(w);
        }
    }
    json_end_object(w);
}

static void put_start(struct json_out *w, const struct local_record *record)
{
    json_kv_i64(w, "uid", record->uid);
    json_kv_i64(w, "gid", record->gid);
    json_kv_bool(w, "drop", record->drop);
    json_kv_str(w, "bwrap", record->bwrap);
    json_kv_bool(w, "share_net", record->share_net);
    json_kv_i64(w, "idle_ms", record->idle_ms);
    json_key(w, "guest_argv");
    json_begin_array(w);
    for (size_t i = 0; record->guest_argv[i]; i++) {
        json_put_str(w, record->guest_argv[i]);
    }
    json_end_array(w);
    json_key(w, "binds");
    json_begin_array(w);
    for (size_t i = 0; i < record->bind_count; i++) {
        json_begin_object(w);
        json_kv_str(w, "source", record->binds[i].source);
        json_kv_str(w, "target", record->binds[i].target);
        json_end_object(w);
    }
    json_end_array(w);
}

int local_record_write(const struct local_record *record, const char *dir, struct err *err)
{
    autofree char *path = fs_join(dir, "sandbox.json");
    autostr struct str text = {0};
    struct json_out w = json_writer(&text, 2);

    json_begin_object(&w);
    json_kv_i64(&w, "version", RECORD_VERSION);
    json_kv_str(&w, "id", record->id);
    json_kv_i64(&w, "created_ns", record->created_ns);
    json_kv_str(&w, "socket", record->socket);
    put_ident(&w, "creator", &record->creator);
    json_key(&w, "labels");
    json_begin_object(&w);
    for (size_t i = 0; i < record->label_count; i++) {
        json_kv_str(&w, record->labels[i].key, record->labels[i].value);
    }
    json_end_object(&w);
    put_limits(&w, record);
    put_start(&w, record);
    json_end_object(&w);
    str_addc(&text, '\n');
    return fs_write_file(path, text.ptr, text.len, 0640, err);
}

/* --- reading --------------------------------------------------------------------------------- */

static const char *known_word(const char *word)
{
    static const char *const words[] = {"cgroup", "rlimit", "watch", "host", "none", "cut", "open"};

    for (size_t i = 0; word && i < ARRAY_LEN(words); i++) {
        if (str_eq(words[i], word)) {
            return words[i];
        }
    }
    return NULL;
}

static void get_labels(struct arena *arena, const struct json *labels, struct local_record *ret)
{
    if (!labels || labels->count == 0) {
        return;
    }
    ret->labels = arena_array_of(arena, struct sandbox_label, labels->count);
    json_each (label, labels) {
        const char *value = json_str(label);
        if (value) {
            ret->labels[ret->label_count++] = (struct sandbox_label){
                .key = arena_strndup(arena, label->key, label->key_len),
                .value = value,
            };
        }
    }
}

static void get_limits(const struct json *root, struct local_record *ret)
{
    const struct json *limits = json_get(root, "limits");
    const struct json *enforced = json_get(root, "enforced");
    const struct json *cgroups = json_get(root, "cgroups");

    json_get_i64(limits, "cpu_milli", &ret->limits.cpu_milli);
    json_get_i64(limits, "memory_bytes", &ret->limits.memory_bytes);
    json_get_i64(limits, "processes", &ret->limits.processes);
    json_get_i64(limits, "disk_bytes", &ret->limits.disk_bytes);
    ret->enforced = (struct sandbox_enforcement){
        .cpu = known_word(json_get_str(enforced, "cpu")),
        .memory = known_word(json_get_str(enforced, "memory")),
        .processes = known_word(json_get_str(enforced, "processes")),
        .disk = known_word(json_get_str(enforced, "disk")),
        .network = known_word(json_get_str(enforced, "network")),
    };
    for (int r = 0; r < CGROUP_COUNT; r++) {
        const struct json *group = json_get(cgroups, cgroup_resource_name((enum cgroup_resource)r));
        const char *dir = group ? json_get_str(group, "dir") : NULL;
        ret->cgroups.dir[r] = dir ? dir : "";
        if (group) {
            json_get_bool(group, "v2", &ret->cgroups.v2[r]);
        }
    }
}

static bool get_start(struct arena *arena, const struct json *root, struct local_record *ret)
{
    const struct json *argv = json_get(root, "guest_argv");
    const struct json *binds = json_get(root, "binds");
    int64_t uid = -1;
    int64_t gid = -1;
    size_t n = 0;

    ret->bwrap = json_get_str(root, "bwrap");
    if (!argv || argv->count == 0 || !binds || !ret->bwrap || !json_get_i64(root, "uid", &uid) ||
        !json_get_i64(root, "gid", &gid) || uid < 0 || gid < 0 || uid > UINT32_MAX - 1 ||
        gid > UINT32_MAX - 1) {
        return false;
    }
    ret->uid = (uid_t)uid;
    ret->gid = (gid_t)gid;
    json_get_bool(root, "drop", &ret->drop);
    json_get_bool(root, "share_net", &ret->share_net);
    json_get_i64(root, "idle_ms", &ret->idle_ms);
    const char **words = arena_array_of(arena, const char *, argv->count + 1);
    json_each (word, argv) {
        words[n++] = json_str(word) ? json_str(word) : "";
    }
    ret->guest_argv = words;
    struct sandbox_bind *list = arena_array_of(arena, struct sandbox_bind, binds->count + 1);
    json_each (bind, binds) {
        const char *source = json_get_str(bind, "source");
        const char *target = json_get_str(bind, "target");
        if (source && target) {
            list[ret->bind_count++] = (struct sandbox_bind){.source = source, .target = target};
        }
    }
    ret->binds = list;
    return true;
}

static bool get_creator(const struct json *creator, struct local_ident *ret)
{
    int64_t pid = 0;
    int64_t ticks = 0;
    const char *boot = creator ? json_get_str(creator, "boot") : NULL;

    if (!boot || !json_get_i64(creator, "pid", &pid) || !json_get_i64(creator, "ticks", &ticks)) {
        return false;
    }
    ret->pid = (pid_t)pid;
    ret->ticks = (uint64_t)ticks;
    str_copy(ret->boot, sizeof(ret->boot), boot);
    return true;
}

int local_record_read(struct arena *arena, const char *top, const char *id,
                      struct local_record *ret, struct err *err)
{
    autofree char *dir = fs_join(top, id);
    autofree char *path = fs_join(dir, "sandbox.json");
    autostr struct str text = {0};
    const struct json *root = NULL;
    struct local_record record = {.dir = arena_strdup(arena, dir)};

    if (!fs_name_is_plain(id) || id[0] == '.' || !fs_is_dir(dir)) {
        return PROVIDER_GONE;
    }
    if (fs_read_file(path, RECORD_MAX, &text, err)) {
        return fs_is_dir(dir) ? err_wrap(err, "sandbox %s", id) : PROVIDER_GONE;
    }
    const char *copy = arena_dup(arena, text.ptr ? text.ptr : "", text.len);
    if (json_parse(arena, copy, text.len, &root, err)) {
        return err_wrap(err, "%s", path);
    }
    record.id = json_get_str(root, "id");
    record.socket = json_get_str(root, "socket");
    get_labels(arena, json_get(root, "labels"), &record);
    get_limits(root, &record);
    if (!str_eq(record.id, id) || !record.socket || !record.enforced.network ||
        !json_get_i64(root, "created_ns", &record.created_ns) ||
        !get_creator(json_get(root, "creator"), &record.creator) ||
        !get_start(arena, root, &record)) {
        return err_set(err, ERR_PERMANENT, "BadRecord", "%s: not a sandbox's record", path);
    }
    *ret = record;
    return 0;
}

/* --- state ----------------------------------------------------------------------------------- */

static const char *read_ended(struct arena *arena, const char *dir)
{
    autofree char *path = fs_join(dir, "ended");
    autostr struct str text = {0};

    if (fs_read_file(path, MARK_MAX, &text, NULL) || text.len == 0) {
        return NULL;
    }
    return arena_strndup(arena, text.ptr, strcspn(text.ptr, "\n"));
}

/* Without a freezer a paused sandbox is one whose bubblewrap (the supervisor's child that is not a
 * zombie) is stopped. */
static bool is_stopped(const struct local_ident *supervisor)
{
    autoproctree struct proctree tree = {0};

    proctree_below(supervisor->pid, &tree);
    return tree.count > 0 && tree.items[0].state == 'T';
}

enum sandbox_state local_record_state(struct arena *arena, const struct local_record *record,
                                      const char **ret_why)
{
    struct local_ident supervisor = {0};
    const char *why = NULL;
    enum sandbox_state state = SANDBOX_DEAD;
    bool creator_alive = local_ident_alive(&record->creator);
    bool known = local_ident_read(record->dir, &supervisor);
    bool ready = local_has_mark(record->dir, "ready");

    if (local_has_mark(record->dir, "doomed")) {
        why = "being destroyed";
    } else if (known && local_ident_alive(&supervisor)) {
        if (ready) {
            bool paused = record->cgroups.dir[CGROUP_FREEZER][0]
                              ? cgroup_is_frozen(&record->cgroups)
                              : is_stopped(&supervisor);
            state = paused ? SANDBOX_PAUSED : SANDBOX_RUNNING;
        } else if (creator_alive) {
            state = SANDBOX_CREATING;
        } else {
            why = "its creator died before it was ready";
        }
    } else if (!known && creator_alive && !ready) {
        state = SANDBOX_CREATING;
    } else {
        why = read_ended(arena, record->dir);
        why = why ? why : known ? "killed" : "never started";
    }
    if (ret_why) {
        *ret_why = state == SANDBOX_DEAD ? why : NULL;
    }
    return state;
}
