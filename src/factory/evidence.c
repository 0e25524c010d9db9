/*
 * evidence.c - see evidence.h. Owns the file operations; all are anchored at the run's directory.
 * Tests: tests/unit/test_factory_evidence.c
 */
#include "factory/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/redact.h"

#define DIR_MODE 0750
#define FILE_MODE 0640
#define SEALED_MODE 0600

struct evidence {
    char *run_id;
    char *dir;
    int dir_fd;
    uint64_t max_bytes;
    struct ledger *ledger;
};

bool run_id_is_good(const char *run_id)
{
    size_t len = run_id ? strlen(run_id) : 0;
    return len > 0 && len <= EVIDENCE_RUN_ID_BYTES_MAX && run_id[0] != '.' && run_id[0] != '-' &&
           strspn(run_id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               len;
}

int evidence_open(const char *runs_dir, const char *run_id, struct ledger *ledger,
                  uint64_t max_bytes, bool create, struct evidence **ret, struct err *err)
{
    if (!run_id_is_good(run_id)) {
        return err_set(err, ERR_PERMANENT, "BadRunId", "\"%.80s\" is not a run id",
                       run_id ? run_id : "");
    }
    autofree char *dir = fs_join(runs_dir, run_id);
    if (!create && !fs_is_dir(dir)) {
        return 1;
    }
    if (create && fs_mkdirs(dir, DIR_MODE, err) < 0) {
        return -1;
    }
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return err_sys(err, errno, "EvidenceDir", "cannot open %s", dir);
    }
    struct evidence *evidence = mem_alloc(sizeof(*evidence));
    evidence->run_id = mem_strdup(run_id);
    evidence->dir = steal(&dir);
    evidence->dir_fd = fd;
    evidence->max_bytes = max_bytes;
    evidence->ledger = ledger;
    *ret = evidence;
    return 0;
}

struct evidence *evidence_close(struct evidence *evidence)
{
    if (evidence) {
        close(evidence->dir_fd);
        free(evidence->run_id);
        free(evidence->dir);
        free(evidence);
    }
    return NULL;
}

const char *evidence_dir(const struct evidence *evidence)
{
    return evidence->dir;
}

/* Descriptor of the directory that path lies in, made as needed. */
static int open_parent(struct evidence *evidence, const char *path, int *ret_fd,
                       const char **ret_name, struct err *err)
{
    if (!fs_path_is_inside(path)) {
        return err_set(err, ERR_PERMANENT, "BadEvidencePath", "\"%s\" is not inside the run", path);
    }
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    autofree char *parent = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    autofree char *whole = fs_join(evidence->dir, *parent ? parent : ".");
    if (fs_mkdirs(whole, DIR_MODE, err) < 0) {
        return -1;
    }
    if (!*parent) {
        *ret_fd = dup(evidence->dir_fd);
        return *ret_fd < 0 ? err_sys(err, errno, "EvidenceDir", "cannot use %s", whole) : 0;
    }
    return fs_open_inside(evidence->dir_fd, parent, O_RDONLY | O_DIRECTORY, 0, ret_fd, err);
}

/* What is stored for these bytes. */
static int edit(enum evidence_kind kind, const void *bytes, size_t len, struct str *out,
                struct err *err)
{
    const struct json *root;
    autoarena struct arena *arena = arena_new();
    switch (kind) {
    case EVIDENCE_TEXT:
        redact_append(out, bytes, len);
        return 0;
    case EVIDENCE_JSON:
        if (json_parse(arena, bytes, len, &root, err) < 0) {
            return -1;
        }
        redact_json(out, root, 2);
        str_addc(out, '\n');
        return 0;
    case EVIDENCE_RAW:
    case EVIDENCE_SEALED:
        str_addn(out, bytes, len);
        return 0;
    }
    return 0;
}

/* A file of other content is there: keep it under earlier-attempts/. */
static int set_aside(struct evidence *evidence, const char *path, struct err *err)
{
    for (int n = 1; n < 1000; n++) {
        autofree char *kept = mem_printf("earlier-attempts/%d/%s", n, path);
        autofree char *target = fs_join(evidence->dir, kept);
        const char *name;
        autoclose int fd = -1;
        if (fs_exists(target)) {
            continue;
        }
        if (open_parent(evidence, kept, &fd, &name, err) < 0) {
            return -1;
        }
        if (renameat(evidence->dir_fd, path, fd, name) < 0) {
            return err_sys(err, errno, "EvidenceKeep", "cannot set %s aside", path);
        }
        return fsync(fd) < 0 ? err_sys(err, errno, "EvidenceKeep", "cannot sync %s", kept) : 0;
    }
    return err_set(err, ERR_PERMANENT, "EvidenceKeep", "%s was rewritten too often", path);
}

static int record(struct evidence *evidence, const char *path, const char *sha256, uint64_t bytes,
                  struct err *err)
{
    return evidence->ledger
               ? ledger_put_artifact(evidence->ledger, evidence->run_id, path, sha256, bytes, err)
               : 0;
}

int evidence_write(struct evidence *evidence, const char *path, enum evidence_kind kind,
                   const void *bytes, size_t len, char ret_sha256[SHA256_HEX_BYTES],
                   struct err *err)
{
    autostr struct str text = {0};
    char fresh[SHA256_HEX_BYTES], old[SHA256_HEX_BYTES];
    const char *name;
    autoclose int fd = -1;
    if (edit(kind, bytes, len, &text, err) < 0) {
        return err_wrap(err, "evidence %s", path);
    }
    if (text.len > evidence->max_bytes) {
        return err_set(err, ERR_PERMANENT, "EvidenceTooLarge",
                       "evidence %s would be %zu bytes; limits.artifact_bytes allows %llu", path,
                       text.len, (unsigned long long)evidence->max_bytes);
    }
    sha256_hex(str_c(&text), text.len, fresh);
    if (open_parent(evidence, path, &fd, &name, err) < 0) {
        return -1;
    }
    autofree char *whole = fs_join(evidence->dir, path);
    if (fs_exists(whole)) {
        if (sha256_file(whole, old, NULL, err) < 0) {
            return -1;
        }
        if (!str_eq(old, fresh) && set_aside(evidence, path, err) < 0) {
            return -1;
        }
    }
    if (!fs_exists(whole) &&
        fs_write_file_at(fd, name, str_c(&text), text.len,
                         kind == EVIDENCE_SEALED ? SEALED_MODE : FILE_MODE, 0, err) < 0) {
        return err_wrap(err, "evidence %s", path);
    }
    if (ret_sha256) {
        memcpy(ret_sha256, fresh, SHA256_HEX_BYTES);
    }
    return record(evidence, path, fresh, text.len, err);
}

int evidence_read(struct evidence *evidence, const char *path, size_t max_bytes, struct str *ret,
                  struct err *err)
{
    autofree char *whole = fs_join(evidence->dir, path);
    if (!fs_path_is_inside(path)) {
        return err_set(err, ERR_PERMANENT, "BadEvidencePath", "\"%s\" is not inside the run", path);
    }
    return fs_exists(whole) ? fs_read_file(whole, max_bytes, ret, err) : 1;
}

/* --- logs
 * ----------------------------------------------------------------------------------------- */

struct evidence_log {
    struct evidence *evidence;
    char *path;
    int fd;
    struct redact_stream scrub;
    struct sha256 *sha;
    uint64_t bytes;    /* in the file */
    uint64_t head_max; /* from here on only the tail is kept */
    size_t tail_max;
    struct str tail; /* what comes behind the head: its end at least, twice tail_max at most */
    uint64_t left_out;
};

int evidence_log_open(struct evidence *evidence, const char *path, struct evidence_log **ret,
                      struct err *err)
{
    const char *name;
    autoclose int dir = -1;
    if (open_parent(evidence, path, &dir, &name, err) < 0) {
        return -1;
    }
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        return err_sys(err, errno, "EvidenceLog", "cannot write %s", path);
    }
    struct evidence_log *log = mem_alloc(sizeof(*log));
    log->evidence = evidence;
    log->path = mem_strdup(path);
    log->fd = fd;
    log->sha = sha256_begin();
    uint64_t quarter = evidence->max_bytes / 4;
    log->tail_max = quarter < EVIDENCE_TAIL_BYTES ? (size_t)quarter : EVIDENCE_TAIL_BYTES;
    log->head_max = evidence->max_bytes - log->tail_max;
    *ret = log;
    return 0;
}

static int put(struct evidence_log *log, const void *bytes, size_t len, struct err *err)
{
    log->bytes += len;
    sha256_update(log->sha, bytes, len);
    return fs_write_all(log->fd, bytes, len, err);
}

static void keep_tail(struct evidence_log *log, const char *bytes, size_t len)
{
    str_addn(&log->tail, bytes, len);
    if (log->tail.len > 2 * log->tail_max) {
        size_t gone = log->tail.len - log->tail_max;
        log->left_out += gone;
        memmove(log->tail.ptr, log->tail.ptr + gone, log->tail_max);
        str_cut(&log->tail, log->tail_max);
    }
}

static int add(struct evidence_log *log, const struct str *text, struct err *err)
{
    uint64_t room = log->head_max - log->bytes;
    size_t len = text->len < room ? text->len : (size_t)room;
    if (len > 0 && put(log, str_c(text), len, err) < 0) {
        return -1;
    }
    keep_tail(log, str_c(text) + len, text->len - len);
    return 0;
}

/* What was held back: whole when it fits, else the note and the end. */
static int end_tail(struct evidence_log *log, struct err *err)
{
    size_t skip = log->tail.len > log->tail_max ? log->tail.len - log->tail_max : 0;
    log->left_out += skip;
    if (log->left_out > 0) {
        autostr struct str note = {0};
        str_addf(&note, "\n[factory: %llu bytes left out here]\n",
                 (unsigned long long)log->left_out);
        if (put(log, str_c(&note), note.len, err) < 0) {
            return -1;
        }
    }
    return put(log, str_c(&log->tail) + skip, log->tail.len - skip, err);
}

int evidence_log_add(struct evidence_log *log, const void *bytes, size_t len, struct err *err)
{
    autostr struct str text = {0};
    redact_stream_feed(&log->scrub, bytes, len, &text);
    return add(log, &text, err);
}

static int close_log(struct evidence_log *log, struct err *err)
{
    autostr struct str text = {0};
    uint8_t sum[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    redact_stream_end(&log->scrub, &text);
    int rc = add(log, &text, err) < 0 ? -1 : end_tail(log, err);
    if (rc == 0 && fsync(log->fd) < 0) {
        rc = err_sys(err, errno, "EvidenceLog", "cannot sync %s", log->path);
    }
    sha256_finish(log->sha, sum);
    hex_encode(sum, sizeof(sum), hex);
    return rc < 0 ? rc : record(log->evidence, log->path, hex, log->bytes, err);
}

int evidence_log_finish(struct evidence_log *log, struct err *err)
{
    if (!log) {
        return 0;
    }
    int rc = close_log(log, err);
    close(log->fd);
    redact_stream_free(&log->scrub);
    str_free(&log->tail);
    free(log->path);
    free(log);
    return rc;
}
