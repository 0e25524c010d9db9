/*
 * factory.c - see factory.h. Owns registration and submission; opening is in open.c.
 * Tests: tests/unit/test_factory_workflow.c
 */
#include "factory/factory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "factory/activities.h"
#include "factory/workflow.h"
#include "sandbox/local.h"

int factory_register_workflows(dur_engine *engine)
{
    return dur_register_workflow(engine, WORKFLOW_NAME, workflow_run, NULL);
}

struct provider *factory_provider(const struct config *config)
{
    const char *sources[33];
    size_t count = 0;
    for (const char *const *pair = config->binds; *pair && count < 32; pair += 2) {
        sources[count++] = pair[1];
    }
    sources[count] = NULL;
    struct local_config local = {
        .data_dir = config->data_dir,
        .bwrap = config->bwrap,
        .allow_share_net = config->allow_host_network,
        .bind_sources = sources,
        .run_as = config->run_as,
    };
    return local_provider_new(&local);
}

int factory_check_policy(const struct provider *provider, const struct config *config,
                         struct err *err)
{
    const struct sandbox_egress egress = {.policy = "sandbox",
                                          .allow_internet = config->allow_internet,
                                          .allow_out = config->allow_out,
                                          .deny_out = config->deny_out};
    return local_check_policy(provider, &egress, err);
}

/* Made once, by whoever is first: DATA_DIR/store-id. */
static int make_store_id(const char *data_dir, struct err *err)
{
    struct err why = {0};
    char hex[25];
    autoclose int fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(err, errno, "OpenFailed", "cannot open %s", data_dir);
    }
    rng_hex(hex, 12);
    if (fs_write_file_at(fd, "store-id", hex, strlen(hex), 0640, FS_EXCLUSIVE, &why) < 0 &&
        !str_eq(why.name, "FileExists")) {
        return err_set(err, why.kind, why.name, "%s", why.text);
    }
    return 0;
}

int factory_store_id(const char *data_dir, bool create, char **ret, struct err *err)
{
    autostr struct str text = {0};
    autofree char *path = fs_join(data_dir, "store-id");
    if (!fs_exists(path)) {
        if (!create) {
            return 1;
        }
        if (make_store_id(data_dir, err) < 0) {
            return -1;
        }
    }
    if (fs_read_file(path, 64, &text, err) < 0) {
        return -1;
    }
    *ret = str_take(&text);
    return 0;
}

int factory_open(const struct config *config, struct factory **ret, struct err *err)
{
    struct factory *factory = mem_alloc(sizeof(*factory));
    autofree char *path = config_database_path(config);
    factory->config = config;
    factory->runs_dir = config_runs_dir(config);
    factory->mirrors_dir = config_mirrors_dir(config);
    factory->engine_name = factory_engine_name(config);
    factory->provider = factory_provider(config);
    if (fs_mkdirs(factory->runs_dir, 0750, err) < 0 ||
        factory_store_id(config->data_dir, true, &factory->store_id, err) < 0 ||
        (*config->payload_keyring &&
         keyring_load(config->payload_keyring, &factory->keyring, err) < 0) ||
        ledger_open(path, false, &factory->ledger, err) < 0) {
        factory_close(factory);
        return -1;
    }
    ledger_seal_with(factory->ledger, keyring_sealer(factory->keyring));
    *ret = factory;
    return 0;
}

struct factory *factory_close(struct factory *factory)
{
    if (factory) {
        ledger_close(factory->ledger);
        keyring_free(factory->keyring);
        provider_free(factory->provider);
        free(factory->runs_dir);
        free(factory->mirrors_dir);
        free(factory->store_id);
        free(factory->engine_name);
        free(factory);
    }
    return NULL;
}

int factory_register(struct factory *factory, dur_engine *engine, struct err *err)
{
    int rc = dur_register_workflow(engine, WORKFLOW_NAME, workflow_run, factory);
#define REGISTER_(name, fn)                                                                        \
    if (rc == DUR_OK) {                                                                            \
        rc = dur_register_activity(engine, #name, fn, factory);                                    \
    }
    ACTIVITY_LIST(REGISTER_)
#undef REGISTER_
    rc = rc ? rc : factory_declare_lanes(factory->config, engine);
    return rc == DUR_OK ? 0 : factory_engine_failed(engine, rc, err);
}

int factory_submit(const struct config *config, dur_engine *engine, const struct request *request,
                   struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str memo = {0};
    struct json_out out = json_writer(&memo, 0);
    autoprovider struct provider *provider = factory_provider(config);
    if (factory_check_policy(provider, config, err) < 0) {
        return -1;
    }
    const char *id = arena_printf(arena, "%s%s", WORKFLOW_ID_PREFIX, request->run_id);
    json_begin_object(&out);
    json_kv_str(&out, "state", "RUNNING");
    json_kv_str(&out, "step", "submitted");
    json_kv_str(&out, "agent", request->agent);
    json_kv_str(&out, "repository",
                request->local_path ? request->local_path : request->repository);
    json_kv_str(&out, "revision", request->revision);
    json_kv_str(&out, "profile", request->profile);
    json_end_object(&out);
    dur_start_options options = {
        .task_queue = WORKFLOW_LANE, .reuse = DUR_REUSE_REJECT, .memo = str_c(&memo)};
    int rc = dur_start(engine, WORKFLOW_NAME, id, request_print(arena, config, request), &options);
    if (rc == DUR_EXISTS) {
        return err_set(err, ERR_PERMANENT, "RunExists",
                       "run %s exists already; see factory status %s", request->run_id,
                       request->run_id);
    }
    return rc == DUR_OK ? 0 : factory_engine_failed(engine, rc, err);
}
