/*
 * workflow.h - the durable workflow of a factory run.
 * Owns: its name and entry. Its input is the request (request.h), its result the manifest
 * (run.json).
 */
#ifndef FACTORY_WORKFLOW_H
#define FACTORY_WORKFLOW_H

#include "durable.h"

#define WORKFLOW_NAME "SoftwareChangeWorkflow"
#define WORKFLOW_ID_PREFIX "factory-run-"
#define WORKFLOW_LANE "control" /* task queue of the runs themselves */

int workflow_run(dur_ctx *ctx, const char *input, const char **result, void *user);

#endif
