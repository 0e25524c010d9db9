/*
 * source.c - opening a repository and saying exactly why not.
 *
 * Owns: local opening with its diagnosis, the mirror's opening. Must not honour the repository's
 * configuration: it is read for two facts (object format, promisor remotes), then replaced by an
 * empty one. Thread rule: source.h. Tests: tests/unit/test_repo_source.c
 */
#include "repo/source.h"

#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "repo/git.h"
#include "repo/mirror.h"

/* The directory that holds the repository proper, or NULL: path/.git, what path/.git names, or path
 * itself. Caller frees. */
static char *find_git_dir(const char *path)
{
    autofree char *dot = fs_join(path, ".git");
    autofree char *head = fs_join(path, "HEAD");
    autofree char *objects = fs_join(path, "objects");
    if (fs_is_dir(dot)) {
        return steal(&dot);
    }
    autostr struct str text = {0};
    if (fs_exists(dot) && fs_read_file(dot, 8192, &text, NULL) == 0 &&
        str_starts(str_c(&text), "gitdir: ")) {
        size_t len = strcspn(text.ptr + 8, "\r\n");
        autofree char *target = mem_strndup(text.ptr + 8, len);
        return target[0] == '/' ? steal(&target) : fs_join(path, target);
    }
    return fs_exists(head) && fs_is_dir(objects) ? mem_strdup(path) : NULL;
}

/* Where a linked worktree keeps what is common; else git_dir itself. Caller frees. */
static char *find_common_dir(const char *git_dir)
{
    autofree char *file = fs_join(git_dir, "commondir");
    autostr struct str text = {0};
    if (!fs_exists(file) || fs_read_file(file, 8192, &text, NULL) < 0) {
        return mem_strdup(git_dir);
    }
    autofree char *target = mem_strndup(str_c(&text), strcspn(str_c(&text), "\r\n"));
    return target[0] == '/' ? steal(&target) : fs_join(git_dir, target);
}

static int refuse_owner(const char *path, uid_t owner, struct err *err)
{
    char buffer[2048];
    struct passwd entry;
    struct passwd *found = NULL;
    getpwuid_r(owner, &entry, buffer, sizeof(buffer), &found);
    return err_set(
        err, ERR_PERMANENT, "SourceOwner",
        "repository %s belongs to another user (%s, uid %u; this is uid %u): run as that "
        "user, or trust it: git config --global --add safe.directory %s",
        path, found ? found->pw_name : "unknown", (unsigned)owner, (unsigned)geteuid(), path);
}

/* Is it the owner? Then <0 with err filled; 0: no. */
static int check_owner(const char *path, const char *git_dir, struct err *err)
{
    const char *places[] = {path, git_dir};
    struct stat st;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (stat(places[i], &st) == 0 && st.st_uid != geteuid()) {
            return refuse_owner(path, st.st_uid, err);
        }
    }
    return 0;
}

/* Does this one file of the operator's list path under safe.directory? An empty value forgets what
 * came before, "*" lists everything. */
static void read_safe(const char *file, const char *path, bool *safe)
{
    autogit(git_config) git_config *config = NULL;
    git_config_iterator *iterator = NULL;
    git_config_entry *entry = NULL;
    if (!fs_exists(file) || git_config_open_ondisk(&config, file) < 0 ||
        git_config_iterator_new(&iterator, config) < 0) {
        return;
    }
    while (git_config_next(&entry, iterator) == 0) {
        if (str_eq(entry->name, "safe.directory")) {
            bool listed = str_eq(entry->value, path) || str_eq(entry->value, "*");
            *safe = entry->value[0] != '\0' && (*safe || listed);
        }
    }
    git_config_iterator_free(iterator);
}

/* The operator's own files only, in git's order; never the repository's. */
static bool is_safe_directory(const char *path)
{
    const char *home = getenv("HOME");
    const char *xdg = getenv("XDG_CONFIG_HOME");
    bool safe = false;
    read_safe("/etc/gitconfig", path, &safe);
    if (xdg || home) {
        autofree char *file = xdg && xdg[0] ? mem_printf("%s/git/config", xdg)
                                            : mem_printf("%s/.config/git/config", home ? home : "");
        read_safe(file, path, &safe);
    }
    if (home) {
        autofree char *file = mem_printf("%s/.gitconfig", home);
        read_safe(file, path, &safe);
    }
    return safe;
}

/* libgit2's owner validation is one switch for the process. It is off only inside this lock, which
 * every opening of a local source holds, and only for a repository that the operator has listed.
 * (Stores and mirrors, which open without the lock, are our own.) */
static pthread_mutex_t validation_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_repository(struct source *source)
{
    const unsigned flags = GIT_REPOSITORY_OPEN_NO_SEARCH;
    autofree char *git_dir = find_git_dir(source->name);
    pthread_mutex_lock(&validation_lock);
    int rc = git_repository_open_ext(&source->repo, source->name, flags, NULL);
    if (rc < 0 && git_dir && check_owner(source->name, git_dir, NULL) < 0 &&
        is_safe_directory(source->name)) {
        git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
        rc = git_repository_open_ext(&source->repo, source->name, flags, NULL);
        git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1);
    }
    pthread_mutex_unlock(&validation_lock);
    return rc;
}

static bool is_known_extension(const char *name)
{
    static const char *const known[] = {"noop",           "partialclone",    "objectformat",
                                        "worktreeconfig", "preciousobjects", "relativeworktrees"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(name + strlen("extensions."), known[i])) {
            return true;
        }
    }
    return false;
}

/* Is it the format? Then <0 with err filled; 0: no. */
static int check_format(const char *path, const char *git_dir, struct err *err)
{
    autofree char *common = find_common_dir(git_dir);
    autofree char *file = fs_join(common, "config");
    autogit(git_config) git_config *config = NULL;
    git_config_iterator *iterator = NULL;
    git_config_entry *entry = NULL;
    int rc = 0;
    if (git_config_open_ondisk(&config, file) < 0 ||
        git_config_iterator_new(&iterator, config) < 0) {
        return 0;
    }
    while (rc == 0 && git_config_next(&entry, iterator) == 0) {
        if (!str_starts(entry->name, "extensions.")) {
            continue;
        }
        if (str_eq(entry->name, "extensions.objectformat") && !str_eq(entry->value, "sha1")) {
            rc = err_set(err, ERR_PERMANENT, "SourceUnsupported",
                         "repository %s has the object format %.20s; only sha1 is supported: clone "
                         "it into a sha1 repository",
                         path, entry->value);
        } else if (!is_known_extension(entry->name)) {
            rc = err_set(
                err, ERR_PERMANENT, "SourceUnsupported",
                "repository %s uses %.60s, which is not supported: give a plain clone of it", path,
                entry->name);
        }
    }
    git_config_iterator_free(iterator);
    return rc;
}

static int explain(const char *path, struct err *err)
{
    autofree char *git_dir = find_git_dir(path);
    if (git_dir) {
        int rc = check_owner(path, git_dir, err);
        if (rc == 0) {
            rc = check_format(path, git_dir, err);
        }
        return rc < 0 ? rc
                      : git_fail(err, ERR_PERMANENT, "SourceUnsupported",
                                 "repository %s cannot be opened", path);
    }
    for (char *up = fs_dirname(path);;) {
        autofree char *here = up;
        autofree char *above = find_git_dir(here);
        if (above) {
            return err_set(err, ERR_PERMANENT, "SourceNotRepository",
                           "%s is inside the repository %s: give the top, --local-path %s", path,
                           here, here);
        }
        if (str_eq(here, "/") || str_eq(here, ".")) {
            return err_set(err, ERR_PERMANENT, "SourceNotRepository",
                           "%s is not a git repository: give the top of a work tree or a bare "
                           "repository",
                           path);
        }
        up = fs_dirname(here);
    }
}

/* Objects may be missing by design. */
static bool is_partial(git_repository *repo)
{
    autogit(git_config) git_config *config = NULL;
    git_config_iterator *iterator = NULL;
    git_config_entry *entry = NULL;
    bool partial = false;
    if (git_repository_config_snapshot(&config, repo) < 0 ||
        git_config_iterator_new(&iterator, config) < 0) {
        return false;
    }
    while (git_config_next(&entry, iterator) == 0) {
        bool promisor = str_starts(entry->name, "remote.") && str_ends(entry->name, ".promisor");
        partial = partial || promisor || str_eq(entry->name, "extensions.partialclone");
    }
    git_config_iterator_free(iterator);
    return partial;
}

static int finish(struct source *source, struct err *err)
{
    autofree char *shallow = fs_join(git_repository_commondir(source->repo), "shallow");
    struct stat st;
    source->shallow = stat(shallow, &st) == 0 && st.st_size > 0;
    source->partial = !source->remote && is_partial(source->repo);
    int rc = git_use_no_config(source->repo, err);
    if (rc == 0 && git_repository_odb(&source->odb, source->repo) < 0) {
        rc = git_fail(err, ERR_PERMANENT, "SourceUnsupported",
                      "the objects of repository %s cannot be opened", source->name);
    }
    return rc;
}

int source_open_local(const char *path, struct source **ret, struct err *err)
{
    git_start();
    autosource struct source *source = mem_alloc(sizeof(*source));
    struct err why = {0};
    if (fs_realpath(path, &source->name, &why) < 0) {
        return err_set(err, why.kind, "SourceNotFound", "no repository: %s", why.text);
    }
    if (!fs_is_dir(source->name)) {
        return err_set(err, ERR_PERMANENT, "SourceNotRepository", "%s is not a directory",
                       source->name);
    }
    if (open_repository(source) < 0) {
        return git_failed_of_host() ? git_fail(err, ERR_TRANSIENT, "GitFailed",
                                               "cannot open the repository %s", source->name)
                                    : explain(source->name, err);
    }
    int rc = finish(source, err);
    if (rc == 0) {
        *ret = steal(&source);
    }
    return rc;
}

int source_open_remote(const char *url, const struct source_remote *remote, struct source **ret,
                       struct err *err)
{
    git_start();
    autosource struct source *source = mem_alloc(sizeof(*source));
    source->name = mem_strdup(url);
    source->remote = true;
    int rc = repo_url_check(url, err);
    if (rc == 0) {
        rc = mirror_open(url, remote, &source->mirror, err);
    }
    if (rc == 0 && git_repository_open_bare(&source->repo, mirror_dir(source->mirror)) < 0) {
        rc = git_fail(err, ERR_PERMANENT, "MirrorFailed", "cannot open the mirror %s of %s",
                      mirror_dir(source->mirror), url);
    }
    if (rc == 0) {
        rc = finish(source, err);
    }
    if (rc == 0) {
        *ret = steal(&source);
    }
    return rc;
}

struct source *source_free(struct source *source)
{
    if (source) {
        git_odb_free(source->odb);
        git_repository_free(source->repo);
        mirror_free(source->mirror);
        free(source->name);
        free(source);
    }
    return NULL;
}

const char *source_name(const struct source *source)
{
    return source->name;
}

bool source_is_remote(const struct source *source)
{
    return source->remote;
}

bool source_is_shallow(const struct source *source)
{
    return source->shallow;
}
