/*
 * credential.h - the operator's credentials, offered to a remote once each.
 *
 * Owns: a copy of what source_remote names, the netrc lookup, and libgit2's credential callback.
 * Must not: ask anybody, log or show a secret. Secrets are wiped when freed. Thread rule: one
 * fetch, one thread.
 */
#ifndef REPO_CREDENTIAL_H
#define REPO_CREDENTIAL_H

#include <git2.h>

#include "repo/source.h"

struct credential {
    char *ssh_user;
    char *ssh_key_file;
    char *ssh_passphrase;
    char *http_user;
    char *http_password;
    char *netrc_file;
    bool key_tried;
    bool agent_tried;
    bool password_tried;
    bool asked;   /* the remote wanted something */
    bool offered; /* and we had something */
};
void credential_copy(struct credential *ret, const struct source_remote *remote);
void credential_free(struct credential *credential);
/* git_credential_acquire_cb; user is a struct credential. GIT_EAUTH when all has been tried. */
int credential_acquire(git_credential **ret, const char *url, const char *username,
                       unsigned allowed, void *user);
/* Find host's entry in netrc text. false: none. Caller frees both. */
bool credential_netrc(const char *text, const char *host, char **ret_user, char **ret_password);

#endif
