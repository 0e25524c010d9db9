/*
 * fleet.h - every sandbox that exists, and whose it is.
 *
 * Owns: the classes and the rule that gives one to a sandbox, from its labels, the store and what
 * it says of itself. Must not: destroy anything, or believe the ledger about what exists: the
 * provider is asked.
 *
 *   active    an open run of this store owns it
 *   dead      an open run owns it, but nothing runs in it any more: the run removes it
 *   orphaned  this store's, and no open run owns it (or its record cannot be read): remove it
 *   foreign   another store's, or not the factory's: not ours to touch
 *   unknown   this store's, and the store cannot be read: not decided
 */
#ifndef FACTORY_FLEET_H
#define FACTORY_FLEET_H

#include "base/err.h"
#include "durable.h"
#include "sandbox/provider.h"

enum fleet_class { FLEET_ACTIVE, FLEET_DEAD, FLEET_ORPHANED, FLEET_FOREIGN, FLEET_UNKNOWN };
#define FLEET_CLASSES 5
const char *fleet_class_name(enum fleet_class class); /* "active" ... */

struct fleet {
    struct sandbox_list list;  /* oldest first */
    enum fleet_class *classes; /* parallel to list.items */
    size_t counts[FLEET_CLASSES];
};
void fleet_free(struct fleet *fleet);
#define autofleet cleanup_with(fleet_free)

/* Who can tell whether a sandbox's run is open. */
struct fleet_owner {
    const char *store_id; /* of this data directory, NULL: it has none, nothing was ever made */
    dur_engine *engine;   /* where runs live now, or NULL: */
    bool readable;        /* ... there is none yet (true), or it cannot be asked (false) */
    const char
        *engine_name; /* factory_engine_name() of it: another's sandboxes are unknown to it */
};
/* Ours that no open run owns are orphaned; those that cannot be asked about are unknown. <0
 * transient: the provider cannot list. */
int fleet_look(struct provider *provider, const struct fleet_owner *owner, struct fleet *ret,
               struct err *err);

#endif
