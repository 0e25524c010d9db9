/*
 * doctor.h - looking at this machine: can runs be made here, and is all well with those that exist?
 *
 * Owns: the checks, their stable codes and what to do about each (the table below is the one in
 * factory-doctor(1)). Must not: change the store, start an engine, or leave anything behind; a
 * sandbox is made and destroyed to measure that its network is cut, unless offline.
 *
 *   D-001 configuration does not validate      D-020 bubblewrap is missing
 *   D-002 no agent is declared (w)             D-021 user namespaces are forbidden
 *   D-003 no gates are declared (w)            D-022 sandboxes cannot be made
 *   D-010 data_dir cannot be written           D-023 a configured limit cannot be enforced
 *   D-011 the store cannot be opened           D-024 the network is not cut
 *   D-012 the store is of a newer version      D-025 orphaned sandboxes (w)
 *   D-013 network or FUSE file system          D-030 who serves the store cannot be told (w)
 *   D-014 less free disk than min_free_mib     D-031 runs wait and no engine serves (w)
 *   D-015 the store lives in memory only (w)   D-032 runs are parked by a mismatch (w)
 *   D-016 the store is busy (w)                D-040 an agent's binary is missing or unreadable
 *   D-017 the database is over its budget      D-041 an agent's binary has another digest
 *   D-018 commits cannot be measured (w)       D-042 a variable of pass_env is not set (w)
 *   D-050 the server is not reached            D-043 a provider file cannot be read
 *   D-051 the connection is refused            D-044 an agent's program is not on this machine (w)
 *   D-052 closed runs are soon forgotten (w)   D-053 clocks differ (w)
 *   D-054 runs are left in the file (w)
 * (w): a warning, which fails nothing.
 */
#ifndef FACTORY_DOCTOR_H
#define FACTORY_DOCTOR_H

#include "base/arena.h"
#include "base/attr.h"
#include "durable.h"
#include "factory/config.h"

enum doctor_status { DOCTOR_OK, DOCTOR_NONE, DOCTOR_WARN, DOCTOR_FAIL };
const char *doctor_status_name(enum doctor_status status); /* "ok", "none", "warn", "FAIL" */

struct doctor_row {
    const char *check; /* "store", "agent codex" */
    enum doctor_status status;
    const char *code; /* "D-014"; NULL for OK and NONE */
    const char *text;
    const char *fix; /* NULL for OK and NONE */
};

struct doctor {
    struct arena *arena;
    struct doctor_row *rows;
    size_t count, cap;
    dur_engine *engine;   /* where runs live, open; or NULL: */
    bool engine_is_there; /* ... it could not be asked (true), or there is nothing yet (false) */
    int64_t engine_pid;   /* 0: none serves, or not on this host */
    int64_t commit_us;    /* median of one fsynced write; 0: not measured */
};

void doctor_ok(struct doctor *d, const char *check, const char *fmt, ...) printf_like(3, 4);
void doctor_none(struct doctor *d, const char *check, const char *fmt, ...) printf_like(3, 4);
/* code as in the head comment; its status goes with it. */
void doctor_bad(struct doctor *d, const char *check, const char *code, const char *fix,
                const char *fmt, ...) printf_like(5, 6);

/* All checks but that of the configuration itself. For kind = temporal the caller has opened
 * d->engine, or said that it cannot be (engine_is_there); here it is only asked. */
void doctor_run(struct doctor *d, const struct config *config, bool offline);
void doctor_check_sandbox(struct doctor *d, const struct config *config, bool offline);
/* The worst status of all rows. */
enum doctor_status doctor_worst(const struct doctor *d);
void doctor_free(struct doctor *d);

#endif
