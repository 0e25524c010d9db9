/*
 * store.c - the private object store of a run.
 *
 * Owns: a bare repository that this program made, at a path of its own. New objects gather in
 * memory and become one pack at store_flush (a loose, fsynced file each would cost 0.5 ms); large
 * blobs go to disk directly (import.c). Crash-safe: creation happens in a temporary directory that
 * is renamed; packs are written and renamed by libgit2 with fsync. Must not read anybody's
 * configuration. Thread rule: tree.h. Tests: tests/unit/test_repo_tree.c
 */
#include "repo/git.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "repo/list.h"
#include "repo/tree.h"

#define FLUSH_AT_BYTES (64u * 1024 * 1024)

/* The store's own configuration file, made by create(): objects are packed without looking for
 * deltas, which libgit2 needs ten times as long for and a scratch directory does not. */
static int use_own_config(git_repository *repo, const char *dir)
{
    autofree char *file = fs_join(dir, "config");
    autogit(git_config) git_config *config = NULL;
    int rc = git_config_open_ondisk(&config, file);
    return rc < 0 ? rc : git_repository_set_config(repo, config);
}

static int set_no_deltas(const char *dir)
{
    autofree char *file = fs_join(dir, "config");
    autogit(git_config) git_config *config = NULL;
    int rc = git_config_open_ondisk(&config, file);
    /* libgit2 1.5 reads the threshold from the wrong key; later ones from the right one. */
    rc = rc < 0 ? rc : git_config_set_int32(config, "pack.deltaCacheSize", 1);
    return rc < 0 ? rc : git_config_set_int32(config, "pack.bigFileThreshold", 1);
}

/* Nothing else in it than what reading needs: no hooks, no templates. */
static int create(const char *dir, struct err *err)
{
    char suffix[17];
    rng_hex(suffix, 8);
    autofree char *temp = mem_printf("%s.new-%s", dir, suffix);
    autofree char *parent = fs_dirname(dir);
    int rc = fs_mkdirs(parent, 0700, err);
    if (rc < 0) {
        return rc;
    }
    git_repository_init_options options = GIT_REPOSITORY_INIT_OPTIONS_INIT;
    options.flags =
        GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT | GIT_REPOSITORY_INIT_MKDIR;
    options.mode = 0700;
    options.initial_head = "factory-baseline";
    autogit(git_repository) git_repository *repo = NULL;
    if (git_repository_init_ext(&repo, temp, &options) < 0 || set_no_deltas(temp) < 0) {
        rc = git_fail(err, ERR_TRANSIENT, "StoreFailed", "cannot create the tree store %s", dir);
        fs_remove_tree(temp, NULL);
        return rc;
    }
    if (rename(temp, dir) < 0) {
        int errnum = errno;
        fs_remove_tree(temp, NULL);
        if ((errnum == ENOTEMPTY || errnum == EEXIST) && fs_is_dir(dir)) {
            return 0; /* somebody was faster */
        }
        return err_sys(err, errnum, "StoreFailed", "cannot create the tree store %s", dir);
    }
    return 0;
}

static int open_repo(struct tree_store *store, struct err *err)
{
    if (git_repository_open_ext(&store->repo, store->dir,
                                GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_BARE |
                                    GIT_REPOSITORY_OPEN_NO_DOTGIT,
                                NULL) < 0) {
        return git_fail(err, ERR_PERMANENT, "StoreFailed", "cannot open the tree store %s",
                        store->dir);
    }
    if (use_own_config(store->repo, store->dir) < 0 ||
        git_repository_odb(&store->odb, store->repo) < 0 || git_mempack_new(&store->memory) < 0) {
        return git_fail(err, ERR_PERMANENT, "StoreFailed", "cannot open the tree store %s",
                        store->dir);
    }
    if (git_odb_add_backend(store->odb, store->memory, 999) < 0) {
        store->memory->free(store->memory);
        store->memory = NULL;
        return git_fail(err, ERR_PERMANENT, "StoreFailed", "cannot open the tree store %s",
                        store->dir);
    }
    return 0;
}

int tree_store_open(const char *dir, struct tree_store **ret, struct err *err)
{
    git_start();
    autofree char *head = fs_join(dir, "HEAD");
    if (!fs_exists(head)) {
        int rc = create(dir, err);
        if (rc < 0) {
            return rc;
        }
    }
    autostore struct tree_store *store = mem_alloc(sizeof(*store));
    store->dir = mem_strdup(dir);
    int rc = open_repo(store, err);
    if (rc < 0) {
        return rc;
    }
    *ret = steal(&store);
    return 0;
}

struct tree_store *tree_store_free(struct tree_store *store)
{
    if (store) {
        git_odb_free(store->odb);
        git_repository_free(store->repo);
        free(store->pending);
        free(store->dir);
        free(store);
    }
    return NULL;
}

/* (git_mempack_dump would pack only what commits lead to.) */
static int pack_pending(struct tree_store *store, const char *packs)
{
    autogit(git_packbuilder) git_packbuilder *builder = NULL;
    if (git_packbuilder_new(&builder, store->repo) < 0) {
        return -1;
    }
    git_packbuilder_set_threads(builder, 1);
    for (size_t i = 0; i < store->pending_count; i++) {
        if (git_packbuilder_insert(builder, &store->pending[i], NULL) < 0) {
            return -1;
        }
    }
    return git_packbuilder_write(builder, packs, 0400, NULL, NULL);
}

int store_flush(struct tree_store *store, struct err *err)
{
    if (store->pending_count == 0) {
        return 0;
    }
    autofree char *packs = fs_join(store->dir, "objects/pack");
    int rc = fs_mkdirs(packs, 0700, err);
    if (rc < 0) {
        return rc;
    }
    if (pack_pending(store, packs) < 0) {
        return git_fail(err, ERR_TRANSIENT, "StoreFailed", "cannot write to the tree store %s",
                        store->dir);
    }
    git_mempack_reset(store->memory);
    git_odb_refresh(store->odb);
    store->pending_count = 0;
    store->pending_bytes = 0;
    return fs_fsync_dir(packs, err);
}

int store_write(struct tree_store *store, const void *bytes, size_t len, git_object_t type,
                git_oid *ret, struct err *err)
{
    if (git_odb_hash(ret, bytes, len, type) < 0) {
        return git_fail(err, ERR_PERMANENT, "StoreFailed", "cannot hash an object");
    }
    if (git_odb_exists_ext(store->odb, ret, GIT_ODB_LOOKUP_NO_REFRESH)) {
        return 0;
    }
    if (git_odb_write(ret, store->odb, bytes, len, type) < 0) {
        return git_fail(err, ERR_TRANSIENT, "StoreFailed", "cannot write to the tree store %s",
                        store->dir);
    }
    mem_reserve(store->pending, &store->pending_cap, store->pending_count + 1);
    store->pending[store->pending_count++] = *ret;
    store->pending_bytes += len;
    return store->pending_bytes > FLUSH_AT_BYTES ? store_flush(store, err) : 0;
}

int store_read(struct tree_store *store, const git_oid *id, git_object_t type, git_odb_object **ret,
               struct err *err)
{
    char hex[OBJECT_HEX_BYTES];
    git_hex(hex, id);
    git_odb_object *object = NULL;
    if (git_odb_read(&object, store->odb, id) < 0) {
        return git_fail(err, ERR_PERMANENT, "ObjectMissing", "object %s cannot be read", hex);
    }
    if (git_odb_object_type(object) != type) {
        git_odb_object_free(object);
        return err_set(err, ERR_PERMANENT, "ObjectIdBad", "object %s is not a %s", hex,
                       git_object_type2string(type));
    }
    *ret = object;
    return 0;
}

bool tree_store_has(struct tree_store *store, const char *object)
{
    git_oid id;
    return git_id(object, &id, NULL) == 0 && git_odb_exists(store->odb, &id);
}

/* Copy what is missing with one pack. */
static int copy_commit(struct tree_store *store, struct source *source, const git_oid *commit,
                       struct err *err)
{
    autogit(git_packbuilder) git_packbuilder *builder = NULL;
    autofree char *packs = fs_join(store->dir, "objects/pack");
    int rc = fs_mkdirs(packs, 0700, err);
    if (rc < 0) {
        return rc;
    }
    /* The builder reads its configuration once, now. */
    bool started = use_own_config(source->repo, store->dir) == 0 &&
                   git_packbuilder_new(&builder, source->repo) == 0;
    rc = started ? 0 : git_fail(err, ERR_PERMANENT, "StoreFailed", "cannot start a pack");
    if (git_use_no_config(source->repo, started ? err : NULL) < 0 || rc < 0) {
        return -1;
    }
    git_packbuilder_set_threads(builder, 1);
    if (git_packbuilder_insert_commit(builder, commit) < 0) {
        return git_fail(err, ERR_PERMANENT, "SourceIncomplete", "cannot read %s", source->name);
    }
    if (git_packbuilder_write(builder, packs, 0400, NULL, NULL) < 0) {
        return git_fail(err, ERR_TRANSIENT, "StoreFailed", "cannot write to the tree store %s",
                        store->dir);
    }
    git_odb_refresh(store->odb);
    return fs_fsync_dir(packs, err);
}

int tree_store_add(struct tree_store *store, struct source *source, const char *commit,
                   struct err *err)
{
    git_oid id;
    int rc = git_id(commit, &id, err);
    if (rc < 0) {
        return rc;
    }
    autogit(git_commit) git_commit *object = NULL;
    if (git_commit_lookup(&object, source->repo, &id) < 0) {
        return git_fail(err, ERR_PERMANENT, "RevisionNotCommit", "commit %s of %s cannot be read",
                        commit, source->name);
    }
    autolist struct list list = {0};
    rc = list_load(source->odb, git_commit_tree_id(object), &list, err);
    if (rc < 0) {
        return err_wrap(err, "%s", source->name);
    }
    bool complete =
        git_odb_exists(store->odb, &id) && git_odb_exists(store->odb, git_commit_tree_id(object));
    return complete ? 0 : copy_commit(store, source, &id, err);
}
