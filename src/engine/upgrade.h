/*
 * upgrade.h - the private door for `factory upgrade`: a store's schema, up and back by one version.
 *
 * Owns: these steps under the ownership lock, so that no engine serves the store meanwhile. Must
 * not: be part of libdurable's interface; an embedding program's dur_open() upgrades by itself
 * unless no_migrate says otherwise. Errors carry base/err.h names: "Served" (transient: an engine
 * serves the store), "NewerFile", "NoWayBack" and the store's own.
 */
#ifndef ENGINE_UPGRADE_H
#define ENGINE_UPGRADE_H

#include "base/err.h"
#include "base/str.h"
#include "durable.h"

/* Of the engine's schema and of the application's (options->schema). */
struct upgrade_levels {
    int engine_has, engine_knows;
    int app_has, app_knows;
};
int upgrade_look(const char *path, const dur_options *options, struct upgrade_levels *ret,
                 struct err *err);
/* A consistent copy of the store at `to`; the store itself is only read. */
int upgrade_copy(const char *path, const char *to, struct err *err);
/* Applies what is due. 0: done, and the copy of what was is at *ret_copy (free); 1: nothing was
 * due. The new store has passed SQLite's full check. */
int upgrade_apply(const char *path, const dur_options *options, char **ret_copy, struct err *err);
/* One version back. 0: done, copy as above; 1: not done, needs has a line for each thing that the
 * version before could not go on with. */
int upgrade_back(const char *path, const dur_options *options, struct str *needs, char **ret_copy,
                 struct err *err);

#endif
