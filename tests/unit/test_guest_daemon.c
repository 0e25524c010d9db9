/*
 * test_guest_daemon.c - guest/guest: the daemon's own life, and the routes about itself.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "guest_client.h"

TestSuite(daemon, .timeout = 60);

#define JSON "Content-Type: application/json\r\n"

static int status_of(const char *method, const char *target, const char *headers, const char *body)
{
    autoanswer struct answer a = client_call(method, target, headers, body, strlen(body));
    return a.status;
}

Test(daemon, serves_health_on_a_private_socket_and_removes_it)
{
    struct stat st;
    pid_t pid = guest_up(NULL);
    cr_assert_eq(stat("s", &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0600);
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    cr_assert_eq(guest_down(pid), 0);
    cr_assert_not(fs_exists("s"));
}

Test(daemon, replaces_a_stale_socket_but_not_a_served_one)
{
    pid_t first = guest_up(NULL);
    pid_t second = fork();
    if (second == 0) {
        execl(GUEST_DAEMON, GUEST_DAEMON, "--socket", "s", "--log", "log2", NULL);
        _exit(99);
    }
    cr_assert_eq(guest_wait(second), 1);
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    kill(first, SIGKILL);
    cr_assert_eq(guest_wait(first), 137);
    cr_assert(fs_exists("s"));
    first = guest_up(NULL);
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    cr_assert_eq(guest_down(first), 0);
}

Test(daemon, refuses_what_is_no_socket_and_paths_that_are_too_long)
{
    pid_t pid = guest_up(NULL); /* for the directory */
    struct err err = {0};
    cr_assert_eq(fs_write_file("plain", "x", 1, 0600, &err), 0);
    char lengthy[200];
    memset(lengthy, 'a', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = '\0';
    const char *const paths[] = {"plain", lengthy};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        pid_t other = fork();
        if (other == 0) {
            execl(GUEST_DAEMON, GUEST_DAEMON, "--socket", paths[i], "--log", "log2", NULL);
            _exit(99);
        }
        cr_assert_eq(guest_wait(other), 1);
    }
    cr_assert(fs_exists("plain"));
    guest_down(pid);
}

Test(daemon, leaves_when_idle_but_not_while_something_runs)
{
    pid_t pid = guest_up((const char *[]){"--idle-ms", "300", NULL});
    int job = start_sh("sleep 1; echo done >job", NULL, NULL);
    cr_assert_gt(job, 0);
    cr_assert_eq(guest_wait(pid), 0);
    cr_assert(fs_exists("job"), "it waited for the process");
    cr_assert_not(fs_exists("s"));
}

Test(daemon, outlives_its_starter_and_the_hangup)
{
    int ready[2];
    char byte;
    pid_t pid = guest_up(NULL); /* for the directory */
    guest_down(pid);
    cr_assert_eq(pipe(ready), 0);
    pid_t starter = fork();
    if (starter == 0) {
        if (fork() == 0) {
            dup2(ready[1], 100);
            close(ready[0]);
            close(ready[1]);
            execl(GUEST_DAEMON, GUEST_DAEMON, "--socket", "s", "--log", "log", "--ready-fd", "100",
                  "--idle-ms", "20000", NULL);
        }
        pause();
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    int job = start_sh("echo $PPID >supervisor; sleep 100", NULL, NULL);
    kill(starter, SIGKILL);
    guest_wait(starter);
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    autoanswer struct answer list = client_rpc("process.Process/List", "{}");
    char part[32];
    snprintf(part, sizeof(part), "\"pid\":%d", job);
    cr_assert_not_null(strstr(str_c(&list.body), part));
    /* The daemon is the supervisor's parent; hang it up, then end it. */
    char stat_path[64];
    snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", number_in("supervisor"));
    struct str text = {0};
    struct err err = {0};
    int fd = open(stat_path, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(fs_read_fd(fd, 4096, &text, &err), 0);
    close(fd);
    int daemon = 0;
    cr_assert_eq(sscanf(strrchr(text.ptr, ')') + 1, " %*c %d", &daemon), 1);
    str_free(&text);
    kill(daemon, SIGHUP);
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    kill(daemon, SIGTERM);
    cr_assert(dies(job), "processes end with the daemon");
    cr_assert(dies(daemon));
}

Test(daemon, an_inherited_socket_is_served_and_left_alone)
{
    pid_t pid = guest_up(NULL);
    guest_down(pid);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, 16), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fd, 100);
        execl(GUEST_DAEMON, GUEST_DAEMON, "--listen-fd", "100", "--log", "log", NULL);
        _exit(99);
    }
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    cr_assert_eq(guest_down(pid), 0);
    cr_assert(fs_exists("s"));
    close(fd);
}

/* One connection is in and stays; the next one finds no descriptor. */
Test(daemon, who_found_no_descriptor_is_let_in_when_there_is_one)
{
    pid_t pid = guest_up(NULL);
    static const char request[] = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
    struct rlimit none = {.rlim_cur = 3}, before;
    int first = client_connect();
    client_send(first, request, sizeof(request) - 1);
    autoanswer struct answer a = client_read(first);
    cr_assert_eq(a.status, 204);
    cr_assert_eq(prlimit(pid, RLIMIT_NOFILE, NULL, &before), 0);
    none.rlim_max = before.rlim_max;
    cr_assert_eq(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
    int second = client_connect();
    client_send(second, request, sizeof(request) - 1);
    struct pollfd waits = {.fd = second, .events = POLLIN};
    cr_assert_eq(poll(&waits, 1, 200), 0, "answered without a descriptor");
    cr_assert_eq(prlimit(pid, RLIMIT_NOFILE, &before, NULL), 0);
    autoanswer struct answer b = client_read(second);
    cr_assert_eq(b.status, 204);
    close(first);
    close(second);
    cr_assert_eq(guest_down(pid), 0);
}

Test(daemon, init_gives_variables_and_workdir_to_later_processes)
{
    pid_t pid = guest_up(NULL);
    cr_assert_eq(
        status_of("POST", "/init", JSON,
                  "{\"envVars\":{\"A\":\"1\",\"HOME\":\"/h\"},\"defaultWorkdir\":\"/usr\"}"),
        204);
    autorun struct run run =
        stream_call("process.Process/Start",
                    "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\",\"echo $A $B $HOME; pwd\"],"
                    "\"envs\":{\"B\":\"2\"}}}",
                    NULL);
    cr_assert_str_eq(str_c(&run.out), "1 2 /h\n/usr\n");
    autoanswer struct answer envs = client_call("GET", "/envs", NULL, "", 0);
    cr_assert_str_eq(str_c(&envs.body), "{\"A\":\"1\",\"HOME\":\"/h\"}");
    cr_assert_eq(status_of("POST", "/init", JSON, ""), 204);
    cr_assert_eq(status_of("POST", "/init", JSON, "[]"), 400);
    cr_assert_eq(status_of("POST", "/init", JSON, "{\"envVars\":{\"A\":1}}"), 400);
    cr_assert_eq(status_of("POST", "/init", JSON, "{\"envVars\":{\"A=\":\"\"}}"), 400);
    cr_assert_eq(status_of("POST", "/init", JSON, "{\"defaultUser\":\"nobody9\"}"), 400);
    cr_assert_eq(status_of("POST", "/init", JSON, "{\"defaultWorkdir\":\"x\"}"), 400);
    guest_down(pid);
}

Test(daemon, an_access_token_once_set_is_wanted)
{
    pid_t pid = guest_up(NULL);
    cr_assert_eq(status_of("POST", "/init", JSON, "{\"accessToken\":\"t0\"}"), 204);
    cr_assert_eq(status_of("GET", "/envs", NULL, ""), 401);
    cr_assert_eq(status_of("GET", "/envs", "X-Access-Token: t1\r\n", ""), 401);
    cr_assert_eq(status_of("GET", "/envs", "X-Access-Token: t0\r\n", ""), 200);
    cr_assert_eq(status_of("POST", "/process.Process/List", JSON, "{}"), 401);
    cr_assert_eq(status_of("GET", "/health", NULL, ""), 204);
    cr_assert_eq(status_of("POST", "/init", JSON, "{\"accessToken\":\"t1\"}"), 401);
    cr_assert_eq(status_of("POST", "/init", JSON, "{}"), 401);
    guest_down(pid);
}

Test(daemon, metrics_are_figures)
{
    pid_t pid = guest_up(NULL);
    autoanswer struct answer a = client_call("GET", "/metrics", NULL, "", 0);
    autoarena struct arena *arena = arena_new();
    const struct json *root;
    struct err err = {0};
    int64_t total = 0;
    int64_t disk = 0;
    int64_t cpus = 0;
    cr_assert_eq(json_parse(arena, str_c(&a.body), a.body.len, &root, &err), 0, "%s", err.text);
    cr_assert(json_get_i64(root, "mem_total", &total) && total > (1 << 20));
    cr_assert(json_get_i64(root, "disk_total", &disk) && disk > 0);
    cr_assert(json_get_i64(root, "cpu_count", &cpus) && cpus > 0);
    guest_down(pid);
}

Test(daemon, routes_methods_and_types)
{
    pid_t pid = guest_up(NULL);
    cr_assert_eq(status_of("GET", "/", NULL, ""), 404);
    cr_assert_eq(status_of("POST", "/process.Process/Nothing", JSON, "{}"), 404);
    autoanswer struct answer wrong = client_call("GET", "/process.Process/List", NULL, "", 0);
    cr_assert_eq(wrong.status, 405);
    cr_assert(answer_has_header(&wrong, "Allow: POST"));
    autoanswer struct answer type =
        client_call("POST", "/process.Process/List", "Content-Type: application/proto\r\n", "", 0);
    cr_assert_eq(type.status, 415);
    cr_assert(answer_has_header(&type, "Accept-Post: application/json"));
    cr_assert_eq(status_of("POST", "/process.Process/Start", JSON, "{}"), 415);
    cr_assert_eq(status_of("POST", "/process.Process/List", JSON, ""), 400);
    cr_assert_eq(status_of("POST", "/process.Process/List",
                           JSON "Authorization: Basic bm9ib2R5OQ==\r\n", "{}"),
                 401);
    cr_assert_eq(status_of("POST", "/process.Process/List",
                           JSON "Authorization: Basic bm9ib2R5OTo=\r\n", "{}"),
                 401);
    cr_assert_eq(
        status_of("POST", "/process.Process/List", JSON "Authorization: Basic cm9vdDo=\r\n", "{}"),
        200);
    guest_down(pid);
}
