/*
 * factory.h - the front door of factory/: what commands and the engine process use.
 *
 * Owns: struct factory: configuration, sandbox provider and ledger of one data directory, and the
 * registration of the workflow and its activities with an engine.
 * Threads: after factory_register() the activities run on the engine's threads; the struct itself
 * is read-only then.
 */
#ifndef FACTORY_FACTORY_H
#define FACTORY_FACTORY_H

#include "base/err.h"
#include "base/keyring.h"
#include "durable.h"
#include "factory/config.h"
#include "factory/ledger.h"
#include "factory/request.h"
#include "sandbox/provider.h"

#define FACTORY_VERSION "0.2.0"

struct factory {
    const struct config *config; /* the caller's, must outlive it */
    struct provider *provider;
    struct ledger *ledger;
    struct keyring *keyring; /* of payload_keyring; NULL: none */
    char *runs_dir;
    char *mirrors_dir;
    char *store_id;    /* tells this data directory's sandboxes from a neighbour's */
    char *engine_name; /* factory_engine_name() */
};

/* Open where the configuration's runs live: the one way in for every command. *engine is always
 * set; dur_close it. idle_exit_ms: for the engine process; 0: serve for ever.
 * kind = sqlite: the store at data_dir with the factory's schema. A store of an older version is
 * refused ("DUR_OLDER", with what to do). read_only: never creates or migrates; DUR_NOT_FOUND when
 * there is no store yet.
 * kind = temporal: a connection to the server ("ServerUnreachable": transient). The ledger is the
 * same file below data_dir: it is made and brought up to date here, unless read_only. */
int factory_open_engine(const struct config *config, bool read_only, int64_t idle_exit_ms,
                        dur_engine **engine, struct err *err);
/* Which engine's runs are meant, for labels: "sqlite", "temporal:NAMESPACE@HOST:PORT". */
char *factory_engine_name(const struct config *config); /* caller frees */
/* An engine's last error as an error value named after the code; -1. */
int factory_engine_failed(dur_engine *engine, int code, struct err *err);
/* This factory's runs, as dur_list: other types and, on a server, other factories' are left out
 * where that costs nothing; the caller looks at the type. */
int factory_list_runs(const struct config *config, dur_engine *engine, dur_status status,
                      int64_t after, int limit, dur_list_fn row, void *user);
/* The factory's own schema, for options of dur_open. */
void factory_store_schema(dur_options *options);
/* The provider of this configuration; free with provider_free. Touches nothing yet. */
struct provider *factory_provider(const struct config *config);

/* The name of a data directory, in the labels of its sandboxes; caller frees. 1: it has none, and
 * create is false. */
int factory_store_id(const char *data_dir, bool create, char **ret, struct err *err);
/* Can this provider enforce what the configuration's [sandbox] says of the network? 0, or permanent
 * "PolicyNotEnforceable". Touches nothing: asked at submission and again before a sandbox is made.
 */
int factory_check_policy(const struct provider *provider, const struct config *config,
                         struct err *err);

/* For the engine process. The ledger must have been opened before (factory_open_engine). */
int factory_open(const struct config *config, struct factory **ret, struct err *err);
struct factory *factory_close(struct factory *factory); /* NULL fine; returns NULL */
/* The task queues that runs use, with as many slots as the configuration says. A durable.h code. */
int factory_declare_lanes(const struct config *config, dur_engine *engine);
/* Workflow, activities and lanes. */
int factory_register(struct factory *factory, dur_engine *engine, struct err *err);

/* The workflow alone: for replays of histories. A durable.h code. */
int factory_register_workflows(dur_engine *engine);

/* Start a run: durable when it returns. request was checked. err name "RunExists" when the id was
 * used, "PolicyNotEnforceable" when nothing was started because of it. */
int factory_submit(const struct config *config, dur_engine *engine, const struct request *request,
                   struct err *err);

#endif
