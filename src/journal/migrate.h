/*
 * migrate.h - looking at a store's schema, copying it, and taking its newest step back.
 *
 * Owns: what `factory upgrade` needs beyond store_open(), which applies steps by itself. Must not:
 * be called on a store that somebody serves (the caller holds the ownership lock for
 * migrate_back()).
 */
#ifndef JOURNAL_MIGRATE_H
#define JOURNAL_MIGRATE_H

#include "base/str.h"
#include "journal/store.h"

/* Steps that the file has, and that this program knows, of the engine's schema and of the
 * application's. */
struct migrate_levels {
    int engine_has, engine_knows;
    int app_has, app_knows;
};
/* Reads only. Refuses as store_open() does, NewerFile and MigrationChanged included. */
int migrate_levels(const char *path, const struct store_options *options,
                   struct migrate_levels *ret, struct err *err);

/* A consistent copy of the store of any schema at `to` (which must not exist), without changing
 * it. */
int migrate_copy(const char *path, const char *to, struct err *err);

/* Takes the newest step of the engine's schema back: the file is then one that the version before
 * wrote. A copy is written to path.after-N first (N: steps applied), its path in *ret_copy (free).
 * 0; 1: nothing was done, because the store still needs the step: a line each in needs; <0, name
 * "NoWayBack": the first step cannot be taken back; else as store_open(). */
int migrate_back(const char *path, const struct store_options *options, struct str *needs,
                 char **ret_copy, struct err *err);

#endif
