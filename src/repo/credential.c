/*
 * credential.c - the operator's credentials, offered to a remote once each.
 *
 * Owns and must not: see credential.h. Order for ssh: key file, then agent. For https: the
 * configured pair, else netrc. Tests: tests/unit/test_repo_mirror.c
 */
#include "repo/credential.h"

#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "base/mem.h"

#define NETRC_MAX_BYTES (64 * 1024)

static void wipe(char **secret)
{
    if (*secret) {
        explicit_bzero(*secret, strlen(*secret));
    }
    free(*secret);
    *secret = NULL;
}

void credential_copy(struct credential *ret, const struct source_remote *remote)
{
    *ret = (struct credential){
        .ssh_user = mem_strdup(remote->ssh_user ? remote->ssh_user : "git"),
        .ssh_key_file = mem_strdup(remote->ssh_key_file),
        .ssh_passphrase = mem_strdup(remote->ssh_passphrase),
        .http_user = mem_strdup(remote->http_user),
        .http_password = mem_strdup(remote->http_password),
        .netrc_file = mem_strdup(remote->netrc_file),
    };
}

void credential_free(struct credential *credential)
{
    free(credential->ssh_user);
    free(credential->ssh_key_file);
    free(credential->http_user);
    free(credential->netrc_file);
    wipe(&credential->ssh_passphrase);
    wipe(&credential->http_password);
    *credential = (struct credential){0};
}

/* Next word of a netrc text at *p, behind white space and comments; len 0 at the end. */
static size_t next_word(const char **p)
{
    *p += strspn(*p, " \t\r\n");
    while (**p == '#') {
        *p += strcspn(*p, "\n");
        *p += strspn(*p, " \t\r\n");
    }
    return strcspn(*p, " \t\r\n");
}

static bool word_is(const char *p, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(p, word, len) == 0;
}

bool credential_netrc(const char *text, const char *host, char **ret_user, char **ret_password)
{
    bool here = false;
    char *user = NULL;
    char *password = NULL;
    for (const char *p = text;;) {
        size_t len = next_word(&p);
        bool machine = word_is(p, len, "machine");
        bool fallback = word_is(p, len, "default");
        if (len == 0 || ((machine || fallback) && here)) {
            break;
        }
        bool login = word_is(p, len, "login");
        bool secret = word_is(p, len, "password");
        p += len;
        if (fallback) {
            here = true;
            continue;
        }
        if (!machine && !login && !secret) {
            continue;
        }
        len = next_word(&p);
        if (machine) {
            here = strlen(host) == len && strncasecmp(p, host, len) == 0;
        } else if (here && login) {
            free(user);
            user = mem_strndup(p, len);
        } else if (here) {
            wipe(&password);
            password = mem_strndup(p, len);
        }
        p += len;
    }
    if (!password) {
        free(user);
        return false;
    }
    *ret_user = user ? user : mem_strdup("");
    *ret_password = password;
    return true;
}

static char *url_host(const char *url)
{
    const char *start = strstr(url, "://");
    start = start ? start + 3 : url;
    return mem_strndup(start, strcspn(start, ":/"));
}

static int offer_password(git_credential **ret, struct credential *c, const char *url)
{
    if (c->password_tried) {
        return GIT_EAUTH;
    }
    c->password_tried = true;
    if (c->http_password) {
        c->offered = true;
        return git_credential_userpass_plaintext_new(ret, c->http_user ? c->http_user : "",
                                                     c->http_password);
    }
    autostr struct str text = {0};
    if (!c->netrc_file || fs_read_file(c->netrc_file, NETRC_MAX_BYTES, &text, NULL) < 0) {
        return GIT_EAUTH;
    }
    autofree char *host = url_host(url);
    autofree char *user = NULL;
    char *password = NULL;
    int rc = GIT_EAUTH;
    if (credential_netrc(str_c(&text), host, &user, &password)) {
        c->offered = true;
        rc = git_credential_userpass_plaintext_new(ret, user, password);
    }
    wipe(&password);
    if (text.len) {
        explicit_bzero(text.ptr, text.len);
    }
    return rc;
}

static int offer_key(git_credential **ret, struct credential *c, const char *user)
{
    if (c->ssh_key_file && !c->key_tried) {
        c->key_tried = true;
        c->offered = true;
        return git_credential_ssh_key_new(ret, user, NULL, c->ssh_key_file, c->ssh_passphrase);
    }
    if (!c->agent_tried && getenv("SSH_AUTH_SOCK")) {
        c->agent_tried = true;
        c->offered = true;
        return git_credential_ssh_key_from_agent(ret, user);
    }
    return GIT_EAUTH;
}

int credential_acquire(git_credential **ret, const char *url, const char *username,
                       unsigned allowed, void *user)
{
    struct credential *c = user;
    c->asked = true;
    if (allowed & GIT_CREDENTIAL_USERNAME) {
        return git_credential_username_new(ret, c->ssh_user);
    }
    if (allowed & GIT_CREDENTIAL_SSH_KEY) {
        return offer_key(ret, c, username ? username : c->ssh_user);
    }
    if (allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) {
        return offer_password(ret, c, url);
    }
    return GIT_EAUTH;
}
