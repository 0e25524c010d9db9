/*
 * doctor_server.c - see doctor_server.h. Owns the limits beyond which a server is complained about.
 * Tests: tests/cli/t0717-server.sh
 */
#include "cli/doctor_server.h"

#include <stdlib.h>

#include "cli/format.h"
#include "engine/admin.h"
#include "factory/factory.h"

#define SKEW_LIMIT_MS 5000
#define DAY_MS (24LL * 3600 * 1000)
#define FILE_RUNS_MAX 1000

static void cannot_connect(struct doctor *d, const struct config *config, const struct err *err)
{
    if (str_eq(err->name, "ServerUnreachable")) {
        doctor_bad(d, "server", "D-050", "start the server, or correct [engine] host_port", "%s",
                   err->text);
    } else {
        doctor_bad(d, "server", "D-051", "correct [engine], or install what is named", "%s: %s",
                   config->host_port, err->text);
    }
}

static void check_answers(struct doctor *d, const struct config *config)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str retention = {0};
    struct admin_remote remote;
    if (admin_remote(d->engine, arena, &remote) != DUR_OK) {
        doctor_bad(d, "server", "D-050", "look at the server's log", "%s", dur_error(d->engine));
        return;
    }
    if (remote.retention_ms) {
        str_add(&retention, ", closed runs kept ");
        format_age(&retention, remote.retention_ms * 1000000);
    }
    doctor_ok(d, "server", "%s, Temporal %s, %s, namespace %s%s", remote.address,
              *remote.version ? remote.version : "of an unknown version",
              remote.is_encrypted ? "TLS" : "plaintext on this host", remote.name_space,
              str_c(&retention));
    if (*remote.namespace_state && !str_eq(remote.namespace_state, "Registered")) {
        doctor_bad(d, "server", "D-051", "use a namespace that is registered", "namespace %s is %s",
                   config->name_space, remote.namespace_state);
    }
    if (remote.retention_ms && remote.retention_ms < DAY_MS) {
        doctor_bad(d, "server", "D-052", "temporal operator namespace update --retention 3d",
                   "the server forgets closed runs after %s: factory status and history then know "
                   "them no more",
                   str_c(&retention) + strlen(", closed runs kept "));
    }
    if (llabs(remote.skew_ms) > SKEW_LIMIT_MS) {
        doctor_bad(d, "server", "D-053", "set both clocks by NTP",
                   "the server's clock is %.1f s %s this host's",
                   (double)llabs(remote.skew_ms) / 1e3, remote.skew_ms > 0 ? "ahead of" : "behind");
    }
}

static int count_run(void *user, int64_t token, const dur_description *description)
{
    (void)token;
    (void)description;
    ++*(int *)user;
    return 0;
}

/* Runs that a site left behind when it moved to the server. */
static void check_file(struct doctor *d, const struct config *config)
{
    struct config file = *config;
    struct err err = {0};
    dur_engine *store = NULL;
    int count = 0;
    file.engine_kind = "sqlite";
    if (factory_open_engine(&file, true, 0, &store, &err) == 0 &&
        dur_list(store, DUR_RUNNING, 0, FILE_RUNS_MAX, count_run, &count) == DUR_OK && count) {
        doctor_bad(d, "server", "D-054", "set [engine] kind = sqlite until they are over",
                   "%d run%s open in %s, where this configuration does not look", count,
                   count == 1 ? " is" : "s are", config->data_dir);
    }
    dur_close(store);
}

void doctor_server(struct doctor *d, const struct config *config, bool offline)
{
    struct err err = {0};
    d->engine_is_there = true;
    check_file(d, config);
    if (offline) {
        doctor_none(d, "server", "%s was not asked (--offline)", config->host_port);
        return;
    }
    if (factory_open_engine(config, true, 0, &d->engine, &err) < 0) {
        cannot_connect(d, config, &err);
        dur_close(d->engine);
        d->engine = NULL;
        return;
    }
    check_answers(d, config);
}
