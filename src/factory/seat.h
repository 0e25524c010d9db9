/*
 * seat.h - the one worker of a data directory, when runs live on a server.
 *
 * Owns: the file DATA_DIR/worker.lock and the open-file-description lock on it. A server gives work
 * to whoever asks; but slots are counted by one process, so that no more agents run at once than
 * the configuration says. The kernel drops the lock when the process dies. A store has a lock of
 * its own for the same end (factory.db.lock).
 */
#ifndef FACTORY_SEAT_H
#define FACTORY_SEAT_H

#include <stdbool.h>

#include "base/err.h"

/* 0: *ret_fd holds it until it is closed; 1: another process does. */
int seat_try(const char *data_dir, int *ret_fd, struct err *err);
/* Does some process hold it? Never makes the file. */
bool seat_is_taken(const char *data_dir);

#endif
