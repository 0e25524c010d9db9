/*
 * open.c - where runs live: a file below data_dir, or a Temporal server. See factory.h.
 *
 * Owns: what the two kinds of [engine] mean; nothing else in the factory tells them apart. On a
 * server the names of task queues get the prefix TASK_QUEUE-, and the file keeps the ledger alone.
 * Tests: tests/unit/test_factory_workflow.c, tests/cli/
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "factory/factory.h"
#include "factory/workflow.h"

#define MIB (1024LL * 1024)
#define LANE_CONTROL_SLOTS 8
#define LANE_CLEANUP_SLOTS 4
#define HERE_MS 2000 /* a server on this host answers at once, or is not up */
#define ELSEWHERE_MS 10000
#define IDLE_LEAST_MS 5000 /* a server's list of open runs, which says whether to leave, lags */

int factory_engine_failed(dur_engine *engine, int code, struct err *err)
{
    enum err_kind kind =
        code == DUR_BUSY || code == DUR_FULL || code == DUR_IO ? ERR_TRANSIENT : ERR_PERMANENT;
    return err_set(err, kind, dur_code_name(code), "%s", dur_error(engine));
}

void factory_store_schema(dur_options *options)
{
    options->schema_name = FACTORY_SCHEMA_NAME;
    options->schema = factory_schema();
}

static dur_options store_options(const struct config *config)
{
    dur_options options = {
        .reserve_bytes = config->reserve_mib ? config->reserve_mib * MIB : -1,
        .min_free_bytes = config->min_free_mib ? config->min_free_mib * MIB : -1,
        .max_db_bytes = config->max_db_mib * MIB,
        .stop_grace_ms = config->worker_stop_timeout_ms,
        .keep_closed_ms = config->keep_runs_ms,
        .keep_closed_runs = config->keep_runs_max,
        .keyring_file = *config->payload_keyring ? config->payload_keyring : NULL,
    };
    factory_store_schema(&options);
    return options;
}

static int open_store(const struct config *config, bool read_only, int64_t idle_exit_ms,
                      dur_engine **engine, struct err *err)
{
    autofree char *path = config_database_path(config);
    dur_options options = store_options(config);
    options.read_only = options.no_create = read_only;
    options.idle_exit_ms = idle_exit_ms;
    options.no_migrate = 1;
    if (!read_only && fs_mkdirs(config->data_dir, 0750, err) < 0) {
        return -1;
    }
    int rc = dur_open(engine, path, &options);
    if (rc == DUR_OLDER) {
        return err_set(err, ERR_PERMANENT, dur_code_name(rc),
                       "%s: factory upgrade --check says what would become of its runs, factory "
                       "upgrade --apply does it",
                       dur_error(*engine));
    }
    return rc == DUR_OK ? 0 : factory_engine_failed(*engine, rc, err);
}

/* No run depends on this file's engine, so it is brought up to date without asking; a copy of what
 * was stays beside it. */
static int make_ledger(const struct config *config, struct err *err)
{
    autofree char *path = config_database_path(config);
    dur_options options = store_options(config);
    dur_engine *store = NULL;
    options.keyring_file = NULL;
    if (fs_mkdirs(config->data_dir, 0750, err) < 0) {
        return -1;
    }
    int rc = dur_open(&store, path, &options);
    if (rc != DUR_OK) {
        factory_engine_failed(store, rc, err);
    }
    dur_close(store);
    return rc == DUR_OK ? 0 : -1;
}

char *factory_engine_name(const struct config *config)
{
    return config_is_remote(config)
               ? mem_printf("temporal:%s@%s", config->name_space, config->host_port)
               : mem_strdup("sqlite");
}

/* What makes a connection of the configuration. Texts live in arena. */
static dur_connect_options connection(const struct config *config, struct arena *arena)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    return (dur_connect_options){
        .name_space = config->name_space,
        .identity = arena_printf(arena, "%s@%s:%d", config->identity_prefix, host, (int)getpid()),
        .queue_prefix = arena_printf(arena, "%s-", config->task_queue),
        .tls = config->tls,
        .server_name = *config->server_name ? config->server_name : NULL,
        .ca_file = *config->ca_file ? config->ca_file : NULL,
        .cert_file = *config->cert_file ? config->cert_file : NULL,
        .key_file = *config->key_file ? config->key_file : NULL,
        .api_key_env = *config->api_key_env ? config->api_key_env : NULL,
        .connect_timeout_ms = config_target_is_here(config->host_port) ? HERE_MS : ELSEWHERE_MS,
        .stop_grace_ms = config->worker_stop_timeout_ms,
        .keyring_file = *config->payload_keyring ? config->payload_keyring : NULL,
    };
}

static int open_server(const struct config *config, int64_t idle_exit_ms, dur_engine **engine,
                       struct err *err)
{
    autoarena struct arena *arena = arena_new();
    dur_connect_options options = connection(config, arena);
    options.idle_exit_ms =
        idle_exit_ms && idle_exit_ms < IDLE_LEAST_MS ? IDLE_LEAST_MS : idle_exit_ms;
    int rc = dur_connect(engine, config->host_port, &options);
    rc = rc ? rc : dur_lane(*engine, WORKFLOW_LANE, LANE_CONTROL_SLOTS); /* who serves it, serves */
    if (rc == DUR_OK) {
        return 0;
    }
    factory_engine_failed(*engine, rc, err);
    if (rc == DUR_IO) {
        err_set(err, ERR_TRANSIENT, "ServerUnreachable", "%s", dur_error(*engine));
    } else if (rc == DUR_NOT_FOUND) { /* of a namespace: no word about a run or a store */
        err_set(err, ERR_PERMANENT, "BadConfig", "%s", dur_error(*engine));
    }
    return -1;
}

int factory_declare_lanes(const struct config *config, dur_engine *engine)
{
    int agents = (int)config->worker_concurrency;
    const struct {
        const char *lane;
        int slots;
    } lanes[] = {{WORKFLOW_LANE, LANE_CONTROL_SLOTS},
                 {"agent", agents},
                 {"gate", agents},
                 {"cleanup", LANE_CLEANUP_SLOTS}};
    int rc = DUR_OK;
    for (size_t i = 0; i < ARRAY_LEN(lanes) && rc == DUR_OK; i++) {
        rc = dur_lane(engine, lanes[i].lane, lanes[i].slots);
    }
    return rc;
}

int factory_open_engine(const struct config *config, bool read_only, int64_t idle_exit_ms,
                        dur_engine **engine, struct err *err)
{
    *engine = NULL;
    if (!config_is_remote(config)) {
        return open_store(config, read_only, idle_exit_ms, engine, err);
    }
    if (config->engine_problem) {
        return err_set(err, ERR_PERMANENT, "BadConfig", "%s", config->engine_problem);
    }
    if (!read_only && make_ledger(config, err) < 0) {
        return -1;
    }
    return open_server(config, idle_exit_ms, engine, err);
}

/* A server may have many types and many factories; its own index finds ours. No quote can be in the
 * name (config_engine.c). */
static void filter_for(const struct config *config, dur_status status, struct str *filter)
{
    str_addf(filter, "WorkflowType = '%s' AND TaskQueue = '%s-%s'", WORKFLOW_NAME,
             config->task_queue, WORKFLOW_LANE);
    if (status) {
        str_addf(filter, " AND ExecutionStatus = '%s'", dur_status_name(status));
    }
}

int factory_list_runs(const struct config *config, dur_engine *engine, dur_status status,
                      int64_t after, int limit, dur_list_fn row, void *user)
{
    autostr struct str filter = {0};
    if (!config_is_remote(config)) {
        return dur_list(engine, status, after, limit, row, user);
    }
    filter_for(config, status, &filter);
    return dur_list_where(engine, str_c(&filter), after, limit, row, user);
}
