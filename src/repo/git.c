/*
 * git.c - libgit2 started once, its errors made ours.
 *
 * Owns: process-wide options of libgit2. Must not switch owner validation off: repositories of
 * other users stay refused unless the operator's own safe.directory allows them. Thread rule:
 * git.h. Tests: tests/unit/test_repo_source.c
 */
#include "repo/git.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
    git_libgit2_init();
    git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    /* These change neither objects nor refs, and nothing else of a repository is ever read. */
    static const char *const harmless[] = {"worktreeconfig", "preciousobjects",
                                           "relativeworktrees"};
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, harmless, ARRAY_LEN(harmless));
    for (int level = GIT_CONFIG_LEVEL_PROGRAMDATA; level <= GIT_CONFIG_LEVEL_GLOBAL; level++) {
        git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
    }
}

void git_start(void)
{
    pthread_once(&once, start);
}

/* libgit2 sets errno to 0 once its message has it; what is left is that the system refused. What
 * is merely not there is told apart, mostly as another class. */
bool git_failed_of_host(void)
{
    int why = errno;
    const git_error *last = git_error_last();
    bool is_of_system = why == 0 || err_sys_kind(why) == ERR_TRANSIENT;
    return last &&
           (last->klass == GIT_ERROR_NOMEMORY || (last->klass == GIT_ERROR_OS && is_of_system));
}

int git_fail(struct err *err, enum err_kind kind, const char *name, const char *fmt, ...)
{
    bool is_of_host = git_failed_of_host(); /* first: it asks errno */
    const git_error *last = git_error_last();
    struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    if (last && last->message) {
        str_addf(&text, ": %s", last->message);
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < 0x20) {
            text.ptr[i] = ' ';
        }
    }
    if (is_of_host) {
        kind = ERR_TRANSIENT;
    }
    int rc = err_set(err, kind, name, "%s", str_c(&text));
    str_free(&text);
    return rc;
}

void git_hex(char out[OBJECT_HEX_BYTES], const git_oid *id)
{
    git_oid_tostr(out, OBJECT_HEX_BYTES, id);
}

int git_id(const char *hex, git_oid *ret, struct err *err)
{
    git_oid id;
    if (!hex || strlen(hex) != GIT_OID_HEXSZ || git_oid_fromstr(&id, hex) < 0) {
        return err_set(err, ERR_PERMANENT, "ObjectIdBad", "not a full object id: \"%.60s\"",
                       hex ? hex : "");
    }
    *ret = id;
    return 0;
}

int git_use_no_config(git_repository *repo, struct err *err)
{
    autogit(git_config) git_config *none = NULL;
    if (git_config_new(&none) < 0 || git_repository_set_config(repo, none) < 0) {
        return git_fail(err, ERR_PERMANENT, "GitFailed", "cannot set an empty configuration");
    }
    return 0;
}
