/*
 * local_plan.c - what this machine can do: user, bubblewrap, namespaces, limits, policies.
 *
 * Owns: every refusal that comes before anything starts. Must not: change anything.
 * Tests: tests/unit/test_sandbox_host.c, tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"

#define PROBE_TIMEOUT_MS 20000
#define RUN_AS_DEFAULT "nobody"

const char *const local_outer_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", NULL};

/* --- user and program ------------------------------------------------------------------------- */

static int find_user(const struct local_provider *local, struct local_host *ret, struct err *err)
{
    const char *name = local->run_as ? local->run_as : RUN_AS_DEFAULT;
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[4096];

    ret->uid = geteuid();
    ret->gid = getegid();
    if (ret->uid != 0) {
        return 0;
    }
    int rc = getpwnam_r(name, &entry, buffer, sizeof(buffer), &found);
    if (!found) {
        return err_set(err, ERR_PERMANENT, "UserMissing",
                       "local sandboxes run as user \"%s\", which this machine does not have%s%s",
                       name, rc ? ": error " : "", rc ? "in the user database" : "");
    }
    if (entry.pw_uid == 0) {
        return err_set(err, ERR_PERMANENT, "UserMissing",
                       "local sandboxes must not run as root; name another user in [local] run_as");
    }
    ret->uid = entry.pw_uid;
    ret->gid = entry.pw_gid;
    ret->drop = true;
    return 0;
}

int local_host_find(const struct local_provider *local, struct local_host *ret, struct err *err)
{
    *ret = (struct local_host){0};
    if (find_user(local, ret, err)) {
        return -1;
    }
    const char *bwrap = local->bwrap ? local->bwrap : "bwrap";
    if (strchr(bwrap, '/') ? access(bwrap, X_OK) != 0 : !proc_in_path(bwrap, &ret->bwrap)) {
        return err_set(err, ERR_PERMANENT, "ProgramMissing",
                       "local sandboxes need bubblewrap (%s not found); install it: "
                       "apt install bubblewrap",
                       bwrap);
    }
    if (!ret->bwrap) {
        ret->bwrap = mem_strdup(bwrap);
    }
    return 0;
}

void local_host_free(struct local_host *host)
{
    free(host->bwrap);
    *host = (struct local_host){0};
}

/* --- namespaces ------------------------------------------------------------------------------ */

static bool sysctl_is(const char *path, const char *value)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    autostr struct str text = {0};

    return fd >= 0 && fs_read_fd(fd, 256, &text, NULL) == 0 &&
           strspn(str_c(&text), value) == strcspn(str_c(&text), "\n") && text.len > 0;
}

static const char *forbidden_hint(void)
{
    if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0")) {
        return "the kernel forbids user namespaces: sysctl kernel.unprivileged_userns_clone is 0";
    }
    if (sysctl_is("/proc/sys/user/max_user_namespaces", "0")) {
        return "the kernel forbids user namespaces: sysctl user.max_user_namespaces is 0";
    }
    if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
        return "AppArmor forbids user namespaces: sysctl "
               "kernel.apparmor_restrict_unprivileged_userns is 1";
    }
    return "look at sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone and "
           "kernel.apparmor_restrict_unprivileged_userns, or at the container's seccomp profile";
}

int local_probe(const struct local_provider *local, const struct local_host *host, struct err *err)
{
    autofree char *uid = mem_printf("%u", (unsigned)host->uid);
    autofree char *gid = mem_printf("%u", (unsigned)host->gid);
    autoproc struct proc_result result = {0};
    const char *argv[16] = {0};
    size_t n = 0;

    for (size_t i = 0; local->supervisor_argv[i] && n < 8; i++) {
        argv[n++] = local->supervisor_argv[i];
    }
    argv[n++] = "--probe";
    argv[n++] = host->bwrap;
    argv[n++] = uid;
    argv[n++] = gid;
    argv[n++] = host->drop ? "1" : "0";
    struct proc_spec spec = {.argv = argv, .envp = local_outer_env, .dir = "/"};
    if (proc_run(&spec, NULL, 0, 4096, PROBE_TIMEOUT_MS, &result, err)) {
        return err_wrap(err, "sandbox: probing for namespaces");
    }
    if (result.exit_code == 0) {
        return 0;
    }
    str_cut(&result.err, strcspn(str_c(&result.err), "\n"));
    return err_set(err, ERR_PERMANENT, "NamespacesForbidden",
                   "bubblewrap cannot make a sandbox here: %s (%.300s)", forbidden_hint(),
                   str_c(&result.err));
}

/* --- limits ---------------------------------------------------------------------------------- */

static int refuse_limit(const char *key, const char *why, struct err *err)
{
    return err_set(err, ERR_PERMANENT, "LimitNotEnforceable",
                   "the local provider cannot enforce %s here: %s; nothing was started. Leave the "
                   "limit out, run as root, or have a cgroup delegated",
                   key, why);
}

static int plan_cpu(const struct sandbox_limits *limits, const struct cgroup_set *cgroups,
                    const char **ret, struct err *err)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (limits->cpu_milli <= 0) {
        return 0;
    }
    if (cgroups->dir[CGROUP_CPU][0]) {
        *ret = "cgroup";
    } else if (limits->cpu_milli >= online * 1000) {
        *ret = "host";
    } else if (limits->best_effort) {
        *ret = "none";
    } else {
        return refuse_limit("cpu_milli", "no cpu control group may be made", err);
    }
    return 0;
}

int local_plan_limits(const struct sandbox_limits *limits, struct cgroup_set *cgroups,
                      struct sandbox_enforcement *ret, struct err *err)
{
    *ret = (struct sandbox_enforcement){0};
    if (plan_cpu(limits, cgroups, &ret->cpu, err)) {
        return -1;
    }
    if (limits->memory_bytes > 0) {
        ret->memory = cgroups->dir[CGROUP_MEMORY][0] ? "cgroup" : "watch";
    }
    if (limits->processes > 0) {
        ret->processes = cgroups->dir[CGROUP_PIDS][0] ? "cgroup" : "rlimit";
        if (!cgroups->dir[CGROUP_PIDS][0] && access("/usr/bin/prlimit", X_OK)) {
            if (!limits->best_effort) {
                return refuse_limit("processes", "/usr/bin/prlimit is missing", err);
            }
            ret->processes = "none";
        }
    }
    if (limits->disk_bytes > 0) {
        ret->disk = "watch";
    }
    if (limits->cpu_milli <= 0) {
        cgroups->dir[CGROUP_CPU] = "";
    }
    return 0;
}

/* --- policies -------------------------------------------------------------------------------- */

int local_check_egress(const struct local_provider *local, const struct sandbox_egress *egress,
                       struct err *err)
{
    bool allow_out = egress->allow_out && egress->allow_out[0];
    bool deny_out = egress->deny_out && egress->deny_out[0];

    if (allow_out || deny_out) {
        return err_set(err, ERR_PERMANENT, "PolicyNotEnforceable",
                       "the local provider cannot enforce egress policy \"%.100s\" (it has %s); "
                       "nothing was started. Use provider = cube, or a policy that only says "
                       "allow_internet = false",
                       egress->policy ? egress->policy : "(unnamed)",
                       allow_out && deny_out ? "allow_out and deny_out"
                       : allow_out           ? "allow_out"
                                             : "deny_out");
    }
    if (egress->allow_internet && !local->allow_share_net) {
        return err_set(err, ERR_PERMANENT, "PolicyNotEnforceable",
                       "the local provider was not permitted to open this host's network "
                       "(egress policy \"%.100s\" has allow_internet = true); nothing was started. "
                       "Set allow_host_network = true in [local], or use a policy that says "
                       "allow_internet = false",
                       egress->policy ? egress->policy : "(unnamed)");
    }
    return 0;
}

int local_check_policy(const struct provider *provider, const struct sandbox_egress *egress,
                       struct err *err)
{
    return local_check_egress((const struct local_provider *)provider, egress, err);
}
