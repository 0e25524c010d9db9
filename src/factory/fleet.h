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

/* store_id: of this data directory, NULL: it has none, nothing in it was ever made. engine: the
 * open store; NULL: store_readable tells whether there is none (every sandbox of ours is orphaned)
 * or it cannot be read (unknown). <0 transient: the provider cannot list. */
int fleet_look(struct provider *provider, dur_engine *engine, bool store_readable,
               const char *store_id, struct fleet *ret, struct err *err);

#endif
