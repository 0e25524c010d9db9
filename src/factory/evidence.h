/*
 * evidence.h - the files that a run leaves behind, below <data_dir>/runs/<run-id>/.
 *
 * Owns: their layout, modes (directories 0750, files 0640), durability (temp file, fsync, rename,
 * fsync of the directory), redaction (the one choke point: every byte of text goes through
 * base/redact, but the patch, which is never edited), and their SHA-256 in the ledger. A file is
 * written once: the same content again is fine (an activity repeated after a crash), other content
 * moves the older file to earlier-attempts/. Must not: follow a symlink out of the run's directory.
 * Threads: one struct evidence per thread.
 */
#ifndef FACTORY_EVIDENCE_H
#define FACTORY_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "factory/ledger.h"

#define EVIDENCE_RUN_ID_BYTES_MAX 64

struct evidence;

/* Letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most 64 bytes. */
bool run_id_is_good(const char *run_id);

/* create false: an absent directory is outcome 1 and nothing is made (for commands that look). */
int evidence_open(const char *runs_dir, const char *run_id, struct ledger *ledger,
                  uint64_t max_bytes, bool create, struct evidence **ret, struct err *err);
struct evidence *evidence_close(struct evidence *evidence); /* NULL fine; returns NULL */
static inline void evidence_cleanup_(struct evidence **evidence)
{
    *evidence = evidence_close(*evidence);
}
#define autoevidence cleanup_with(evidence_cleanup_)

const char *evidence_dir(const struct evidence *evidence); /* absolute */

enum evidence_kind {
    EVIDENCE_TEXT,   /* scrubbed */
    EVIDENCE_JSON,   /* parsed, string values scrubbed, printed with two blanks a level */
    EVIDENCE_RAW,    /* byte for byte: inventory */
    EVIDENCE_SEALED, /* byte for byte, mode 0600: a patch that holds a known secret */
};
/* path: relative, plain. ret_sha256 (may be NULL): of what was stored. Errors: "EvidenceTooLarge"
 * (permanent), disk errors (transient). */
int evidence_write(struct evidence *evidence, const char *path, enum evidence_kind kind,
                   const void *bytes, size_t len, char ret_sha256[SHA256_HEX_BYTES],
                   struct err *err);

/* A log that grows while somebody reads it. Begins anew (a repeated attempt replays the output from
 * its beginning, so nothing is lost); scrubbed as it streams. Of more than max_bytes the head is
 * kept, and at the end the last EVIDENCE_TAIL_BYTES, with a line between that says how much is left
 * out. finish: fsync and ledger. */
#define EVIDENCE_TAIL_BYTES (256 * 1024) /* at most a quarter of max_bytes */
struct evidence_log;
int evidence_log_open(struct evidence *evidence, const char *path, struct evidence_log **ret,
                      struct err *err);
int evidence_log_add(struct evidence_log *log, const void *bytes, size_t len, struct err *err);
int evidence_log_finish(struct evidence_log *log, struct err *err); /* frees log */

/* 0; 1: no such file. */
int evidence_read(struct evidence *evidence, const char *path, size_t max_bytes, struct str *ret,
                  struct err *err);

#endif
