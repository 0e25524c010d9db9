/*
 * guest.h - the daemon inside a local sandbox: processes and files over the envd protocol.
 *
 * Owns: one unix socket, the processes started through it and their output, until it is told to
 * end. Must not: know runs, tasks or the engine; reach any network; trust a byte that it is sent.
 * Thread rule: one thread serves everything; guest_main() is called before any other thread exists.
 *
 * The wire is envd's: Connect-RPC and REST over HTTP/1.1. What a client may rely on:
 *
 *   GET  /health                    204
 *   GET  /metrics  GET /envs        200 JSON
 *   POST /init                      204; envVars, defaultUser, defaultWorkdir, accessToken
 *   GET  /files?path=&username=     raw bytes; Range (one range), HEAD
 *   POST /files?path=&username=     application/octet-stream, or multipart/form-data part "file"
 *   POST /process.Process/...       Start Connect List SendInput StreamInput CloseStdin SendSignal
 *                                   Update
 *   POST /filesystem.Filesystem/... Stat ListDir MakeDir Move Remove
 *
 * Where it goes beyond envd (each is invisible to a client that does not know it):
 *   - Every process has its own small supervisor, a child subreaper, so the whole tree below it can
 *     be found: SIGTERM, SIGKILL and the timeout (Connect-Timeout-Ms on Start) reach every
 *     descendant, also those that called setsid. The process is not a group leader, as in envd.
 *   - Output is kept: the first `output_head_bytes` and the last `output_tail_bytes` of each
 * stream. Connect replays them from the start and then follows; what fell out in between is
 * replaced by one line "[factory: N bytes of output dropped here]" on the same stream. A reader
 * that keeps reading misses nothing: the process is slowed down to its pace. A reader that stops
 * reading for a second no longer holds the process up. Nothing of this touches the exit code.
 *   - A Connect request may carry "skip":{"stdout":N,"stderr":N}: bytes of each stream that the
 *     client has already.
 *   - An ended process stays: Connect and List find it (List under "ended", with its "end" event,
 *     "startedAt", "endedAt") until GUEST_ENDED_MAX later ones have ended. Those whose end a client
 *     has read go first.
 *   - The end event says "timedOut":true when the timeout killed the tree; the Start stream itself
 *     then ends with deadline_exceeded after all output, without an end event.
 *   - SendSignal on an ended process still reaches descendants that it left behind; with none left
 *     it is not_found.
 *   - All user names that are accepted mean the one user that the sandbox has.
 * Not served: pty (Start and Update answer unimplemented), watchers (unimplemented), compression.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A zeroed struct with socket_path set is valid. Strings are borrowed until guest_main returns. */
struct guest_options {
    const char *socket_path;  /* listening unix socket, made 0600; a stale one is replaced */
    int listen_fd;            /* > 0: already listening descriptor; socket_path is not touched */
    const char *workdir;      /* default directory; NULL: home. Relative paths start here */
    const char *home;         /* HOME of processes and what "~" means; NULL: $HOME, else "/" */
    const char *user;         /* name that processes see; NULL: from /etc/passwd, else "user" */
    const char *path;         /* PATH of processes; NULL: our own, else the system's default */
    const char *log_path;     /* appended, 0600; NULL: log_fd */
    int log_fd;               /* 0: standard error as inherited */
    int ready_fd;             /* > 0: gets one byte and is closed once the socket listens */
    int64_t idle_ms;          /* exit after so long without request or process; 0: never */
    size_t output_head_bytes; /* kept per stream, first bytes; 0: 1 MiB */
    size_t output_tail_bytes; /* kept per stream, last bytes; 0: 1 MiB; at least 64 KiB */
    size_t max_processes;     /* alive at once; 0: 512. One more is resource_exhausted */
};

/* Serve until SIGTERM/SIGINT or idleness, then kill every process tree and remove the socket.
 * Becomes a session leader where it can, ignores SIGHUP and SIGPIPE: the death of whoever started
 * it changes nothing. Returns the exit status: 0 ended as told or idle, 1 could not start (the log
 * says why). */
int guest_main(const struct guest_options *options);

/* Fill *ret from a command line; argv[0] is skipped. Options, each with its field's meaning:
 *   --socket PATH | --listen-fd N  --workdir DIR  --home DIR  --user NAME  --path LIST
 *   --log FILE  --ready-fd N  --idle-ms N  --output-head-bytes N  --output-tail-bytes N
 *   --max-processes N
 * <0: unknown option, missing or malformed value (name "Usage"). Strings point into argv. */
int guest_options_parse(int argc, char *const *argv, struct guest_options *ret, struct err *err);

#define GUEST_ENDED_MAX 256 /* ended processes remembered */

#endif
