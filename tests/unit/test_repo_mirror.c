/*
 * test_repo_mirror.c - remotes through the mirror cache: git daemon on the loopback is the remote.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "lib/repo_lab.h"
#include "repo/credential.h"

static struct lab lab;
static char *repo;
static char *mirrors;
static char *url;
static pid_t daemon_pid;
static struct source_remote remote;

static int free_port(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&addr, &len) < 0) {
        return -1;
    }
    return ntohs(addr.sin_port);
}

static bool answers(int port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
}

static void start_daemon(void)
{
    int port = free_port();
    autofree char *base = mem_printf("--base-path=%s", lab.dir);
    autofree char *at = mem_printf("--port=%d", port);
    const char *argv[] = {"git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1", at,
                          base,  NULL};
    struct proc_spec spec = {.argv = argv, .stdout_fd = -1, .stderr_fd = -1, .new_session = true};
    struct err err = {0};
    cr_assert_eq(proc_spawn(&spec, &daemon_pid, &err), 0, "%s", err.text);
    for (int i = 0; i < 500 && !answers(port); i++) {
        clock_sleep_ms(20);
    }
    url = mem_printf("git://127.0.0.1:%d/repo", port);
}

static void commit(const char *message)
{
    lab_write(repo, "f", message, strlen(message));
    lab_must(&lab, repo, NULL, "add .");
    lab_must(&lab, repo, NULL, "commit -q -m %s", message);
}

static void setup(void)
{
    lab_open(&lab);
    repo = lab_path(&lab, "repo");
    mirrors = lab_path(&lab, "mirrors");
    remote = (struct source_remote){.mirror_dir = mirrors, .timeout_ms = 60000};
    if (lab_has_git()) {
        lab_must(&lab, NULL, NULL, "init -q -b main repo");
        commit("one");
        start_daemon();
    }
}

static void teardown(void)
{
    if (daemon_pid > 0) {
        int code;
        kill(-daemon_pid, SIGKILL);
        proc_wait(daemon_pid, 10000, &code, NULL);
    }
    free(repo);
    free(mirrors);
    free(url);
    lab_close(&lab);
}

TestSuite(repo_mirror, .init = setup, .fini = teardown, .timeout = 120);

#define NEED_DAEMON()                                                                              \
    do {                                                                                           \
        if (!lab_has_git()) {                                                                      \
            cr_skip_test("skip: install git");                                                     \
        }                                                                                          \
    } while (0)

static void resolves(const char *rev, const char *want_spec)
{
    struct err err = {0};
    struct revision got = {0};
    autostr struct str want = {0};
    autosource struct source *source = NULL;
    lab_must(&lab, repo, &want, "rev-parse %s^{commit}", want_spec);
    cr_assert_eq(source_open_remote(url, &remote, &source, &err), 0, "%s", err.text);
    cr_assert_eq(source_resolve(source, rev, &got, &err), 0, "%s: %s", err.name, err.text);
    cr_expect_str_eq(got.commit, str_c(&want), "%s", rev);
    cr_expect(source_is_remote(source));
}

static void fails(const char *where, const char *rev, const char *name)
{
    struct err err = {0};
    struct revision got = {0};
    autosource struct source *source = NULL;
    int rc = source_open_remote(where, &remote, &source, &err);
    if (rc == 0) {
        rc = source_resolve(source, rev, &got, &err);
    }
    cr_assert_lt(rc, 0);
    cr_expect_str_eq(err.name, name, "%s", err.text);
}

Test(repo_mirror, branches_are_as_they_are_now)
{
    NEED_DAEMON();
    resolves("main", "main");
    commit("two");
    lab_must(&lab, repo, NULL, "tag -a -m x v1");
    resolves("main", "main");
    resolves("v1", "v1");
    resolves("HEAD", "main");
    lab_must(&lab, repo, NULL, "branch topic HEAD~1");
    resolves("topic", "topic");
    /* a branch becomes a directory of branches, main is rewritten */
    lab_must(&lab, repo, NULL, "branch -D topic");
    lab_must(&lab, repo, NULL, "branch topic/sub");
    lab_must(&lab, repo, NULL, "commit -q --amend -m three");
    resolves("topic/sub", "topic/sub");
    resolves("main", "main");
    fails(url, "topic", "RevisionNotFound");
}

Test(repo_mirror, a_commit_that_the_mirror_holds_needs_no_network)
{
    autostr struct str id = {0};
    int code;
    NEED_DAEMON();
    lab_must(&lab, repo, &id, "rev-parse main");
    resolves("main", "main");
    kill(-daemon_pid, SIGKILL);
    proc_wait(daemon_pid, 10000, &code, NULL);
    daemon_pid = 0;
    resolves(str_c(&id), "main");
    fails(url, "main", "FetchFailed");
}

Test(repo_mirror, a_commit_behind_no_ref_is_fetched_when_the_remote_gives_it)
{
    autostr struct str id = {0};
    NEED_DAEMON();
    lab_must(&lab, repo, NULL, "config uploadpack.allowAnySHA1InWant true");
    commit("lost");
    lab_must(&lab, repo, &id, "rev-parse HEAD");
    lab_must(&lab, repo, NULL, "reset -q --hard HEAD~1");
    resolves(str_c(&id), str_c(&id));
    fails(url, "0123456789012345678901234567890123456789", "RevisionNotFound");
}

Test(repo_mirror, leftovers_of_a_killed_fetch_are_swept)
{
    NEED_DAEMON();
    resolves("main", "main");
    autofree char *find = mem_printf("for d in %s/*.git; do touch $d/HEAD.lock $d/packed-refs.lock "
                                     "$d/refs/heads/main.lock $d/objects/pack/pack_git2_x; done",
                                     mirrors);
    const char *sh[] = {"sh", "-c", find, NULL};
    struct proc_spec spec = {.argv = sh};
    struct proc_result r = {0};
    cr_assert_eq(proc_run(&spec, NULL, 0, 1000, 10000, &r, NULL), 0);
    proc_result_free(&r);
    commit("after");
    resolves("main", "main");
}

static void *resolve_thread(void *user)
{
    struct revision *got = user;
    autosource struct source *source = NULL;
    if (source_open_remote(url, &remote, &source, NULL) == 0) {
        (void)!source_resolve(source, "main", got, NULL);
    }
    return NULL;
}

Test(repo_mirror, many_at_once_share_one_mirror)
{
    enum { COUNT = 8 };
    pthread_t threads[COUNT];
    struct revision got[COUNT] = {0};
    autostr struct str id = {0};
    NEED_DAEMON();
    lab_must(&lab, repo, &id, "rev-parse main");
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, resolve_thread, &got[i]), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_str_eq(got[i].commit, str_c(&id));
    }
}

/* A port that accepts and never answers. */
static int silent_listener(int *ret_port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, len), 0);
    cr_assert_eq(listen(fd, 4), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    *ret_port = ntohs(addr.sin_port);
    return fd;
}

Test(repo_mirror, silence_ends_at_the_deadline_or_when_cancelled)
{
    int port = 0;
    autoclose int fd = silent_listener(&port);
    autofree char *git = mem_printf("git://127.0.0.1:%d/x", port);
    autofree char *https = mem_printf("https://127.0.0.1:%d/x", port);
    autofree char *ssh = mem_printf("ssh://127.0.0.1:%d/x", port);
    atomic_bool cancel = true;
    remote.timeout_ms = 200;
    fails(git, "main", "FetchTimedOut");
    fails(https, "main", "FetchTimedOut");
#ifndef WITH_SANITIZERS /* libgit2 1.5 loses 32 bytes, the name of known_hosts, at each attempt */
    fails(ssh, "main", "FetchTimedOut");
#else
    (void)ssh;
#endif
    remote.timeout_ms = 60000;
    remote.cancel = &cancel;
    autofree char *other = mem_printf("git://127.0.0.1:%d/y", port);
    fails(other, "main", "Cancelled");
    remote.cancel = NULL;
}

Test(repo_mirror, unreachable_remotes_fail_cleanly)
{
    int port = free_port();
    static const char *const schemes[] = {"git", "https", "ssh"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        autofree char *where = mem_printf("%s://127.0.0.1:%d/x", schemes[i], port);
        fails(where, "main", "FetchFailed");
    }
    fails("file:///etc", "main", "RepositoryRejected");
}

Test(repo_mirror, netrc_entries_are_found_by_host)
{
    static const char text[] = "# comment\nmachine other login o password op\n"
                               "machine Example.org\n  login ana password s3cret account x\n"
                               "default login anonymous password guest\n";
    char *user = NULL;
    char *password = NULL;
    cr_assert(credential_netrc(text, "example.org", &user, &password));
    cr_expect_str_eq(user, "ana");
    cr_expect_str_eq(password, "s3cret");
    free(user);
    free(password);
    cr_assert(credential_netrc(text, "elsewhere", &user, &password));
    cr_expect_str_eq(user, "anonymous");
    free(user);
    free(password);
    cr_expect_not(credential_netrc("machine a login b", "a", &user, &password));
    cr_expect_not(credential_netrc("", "a", &user, &password));
    cr_expect_not(credential_netrc("machine", "a", &user, &password));
}
