/*
 * doctor_sandbox.c - can sandboxes be made here, with what limits, and is their network really cut?
 *
 * Owns: the throw-away sandbox. The cut is measured, not believed: this process listens on a port
 * of 127.0.0.1, reaches it from outside (else the probe itself is broken) and tries from inside.
 * Must not: leave the sandbox, or a data directory that was not there before. Tests:
 * tests/cli/t0200-doctor.sh
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/rng.h"
#include "factory/doctor.h"
#include "factory/factory.h"
#include "factory/fleet.h"

#define MIB (1024LL * 1024)
#define PROBE_TIMEOUT_MS 10000
#define ASKED_CPU_MILLI 500
#define ASKED_MIB 1024
#define ASKED_PROCESSES 4096

enum reach { REACH_UNKNOWN, REACH_CUT, REACH_OPEN };

/* --- the port --------------------------------------------------------------------------------- */

/* A listening descriptor on 127.0.0.1; nobody ever accepts, the kernel does. -1: none. */
static int listen_here(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 8) != 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static const char *probe_script(struct arena *arena, int port)
{
    return arena_printf(arena,
                        "if (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null; "
                        "then echo open; else echo cut; fi",
                        port);
}

static enum reach read_answer(const struct str *out)
{
    return str_eq(str_c(out), "open\n")  ? REACH_OPEN
           : str_eq(str_c(out), "cut\n") ? REACH_CUT
                                         : REACH_UNKNOWN;
}

static enum reach reach_from_host(const char *script)
{
    autoproc struct proc_result result = {0};
    const char *argv[] = {"/bin/bash", "-c", script, NULL};
    struct proc_spec spec = {.argv = argv};
    if (proc_run(&spec, NULL, 0, 64, PROBE_TIMEOUT_MS, &result, NULL) < 0) {
        return REACH_UNKNOWN;
    }
    return read_answer(&result.out);
}

static enum reach reach_from_inside(const struct sandbox *sandbox, const char *script)
{
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    autoresult struct envd_result result = {0};
    const char *argv[] = {"/bin/bash", "-c", script, NULL};
    struct envd_command command = {.argv = argv, .timeout_ms = PROBE_TIMEOUT_MS};
    if (envd_exec(envd, &command, NULL, &result, NULL) != 0) {
        return REACH_UNKNOWN;
    }
    return read_answer(&result.out);
}

/* UNKNOWN when the probe does not work even from outside. */
static enum reach measure_reach(const struct sandbox *sandbox)
{
    autoarena struct arena *arena = arena_new();
    int port = 0;
    autoclose int fd = listen_here(&port);
    const char *script = probe_script(arena, port);
    if (fd < 0 || reach_from_host(script) != REACH_OPEN) {
        return REACH_UNKNOWN;
    }
    return reach_from_inside(sandbox, script);
}

/* --- the sandbox ------------------------------------------------------------------------------ */

static struct sandbox_limits asked_limits(const struct config *c)
{
    return (struct sandbox_limits){
        .cpu_milli = c->cpu_milli ? c->cpu_milli : ASKED_CPU_MILLI,
        .memory_bytes = (c->memory_mib ? c->memory_mib : ASKED_MIB) * MIB,
        .processes = c->processes ? c->processes : ASKED_PROCESSES,
        .disk_bytes = (c->disk_mib ? c->disk_mib : ASKED_MIB) * MIB,
        .best_effort = true,
    };
}

static int create(const struct config *c, struct provider *provider, struct sandbox **ret,
                  struct err *err)
{
    autofree char *store_id = NULL;
    char hex[13];
    rng_hex(hex, 6);
    factory_store_id(c->data_dir, false, &store_id, NULL);
    autofree char *run = mem_printf("doctor-%s", hex);
    const struct sandbox_label labels[] = {
        {LABEL_ORIGIN, LABEL_ORIGIN_FACTORY},
        {LABEL_RUN, run},
        {LABEL_EXECUTION, run},
        {LABEL_ROLE, "doctor"},
        {LABEL_STORE, store_id ? store_id : "none"},
    };
    struct sandbox_spec spec = {
        .labels = labels,
        .label_count = ARRAY_LEN(labels),
        .limits = asked_limits(c),
        .egress = {.policy = "sandbox",
                   .allow_internet = c->allow_internet,
                   .allow_out = c->allow_out,
                   .deny_out = c->deny_out},
        .idle_timeout_ms = 60000,
    };
    return provider->ops->create(provider, &spec, NULL, ret, err);
}

static void add_limit(struct str *out, const char *name, const char *how)
{
    str_addf(out, "%s%s %s", out->len ? ", " : "", name, how ? how : "none");
}

/* A limit that the configuration asks for and that nothing enforces. */
static const char *missing_limit(const struct config *c, const struct sandbox_enforcement *e)
{
    return c->cpu_milli && str_eq(e->cpu, "none")         ? "cpu_milli"
           : c->memory_mib && str_eq(e->memory, "none")   ? "memory_mib"
           : c->processes && str_eq(e->processes, "none") ? "processes"
           : c->disk_mib && str_eq(e->disk, "none")       ? "disk_mib"
                                                          : NULL;
}

static void judge(struct doctor *d, const struct config *c, const struct sandbox *sandbox,
                  const char *facts)
{
    enum reach reach = measure_reach(sandbox);
    const struct sandbox_enforcement *e = &sandbox->enforced;
    autostr struct str limits = {0};
    const char *missing = missing_limit(c, e);
    if (reach == REACH_OPEN && !c->allow_internet) {
        doctor_bad(d, "sandbox", "D-024", "start nothing here, and report this",
                   "the network is not cut: a port of this machine was reached from inside");
        return;
    }
    doctor_ok(d, "sandbox", "%s, network %s", facts,
              c->allow_internet    ? "open, as configured"
              : reach == REACH_CUT ? "cut (measured)"
                                   : "cut (not measured: the probe needs bash)");
    if (missing && !c->limits_best_effort) {
        doctor_bad(
            d, "limits", "D-023",
            "leave it out, run as root, have a cgroup delegated, or limits_best_effort = true",
            "[limits] %s cannot be enforced here; runs are refused", missing);
        return;
    }
    add_limit(&limits, "cpu", e->cpu);
    add_limit(&limits, "memory", e->memory);
    add_limit(&limits, "processes", e->processes);
    add_limit(&limits, "disk", e->disk);
    doctor_ok(d, "limits", "enforceable by: %s", str_c(&limits));
}

static void try_sandbox(struct doctor *d, const struct config *c, struct provider *provider,
                        const char *facts)
{
    struct err err = {0};
    autosandbox struct sandbox *sandbox = NULL;
    if (create(c, provider, &sandbox, &err) < 0) {
        doctor_bad(d, "sandbox", "D-022", "correct what it says, then try again", "%s", err.text);
        return;
    }
    judge(d, c, sandbox, facts);
    if (provider->ops->destroy(provider, sandbox->id, &err) < 0) {
        autofree char *fix = mem_printf("factory sandboxes destroy %s --force", sandbox->id);
        doctor_bad(d, "sandbox", "D-022", fix, "%s", err.text);
    }
}

static char *bwrap_version(const struct config *c)
{
    autoproc struct proc_result result = {0};
    const char *argv[] = {c->bwrap, "--version", NULL};
    struct proc_spec spec = {.argv = argv};
    if (proc_run(&spec, NULL, 0, 200, PROBE_TIMEOUT_MS, &result, NULL) < 0 || result.exit_code) {
        return mem_strdup("bubblewrap");
    }
    str_cut(&result.out, strcspn(str_c(&result.out), "\n"));
    return str_take(&result.out);
}

static void say_why_not(struct doctor *d, const struct err *err)
{
    if (str_eq(err->name, "ProgramMissing")) {
        doctor_bad(d, "sandbox", "D-020", "apt install bubblewrap", "%s", err->text);
    } else if (str_eq(err->name, "NamespacesForbidden")) {
        doctor_bad(d, "sandbox", "D-021", "permit user namespaces for this user", "%s", err->text);
    } else {
        doctor_bad(d, "sandbox", "D-022", "correct what it says, then try again", "%s", err->text);
    }
}

static void check_orphans(struct doctor *d, const struct config *c, struct provider *provider)
{
    struct err err = {0};
    autofleet struct fleet fleet = {0};
    autofree char *store_id = NULL;
    autofree char *engine_name = factory_engine_name(c);
    factory_store_id(c->data_dir, false, &store_id, NULL);
    const struct fleet_owner owner = {.store_id = store_id,
                                      .engine = d->engine,
                                      .readable = !d->engine_is_there,
                                      .engine_name = engine_name};
    if (fleet_look(provider, &owner, &fleet, &err) == 0 && fleet.counts[FLEET_ORPHANED]) {
        size_t count = fleet.counts[FLEET_ORPHANED];
        doctor_bad(d, "sandboxes", "D-025", "factory sandboxes cleanup",
                   "%zu sandbox%s that no open run owns", count, count == 1 ? "" : "es");
    }
}

void doctor_check_sandbox(struct doctor *d, const struct config *c, bool offline)
{
    struct err err = {0};
    bool was_there = fs_is_dir(c->data_dir);
    autoprovider struct provider *provider = factory_provider(c);
    if (provider->ops->ping(provider, NULL, &err) < 0) {
        say_why_not(d, &err);
    } else {
        autofree char *version = bwrap_version(c);
        autofree char *facts = mem_printf("local: %s, user namespaces", version);
        if (offline) {
            doctor_ok(d, "sandbox", "%s; nothing was started (--offline)", facts);
        } else {
            try_sandbox(d, c, provider, facts);
        }
    }
    if (was_there) {
        check_orphans(d, c, provider);
    } else { /* only what is empty goes */
        autofree char *sandboxes = config_sandboxes_dir(c);
        rmdir(sandboxes);
        rmdir(c->data_dir);
    }
}
