/*
 * activities.h - every activity of the workflow, and what several of them share.
 *
 * Owns: the list (factory.c registers it). Each activity is in the act_*.c that its duty names; its
 * idempotency rule stands in that file's head comment: an activity may run again after a crash at
 * any instant and must then find what its earlier self did.
 */
#ifndef FACTORY_ACTIVITIES_H
#define FACTORY_ACTIVITIES_H

#include "durable.h"
#include "factory/job.h"
#include "repo/tree.h"

#define ACTIVITY_LIST(X)                                                                           \
    X(ValidateRequest, act_validate)                                                               \
    X(CreateSandbox, act_create_sandbox)                                                           \
    X(PrepareSandbox, act_prepare_sandbox)                                                         \
    X(PrepareRepository, act_prepare_repository)                                                   \
    X(WriteInventory, act_write_inventory)                                                         \
    X(RunAgent, act_run_agent)                                                                     \
    X(CollectArtifacts, act_collect_artifacts)                                                     \
    X(CheckGateIntegrity, act_check_gates)                                                         \
    X(RunGate, act_run_gate)                                                                       \
    X(CollectDrift, act_collect_drift)                                                             \
    X(DestroySandbox, act_destroy_sandbox)                                                         \
    X(FinalizeResult, act_finalize)

#define ACTIVITY_DECLARE_(name, fn)                                                                \
    int fn(dur_activity *act, const char *input, const char **result, void *factory);
ACTIVITY_LIST(ACTIVITY_DECLARE_)
#undef ACTIVITY_DECLARE_

/* The run's own directory below work in the data_dir: its private object store; removed when the
 * run is final. Caller frees. */
char *work_dir(const struct config *config, const char *run_id);
/* The bundle of the baseline commit in it, written by ValidateRequest. Caller frees. */
char *work_bundle(const struct job *job);
/* Open the run's tree store. */
int work_open_store(struct job *job, struct tree_store **ret);

/* Bring /workspace/repository out of the sandbox as a tree of the run's store (act_collect.c). */
int collect_tree(struct job *job, struct envd *envd, const char *baseline_tree,
                 struct tree_import_result *ret);

/* Patterns protected in this run: the profile's own, and each gate's program (or the script that it
 * gives to a shell, python3, perl, ruby or node) when that is a path inside the repository. In the
 * job's arena. */
const char *const *gate_patterns(struct job *job, size_t *ret_count);

#endif
