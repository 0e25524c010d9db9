/*
 * registry.h - the workflows, activities and lanes that this process offers.
 *
 * Owns: names and their callbacks. Filled before the loop starts (the loop only reads), so it needs
 * no lock beyond the engine's own. Must not: run anything.
 */
#ifndef ACTIVITY_REGISTRY_H
#define ACTIVITY_REGISTRY_H

#include <stdbool.h>
#include "durable.h"

struct registered {
    struct registered *next;
    char *name;
    dur_workflow_fn workflow; /* one of the three */
    dur_activity_fn activity;
    dur_transaction_fn transaction;
    void *user;
};

struct registry {
    struct registered *workflows;
    struct registered *activities;
    struct registered *transactions;
};

void registry_free(struct registry *registry);
/* DUR_OK, DUR_INVALID (empty or longer than 1000 bytes, no function), DUR_EXISTS. */
int registry_add_workflow(struct registry *registry, const char *name, dur_workflow_fn fn,
                          void *user);
int registry_add_activity(struct registry *registry, const char *name, dur_activity_fn fn,
                          void *user);
/* The same, in place of one that is there. */
int registry_set_activity(struct registry *registry, const char *name, dur_activity_fn fn,
                          void *user);
int registry_add_transaction(struct registry *registry, const char *name, dur_transaction_fn fn,
                             void *user);
bool registry_has_transactions(const struct registry *registry);
const struct registered *registry_transaction(const struct registry *registry, const char *name);
const struct registered *registry_workflow(const struct registry *registry, const char *name);
const struct registered *registry_activity(const struct registry *registry, const char *name);

#endif
