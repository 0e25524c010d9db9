/*
 * exitcode.h - exit statuses; documented in factory(1), never renumbered.
 * Statuses of runs (10 to 17, and 3) come from factory/verdict.h.
 */
#ifndef CLI_EXITCODE_H
#define CLI_EXITCODE_H

#define EXIT_OK 0
#define EXIT_ERROR 1      /* anything without a number of its own */
#define EXIT_USAGE 2      /* the command line */
#define EXIT_CONFIG 3     /* factory.ini, or a request that policy refuses */
#define EXIT_NOT_FOUND 4  /* no such run, sandbox, store */
#define EXIT_BUSY 5       /* the store is locked, full, newer; the server is away */
#define EXIT_MISMATCH 6   /* workflow code does not fit a history */
#define EXIT_DETACHED 130 /* Ctrl-C while waiting: the run goes on */

#endif
