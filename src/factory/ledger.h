/*
 * ledger.h - the factory's tables: runs, artifacts, sandboxes.
 *
 * Owns: the second (and last) place with SQL in the program, on its own connection to the engine's
 * file; the schema is migrations/factory/, applied by dur_open. Must not: touch the engine's
 * tables. Every write is its own durable transaction and idempotent: activities repeat them after a
 * crash. Threads: one ledger may be used by several threads; a lock serialises them.
 */
#ifndef FACTORY_LEDGER_H
#define FACTORY_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sealer.h"
#include "durable.h"

extern const char FACTORY_SCHEMA_NAME[];   /* "factory": for dur_options.schema_name */
const dur_migration *factory_schema(void); /* for dur_options.schema */

struct ledger;
/* The file must exist (dur_open made it). read_only for commands that look. */
int ledger_open(const char *path, bool read_only, struct ledger **ret, struct err *err);
/* What a run was given and its plan are sealed from now on, and read with these keys (borrowed;
 * NULL: as they are). Without them a reader gets the sealed form. */
void ledger_seal_with(struct ledger *ledger, const struct sealer *sealer);
struct ledger *ledger_close(struct ledger *ledger); /* NULL fine; returns NULL */
static inline void ledger_cleanup_(struct ledger **ledger)
{
    *ledger = ledger_close(*ledger);
}
#define autoledger cleanup_with(ledger_cleanup_)

/* How many schema steps were applied to the file: the engine's and the factory's. */
struct ledger_versions {
    int engine, factory;
};
int ledger_get_versions(struct ledger *ledger, struct ledger_versions *ret, struct err *err);

struct ledger_run {
    const char *run_id, *workflow_id, *execution_id, *request, *plan, *repository, *revision;
    const char *commit_id, *agent, *model, *profile, *task_sha256, *config_digest, *state;
    const char *agent_result, *verification_result, *cleanup_result, *patch_sha256,
        *manifest_sha256;
    int64_t submitted_ns, finished_ns;
};
/* Insert, or leave an existing row of the same execution as it is. err name "RunExists" (permanent)
 * when the row belongs to another execution: evidence is never overwritten. */
int ledger_add_run(struct ledger *ledger, const struct ledger_run *run, struct err *err);
int ledger_set_plan(struct ledger *ledger, const char *run_id, const char *plan, const char *commit,
                    struct err *err);
/* Final facts; row->run_id names it. */
int ledger_finish_run(struct ledger *ledger, const struct ledger_run *row, struct err *err);
/* 0; 1: no such run. Texts in arena. */
int ledger_get_run(struct ledger *ledger, struct arena *arena, const char *run_id,
                   struct ledger_run *ret, struct err *err);
/* Newest first, at most limit; calls row until it returns non-zero. request and plan as stored. */
int ledger_list_runs(struct ledger *ledger, int limit,
                     int (*row)(void *user, const struct ledger_run *run), void *user,
                     struct err *err);

int ledger_put_artifact(struct ledger *ledger, const char *run_id, const char *path,
                        const char *sha256, uint64_t bytes, struct err *err);
struct ledger_artifact {
    const char *path, *sha256;
    int64_t bytes;
};
int ledger_list_artifacts(struct ledger *ledger, const char *run_id,
                          int (*row)(void *user, const struct ledger_artifact *artifact),
                          void *user, struct err *err);

int ledger_put_sandbox(struct ledger *ledger, const char *sandbox_id, const char *run_id,
                       const char *execution_id, const char *role, const char *provider,
                       struct err *err);
struct ledger_sandbox {
    const char *sandbox_id, *run_id, *role, *provider;
    int64_t created_ns, destroyed_ns; /* destroyed 0: not known to be gone */
};
/* Of a run, in the order of their making; calls row until it returns non-zero. */
int ledger_list_sandboxes(struct ledger *ledger, const char *run_id,
                          int (*row)(void *user, const struct ledger_sandbox *sandbox), void *user,
                          struct err *err);
int ledger_sandbox_destroyed(struct ledger *ledger, const char *sandbox_id, struct err *err);

#endif
