/*
 * source.h - a repository that tasks start from, and what a revision means in it.
 *
 * Owns: opening a local repository or a remote one through its mirror, and resolving a revision to
 * one commit. Must not: run git, execute or honour anything from the repository's own configuration
 * (hooks, filters, textconv, attributes, fsmonitor), ask for credentials, write to a local source.
 *
 *   local path ──────────────────────────────┐
 *   URL ──> mirror (bare, one per URL) ──────┴──> struct source ──> revision ──> tree_store
 * (tree.h)
 *
 * Local sources: the top of a work tree, a linked worktree, a bare repository; alternates, shallow
 * and partial clones are read as far as they have the objects asked for. Refused, with the reason
 * and the cure: a directory inside a repository, SHA-256 repositories, unknown extensions
 * (reftable), repositories owned by somebody else (unless the operator's own safe.directory allows
 * them).
 *
 * Thread rule: a source belongs to one thread at a time; different sources are independent, also
 * those of one mirror (a lock file serialises fetches, of other processes too).
 */
#ifndef REPO_SOURCE_H
#define REPO_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "repo/url.h"

#define OBJECT_HEX_BYTES 41 /* a full object id in hex and its NUL */

struct source; /* opaque */

/* How a remote is reached. A zeroed struct is valid: ssh-agent and anonymous https. */
struct source_remote {
    const char *mirror_dir;     /* required: directory of all mirrors; created 0700 when absent */
    const char *ssh_user;       /* NULL: "git" (URLs hold no user) */
    const char *ssh_key_file;   /* private key; NULL: ask ssh-agent only */
    const char *ssh_passphrase; /* of the key file; may be NULL */
    const char *http_user;      /* with http_password: sent when the server asks */
    const char *http_password;
    const char *netrc_file;    /* looked up by host when http_password is NULL; may be NULL */
    int64_t timeout_ms;        /* for one fetch including the wait for its lock; <= 0: 10 minutes */
    const atomic_bool *cancel; /* polled; true ends the fetch with ERR_CANCELLED; may be NULL */
};

/* Open the repository at path (absolute or relative, exactly its top). Names of errors:
 * "SourceNotFound", "SourceNotRepository", "SourceOwner", "SourceUnsupported". */
int source_open_local(const char *path, struct source **ret, struct err *err);

/* Open the mirror of url, creating an empty one when absent. Nothing is fetched yet. The caller has
 * checked repo_url_allowed(); the syntax is checked again here. */
int source_open_remote(const char *url, const struct source_remote *remote, struct source **ret,
                       struct err *err);
struct source *source_free(struct source *source); /* NULL fine; returns NULL */
static inline void source_cleanup_(struct source **source)
{
    *source = source_free(*source);
}
#define autosource cleanup_with(source_cleanup_)

const char *source_name(const struct source *source); /* URL, or absolute path; borrowed */
bool source_is_remote(const struct source *source);
bool source_is_shallow(const struct source *source); /* history is cut off somewhere */

enum revision_how { REVISION_BRANCH, REVISION_TAG, REVISION_COMMIT };
const char *revision_how_name(enum revision_how how); /* "branch", "tag", "commit" */

struct revision {
    enum revision_how how;
    char commit[OBJECT_HEX_BYTES];
    char tree[OBJECT_HEX_BYTES];
    char branch[REVISION_MAX_BYTES + 1]; /* short name when how is BRANCH, else "" */
    char tag[REVISION_MAX_BYTES + 1];    /* short name when how is TAG, else "" */
    int64_t commit_time_s;               /* committer's, seconds since 1970 */
    char author[256];                    /* "Name <address>", cut at a character boundary */
    char subject[256];                   /* first line of the message, cut likewise */
};

/* What revision names: a branch, a tag (annotated ones are peeled), HEAD, a full ref name, a remote
 * branch of a local clone ("origin/x", or "x" of origin when no local branch has that name), a full
 * commit id, or an abbreviated one of at least 4 digits. A full id always is a commit; otherwise
 * names win over abbreviations. Remotes: a full id that the mirror holds needs no network; anything
 * else fetches first, so that a moving branch is as it is now.
 * Checks that every object of the commit's tree is there. Names of errors: "RevisionRejected",
 * "RevisionNotFound" (text: rev "x": no such branch, tag or commit in Y), "RevisionAmbiguous",
 * "RevisionNotCommit", "SourceIncomplete"; for remotes "FetchFailed" (transient), "FetchRefused"
 * (permanent: credentials, host key, not found), "FetchTimedOut" (transient), "Cancelled". */
int source_resolve(struct source *source, const char *revision, struct revision *ret,
                   struct err *err);

#endif
