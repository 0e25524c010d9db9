/*
 * url.h - which repositories and revisions may be named at all (policy; no I/O).
 *
 * Owns: the remote URL syntax, the allowlist's prefix match, the revision syntax. Must not: open a
 * socket or a repository. Pure functions, any thread. Errors read "rejected by policy: ..." and are
 * permanent.
 */
#ifndef REPO_URL_H
#define REPO_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define REVISION_MAX_BYTES 256
#define REPO_URL_MAX_BYTES 2048

/* https, ssh or git; a host; no user info, query or fragment; a clean path (no "", "." or ".."
 * component, no backslash, NUL, CR, LF or TAB). <0 (name "RepositoryRejected") otherwise. */
int repo_url_check(const char *url, struct err *err);

/* 0 when url passes repo_url_check and one of the count prefixes in allow covers it; <0 (name
 * "RepositoryRejected") otherwise. An empty list rejects everything. */
int repo_url_allowed(const char *url, const char *const *allow, size_t count, struct err *err);

/* Prefix covers url: same scheme and host (letters' case does not matter), same effective port
 * (https 443, ssh 22, git 9418), and prefix's path is empty, equal, or a whole-segment ancestor:
 * ".../service" does not cover ".../service-private". false when either is not a clean URL. */
bool repo_url_covers(const char *prefix, const char *url);

/* A revision is not blank, does not begin with "-", has no NUL, CR or LF and at most
 * REVISION_MAX_BYTES bytes. <0 (name "RevisionRejected") otherwise. */
int revision_check(const char *revision, struct err *err);

#endif
