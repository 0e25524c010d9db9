/*
 * mirror.c - the local copy of a remote repository.
 *
 * Owns: creation, lock and fetch of mirrors (layout: mirror.h). Must not: follow redirects to
 * another host or from https to http (libgit2 refuses these, but follows within one host), read
 * anybody's git configuration (insteadOf would leave the allowlist, too), prompt.
 *
 * libgit2 cannot be interrupted while it waits for the network. So the fetch runs on a thread of
 * its own with a job that both sides hold; the caller leaves at the deadline or when cancelled, and
 * the thread, which owns everything it touches (also the lock), ends whenever the network lets it.
 *
 * Tests: tests/unit/test_repo_mirror.c
 */
#include "repo/mirror.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "repo/credential.h"
#include "repo/git.h"

#define TIMEOUT_DEFAULT_MS (10 * 60 * 1000)
#define POLL_MS 10
#define LOCK_POLL_MS 50
#define SWEEP_DEPTH_MAX 64

struct mirror {
    char *url;
    char *dir;
    char *lock;
    struct credential credential;
    int64_t timeout_ms;
    const atomic_bool *cancel;
};

struct job {
    atomic_int holders; /* caller and thread; the last one frees */
    atomic_bool stop;   /* the caller has left */
    pthread_mutex_t mutex;
    bool done; /* under mutex, with rc and err */
    int rc;
    struct err err;
    char *url;
    char *dir;
    char *lock;
    char *wanted;
    struct credential credential;
};

static void job_leave(struct job *job)
{
    if (atomic_fetch_sub(&job->holders, 1) != 1) {
        return;
    }
    credential_free(&job->credential);
    pthread_mutex_destroy(&job->mutex);
    free(job->url);
    free(job->dir);
    free(job->lock);
    free(job->wanted);
    free(job);
}

/* --- creation --- */

static int create(const char *dir, const char *url, struct err *err)
{
    char suffix[17];
    rng_hex(suffix, 8);
    autofree char *temp = mem_printf("%s.new-%s", dir, suffix);
    autogit(git_repository) git_repository *repo = NULL;
    git_repository_init_options options = GIT_REPOSITORY_INIT_OPTIONS_INIT;
    options.flags =
        GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT | GIT_REPOSITORY_INIT_MKDIR;
    options.mode = 0700;
    options.initial_head = "main";
    if (git_repository_init_ext(&repo, temp, &options) < 0) {
        int rc = git_fail(err, ERR_TRANSIENT, "MirrorFailed", "cannot create the mirror %s", dir);
        fs_remove_tree(temp, NULL);
        return rc;
    }
    autofree char *note = fs_join(temp, "factory-url");
    autofree char *line = mem_printf("%s\n", url);
    int rc = fs_write_file(note, line, strlen(line), 0600, err);
    if (rc == 0 && rename(temp, dir) < 0 && !((errno == ENOTEMPTY || errno == EEXIST))) {
        rc = err_sys(err, errno, "MirrorFailed", "cannot create the mirror %s", dir);
    }
    fs_remove_tree(temp, NULL);
    return rc;
}

int mirror_open(const char *url, const struct source_remote *remote, struct mirror **ret,
                struct err *err)
{
    char hex[SHA256_HEX_BYTES];
    git_start();
    if (!remote || !remote->mirror_dir) {
        return err_set(err, ERR_PERMANENT, "MirrorFailed", "no mirror directory is given");
    }
    int rc = fs_mkdirs(remote->mirror_dir, 0700, err);
    if (rc < 0) {
        return rc;
    }
    sha256_hex(url, strlen(url), hex);
    autofree char *dir = mem_printf("%s/%.32s.git", remote->mirror_dir, hex);
    autofree char *head = fs_join(dir, "HEAD");
    if (!fs_exists(head)) {
        rc = create(dir, url, err);
        if (rc < 0) {
            return rc;
        }
    }
    struct mirror *mirror = mem_alloc(sizeof(*mirror));
    mirror->url = mem_strdup(url);
    mirror->lock = mem_printf("%s/%.32s.lock", remote->mirror_dir, hex);
    mirror->dir = steal(&dir);
    credential_copy(&mirror->credential, remote);
    mirror->timeout_ms = remote->timeout_ms > 0 ? remote->timeout_ms : TIMEOUT_DEFAULT_MS;
    mirror->cancel = remote->cancel;
    *ret = mirror;
    return 0;
}

struct mirror *mirror_free(struct mirror *mirror)
{
    if (mirror) {
        credential_free(&mirror->credential);
        free(mirror->url);
        free(mirror->dir);
        free(mirror->lock);
        free(mirror);
    }
    return NULL;
}

const char *mirror_dir(const struct mirror *mirror)
{
    return mirror->dir;
}

/* --- the fetch, on its own thread --- */

/* Remove what a killed fetch left: with the lock held, every *.lock and temporary pack is stale. */
static void sweep(const char *dir, unsigned depth)
{
    DIR *listing = opendir(dir);
    if (!listing) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(listing));) {
        const char *name = entry->d_name;
        if (str_eq(name, ".") || str_eq(name, "..")) {
            continue;
        }
        autofree char *path = fs_join(dir, name);
        if (entry->d_type == DT_DIR && depth < SWEEP_DEPTH_MAX) {
            sweep(path, depth + 1);
        } else if (str_ends(name, ".lock") || str_starts(name, "pack_git2_") ||
                   str_starts(name, "tmp_object_git2_")) {
            unlink(path);
        }
    }
    closedir(listing);
}

static int take_lock(struct job *job, int *ret_fd, struct err *err)
{
    int fd = open(job->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_sys(err, errno, "MirrorFailed", "cannot open %s", job->lock);
    }
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int errnum = errno;
        if ((errnum != EWOULDBLOCK && errnum != EINTR) || atomic_load(&job->stop)) {
            close(fd);
            return err_sys(err, errnum, "MirrorFailed", "cannot lock %s", job->lock);
        }
        clock_sleep_ms(LOCK_POLL_MS);
    }
    *ret_fd = fd;
    return 0;
}

static int on_progress(const git_indexer_progress *stats, void *user)
{
    (void)stats;
    return atomic_load(&((struct job *)user)->stop) ? -1 : 0;
}

static int on_sideband(const char *text, int len, void *user)
{
    (void)text;
    (void)len;
    return atomic_load(&((struct job *)user)->stop) ? -1 : 0;
}

static int on_credential(git_credential **ret, const char *url, const char *username,
                         unsigned allowed, void *user)
{
    return credential_acquire(ret, url, username, allowed, &((struct job *)user)->credential);
}

static int fetch_failed(struct job *job, int rc, struct err *err)
{
    const struct credential *c = &job->credential;
    if (rc == GIT_EAUTH) {
        return err_set(err, ERR_PERMANENT, "FetchRefused",
                       c->offered ? "%s refuses the credentials that are configured for it"
                                  : "%s asks for credentials and none are configured for it",
                       job->url);
    }
    if (rc == GIT_ECERTIFICATE) {
        return git_fail(err, ERR_PERMANENT, "FetchRefused",
                        "the host of %s is not who it should be (certificate or known_hosts)",
                        job->url);
    }
    if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC) {
        return git_fail(err, ERR_PERMANENT, "FetchRefused", "cannot fetch %s", job->url);
    }
    return git_fail(err, ERR_TRANSIENT, "FetchFailed", "cannot fetch %s", job->url);
}

/* The remote's default branch becomes the mirror's HEAD. */
static void follow_head(git_repository *repo, git_remote *remote)
{
    autogitbuf git_buf name = {0};
    autogit(git_reference) git_reference *head = NULL;
    if (git_remote_default_branch(&name, remote) == 0) {
        git_reference_symbolic_create(&head, repo, "HEAD", name.ptr, 1, NULL);
    }
}

/* Download, prune, update, in this order: a branch may have become a directory of branches. */
static int fetch_refs(struct job *job, git_repository *repo, git_strarray specs, bool prune)
{
    autogit(git_remote) git_remote *remote = NULL;
    git_remote_create_options create = GIT_REMOTE_CREATE_OPTIONS_INIT;
    create.repository = repo;
    create.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF | GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
    git_fetch_options options = GIT_FETCH_OPTIONS_INIT;
    options.callbacks.credentials = on_credential;
    options.callbacks.transfer_progress = on_progress;
    options.callbacks.sideband_progress = on_sideband;
    options.callbacks.payload = job;
    options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
    options.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
    options.proxy_opts.type = GIT_PROXY_AUTO;
    int rc = git_remote_create_with_opts(&remote, job->url, &create);
    if (rc == 0) {
        rc = git_remote_download(remote, &specs, &options);
    }
    if (rc == 0 && prune) {
        rc = git_remote_prune(remote, &options.callbacks);
    }
    if (rc == 0) {
        rc = git_remote_update_tips(remote, &options.callbacks, 0, GIT_REMOTE_DOWNLOAD_TAGS_NONE,
                                    NULL);
    }
    if (rc == 0 && prune) {
        follow_head(repo, remote);
    }
    if (remote) {
        git_remote_disconnect(remote);
    }
    return rc;
}

static bool has_object(git_repository *repo, const char *hex)
{
    autogit(git_odb) git_odb *odb = NULL;
    git_oid id;
    return git_id(hex, &id, NULL) == 0 && git_repository_odb(&odb, repo) == 0 &&
           git_odb_exists(odb, &id);
}

static int fetch(struct job *job, struct err *err)
{
    char heads[] = "+refs/heads/*:refs/heads/*";
    char tags[] = "+refs/tags/*:refs/tags/*";
    char *all[] = {heads, tags};
    autogit(git_repository) git_repository *repo = NULL;
    if (git_repository_open_bare(&repo, job->dir) < 0) {
        return git_fail(err, ERR_PERMANENT, "MirrorFailed", "cannot open the mirror %s", job->dir);
    }
    int rc = git_use_no_config(repo, err);
    if (rc < 0) {
        return rc;
    }
    sweep(job->dir, 0);
    rc = fetch_refs(job, repo, (git_strarray){all, 2}, true);
    if (rc < 0) {
        return fetch_failed(job, rc, err);
    }
    if (job->wanted && !has_object(repo, job->wanted)) {
        autofree char *spec = mem_printf("%s:refs/factory/%s", job->wanted, job->wanted);
        char *one[] = {spec};
        job->credential.key_tried = job->credential.agent_tried = false;
        job->credential.password_tried = false;
        rc = fetch_refs(job, repo, (git_strarray){one, 1}, false);
        return rc < 0 || !has_object(repo, job->wanted) ? 1 : 0;
    }
    return 0;
}

static void *fetch_thread(void *user)
{
    struct job *job = user;
    struct err err = {0};
    autoclose int lock = -1;
    /* libgit2 sends without MSG_NOSIGNAL: a remote that hangs up must not end the process. */
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    int rc = take_lock(job, &lock, &err);
    if (rc == 0) {
        rc = fetch(job, &err);
    }
    pthread_mutex_lock(&job->mutex);
    job->done = true;
    job->rc = rc;
    job->err = err;
    pthread_mutex_unlock(&job->mutex);
    job_leave(job);
    return NULL;
}

/* --- the caller --- */

static int wait_for(struct mirror *mirror, struct job *job, struct err *err)
{
    int64_t deadline = clock_mono_ns() + mirror->timeout_ms * NS_PER_MS;
    for (;;) {
        pthread_mutex_lock(&job->mutex);
        bool done = job->done;
        int rc = job->rc;
        if (done && rc < 0 && err) {
            *err = job->err;
        }
        pthread_mutex_unlock(&job->mutex);
        if (done) {
            return rc;
        }
        if (mirror->cancel && atomic_load(mirror->cancel)) {
            return err_set(err, ERR_CANCELLED, "Cancelled", "the fetch of %s was cancelled",
                           mirror->url);
        }
        if (clock_mono_ns() >= deadline) {
            return err_set(err, ERR_TRANSIENT, "FetchTimedOut", "the fetch of %s took too long",
                           mirror->url);
        }
        clock_sleep_ms(POLL_MS);
    }
}

int mirror_fetch(struct mirror *mirror, const char *wanted, struct err *err)
{
    struct source_remote copy = {
        .ssh_user = mirror->credential.ssh_user,
        .ssh_key_file = mirror->credential.ssh_key_file,
        .ssh_passphrase = mirror->credential.ssh_passphrase,
        .http_user = mirror->credential.http_user,
        .http_password = mirror->credential.http_password,
        .netrc_file = mirror->credential.netrc_file,
    };
    struct job *job = mem_alloc(sizeof(*job));
    atomic_init(&job->holders, 2);
    atomic_init(&job->stop, false);
    pthread_mutex_init(&job->mutex, NULL);
    job->url = mem_strdup(mirror->url);
    job->dir = mem_strdup(mirror->dir);
    job->lock = mem_strdup(mirror->lock);
    job->wanted = mem_strdup(wanted);
    credential_copy(&job->credential, &copy);
    pthread_t thread;
    int errnum = pthread_create(&thread, NULL, fetch_thread, job);
    if (errnum) {
        atomic_store(&job->holders, 1);
        job_leave(job);
        return err_sys(err, errnum, "MirrorFailed", "cannot start a thread for the fetch of %s",
                       mirror->url);
    }
    pthread_detach(thread);
    int rc = wait_for(mirror, job, err);
    atomic_store(&job->stop, true);
    job_leave(job);
    return rc;
}
