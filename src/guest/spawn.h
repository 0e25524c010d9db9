/*
 * spawn.h - a process under its own supervisor.
 *
 * Owns: the two forks, their descriptors, and the supervisor's life:
 *
 *   guest --fork--> supervisor (session leader, child subreaper, blocks signals)
 *                      \--fork--> the process (in the supervisor's group, so never a group leader)
 *
 * The supervisor reports the process' pid and later its wait status through a pipe, reaps every
 * orphan of the tree and leaves when nothing is below it any more. It never executes anything and
 * holds no descriptor but the report pipe. If it is killed, the process dies with it.
 */
#ifndef GUEST_SPAWN_H
#define GUEST_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/wire.h"

struct spawn_spec {
    char *const *argv; /* argv[0] is looked up in the PATH of envp */
    char **envp;
    const char *dir;
    bool want_stdin; /* a pipe; otherwise /dev/null */
};

struct spawned {
    pid_t pid;
    pid_t supervisor;
    int in_fd; /* -1 without want_stdin */
    int out_fd;
    int err_fd;
    int report_fd; /* gives one struct spawn_report, then EOF when the whole tree is gone */
};

struct spawn_report {
    int32_t wait_status;
};

/* All descriptors returned are close-on-exec and non-blocking. A program that cannot be executed
 * is not an error here: the process says so on stderr and exits 127 (not found) or 126. */
int spawn_start(const struct spawn_spec *spec, struct spawned *ret, struct wire_error *error);

/* Call once, before the first spawn: remembers the soft descriptor limit that processes get back
 * and raises our own. */
void spawn_init(void);

#endif
