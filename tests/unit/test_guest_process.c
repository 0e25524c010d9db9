/*
 * test_guest_process.c - process.Process over the socket of a real daemon: everything but killing.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "guest_client.h"

static pid_t guest;

static void setup(void)
{
    guest = guest_up(NULL);
}

static void teardown(void)
{
    cr_assert_eq(guest_down(guest), 0);
}

TestSuite(process, .init = setup, .fini = teardown, .timeout = 120);

static void expect_error(const struct run *run, const char *code, const char *part)
{
    cr_assert_eq(run->status, 200);
    cr_assert(run->closed);
    cr_assert_eq(run->starts, 0);
    cr_assert_str_eq(run->error, code, "%s", run->message);
    cr_assert_not_null(strstr(run->message, part), "%s", run->message);
}

static void expect_rpc(const char *procedure, const char *message, int status, const char *part)
{
    autoanswer struct answer a = client_rpc(procedure, message);
    cr_assert_eq(a.status, status, "%s %s: %d %s", procedure, message, a.status, str_c(&a.body));
    cr_assert_not_null(strstr(str_c(&a.body), part), "%s", str_c(&a.body));
}

/* --- Start --- */

Test(process, output_and_exit_codes)
{
    static const struct {
        const char *script;
        int code;
        const char *status;
    } cases[] = {
        {"true", 0, "exit status 0"},
        {"exit 3", 3, "exit status 3"},
        {"exit 255", 255, "exit status 255"},
        {"kill -9 $$", -1, "signal: killed"},
        {"kill -TERM $$", -1, "signal: terminated"},
        {"sh -c 'kill -9 $$'; exit $?", 137, "exit status 137"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autorun struct run run = run_sh(cases[i].script, NULL);
        cr_assert(run.ended && run.closed && run.starts == 1);
        cr_assert_eq(run.exit_code, cases[i].code, "%s: %d", cases[i].script, run.exit_code);
        cr_assert_str_eq(run.end_status, cases[i].status);
    }
    autorun struct run both = run_sh("echo out; echo err >&2; printf 'a\\0\\377b'", NULL);
    cr_assert_str_eq(str_c(&both.err), "err\n");
    cr_assert_eq(both.out.len, 8);
    cr_assert_eq(memcmp(both.out.ptr, "out\na\0\377b", 8), 0);
}

Test(process, a_missing_program_is_an_exit_code)
{
    autorun struct run none =
        stream_call("process.Process/Start", "{\"process\":{\"cmd\":\"no-such-program\"}}", NULL);
    cr_assert_eq(none.exit_code, 127);
    cr_assert_not_null(strstr(str_c(&none.err), "no-such-program"));
    autorun struct run dir = stream_call("process.Process/Start",
                                         "{\"process\":{\"cmd\":\"/usr\",\"cwd\":\"/\"}}", NULL);
    cr_assert_eq(dir.exit_code, 126);
}

Test(process, cwd_environment_and_user)
{
    autorun struct run run = stream_call(
        "process.Process/Start",
        "{\"process\":{\"cmd\":\"env\",\"envs\":{\"X\":\"a b\\n\\u00fc\",\"USER\":\"me\"},"
        "\"cwd\":\"/usr\",\"unknown\":[1]},\"alsoUnknown\":{}}",
        "Authorization: Basic dXNlcjo=\r\n");
    cr_assert_eq(run.exit_code, 0);
    cr_assert_not_null(strstr(str_c(&run.out), "X=a b\n\xc3\xbc\n"));
    cr_assert_not_null(strstr(str_c(&run.out), "USER=me\n"));
    cr_assert_null(strstr(str_c(&run.out), "USER=root\n"));
    autofree char *home = mem_printf("HOME=%s\n", guest_dir);
    cr_assert_not_null(strstr(str_c(&run.out), home));
    autorun struct run pwd =
        stream_call("process.Process/Start", "{\"process\":{\"cmd\":\"pwd\"}}", NULL);
    autofree char *line = mem_printf("%s\n", guest_dir);
    cr_assert_str_eq(str_c(&pwd.out), line);
}

Test(process, refused_starts)
{
    static const struct {
        const char *message;
        const char *code;
        const char *part;
    } cases[] = {
        {"{}", "invalid_argument", "'process'"},
        {"{\"process\":{}}", "invalid_argument", "'cmd'"},
        {"{\"process\":{\"cmd\":\"\"}}", "invalid_argument", "'cmd'"},
        {"{\"process\":{\"cmd\":7}}", "invalid_argument", "'cmd'"},
        {"{\"process\":{\"cmd\":\"a\\u0000b\"}}", "invalid_argument", "NUL"},
        {"{\"process\":{\"cmd\":\"a\",\"args\":{}}}", "invalid_argument", "'args'"},
        {"{\"process\":{\"cmd\":\"a\",\"args\":[1]}}", "invalid_argument", "'args'"},
        {"{\"process\":{\"cmd\":\"a\",\"envs\":[]}}", "invalid_argument", "'envs'"},
        {"{\"process\":{\"cmd\":\"a\",\"envs\":{\"A=B\":\"\"}}}", "invalid_argument", "'envs'"},
        {"{\"process\":{\"cmd\":\"a\",\"envs\":{\"A\":null}}}", "invalid_argument", "'envs'"},
        {"{\"process\":{\"cmd\":\"a\",\"cwd\":\"/nope\"}}", "invalid_argument",
         "cwd '/nope' does not exist"},
        {"{\"process\":{\"cmd\":\"a\",\"cwd\":\"/etc/passwd\"}}", "invalid_argument", "cwd"},
        {"{\"process\":{\"cmd\":\"a\"},\"pty\":{\"size\":{\"cols\":80,\"rows\":24}}}",
         "unimplemented", "terminal"},
        {"nonsense", "invalid_argument", "JSON"},
        {"[]", "invalid_argument", "object"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autorun struct run run = stream_call("process.Process/Start", cases[i].message, NULL);
        expect_error(&run, cases[i].code, cases[i].part);
    }
    autorun struct run user = run_sh("true", "Authorization: Basic bm9ib2R5OTo=\r\n");
    expect_error(&user, "unauthenticated", "invalid username: 'nobody9'");
    autorun struct run timeout = run_sh("true", "Connect-Timeout-Ms: soon\r\n");
    expect_error(&timeout, "invalid_argument", "soon");
    autorun struct run expired = run_sh("true", "Connect-Timeout-Ms: 0\r\n");
    expect_error(&expired, "deadline_exceeded", "timed out");
    autorun struct run packed = run_sh("true", "Connect-Content-Encoding: gzip\r\n");
    expect_error(&packed, "unimplemented", "gzip");
}

Test(process, keepalives_come_in_quiet_times)
{
    autorun struct run run = run_sh("sleep 1.5", "Keepalive-Ping-Interval: 1\r\n");
    cr_assert_geq(run.keepalives, 1);
    cr_assert_leq(run.keepalives, 3);
    autorun struct run none = run_sh("sleep 0.1", "Keepalive-Ping-Interval: 0\r\n");
    cr_assert_eq(none.keepalives, 0);
}

/* --- a client that goes, a client that comes --- */

Test(process, survives_its_client_and_is_found_again)
{
    int pid = start_sh("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 5",
                       ",\"tag\":\"r-1\",\"stdin\":false", NULL);
    expect_rpc("process.Process/List", "{}", 200, "\"tag\":\"r-1\"");
    int fd = stream_send("process.Process/Connect", "{\"process\":{\"tag\":\"r-1\"}}", NULL);
    clock_sleep_ms(50);
    cr_assert(pid_is_alive(pid));
    struct err err = {0};
    cr_assert_eq(fs_write_file("go", "", 0, 0600, &err), 0);
    autorun struct run live = stream_read(fd);
    cr_assert_eq(live.pid, pid);
    cr_assert_str_eq(str_c(&live.out), "one\ntwo\n", "from the start, then followed");
    cr_assert_eq(live.exit_code, 5);
    autorun struct run late = connect_to(pid);
    cr_assert_str_eq(str_c(&late.out), "one\ntwo\n", "kept after the end");
    cr_assert_eq(late.exit_code, 5);
    expect_rpc("process.Process/List", "{}", 200, "\"ended\":[{");
    expect_rpc("process.Process/List", "{}", 200,
               "\"end\":{\"exitCode\":5,\"exited\":true,\"status\":\"exit status 5\"");
    autofree char *skip = mem_printf("{\"process\":{\"pid\":%d},\"skip\":{\"stdout\":\"4\"}}", pid);
    autorun struct run rest = stream_call("process.Process/Connect", skip, NULL);
    cr_assert_str_eq(str_c(&rest.out), "two\n");
}

Test(process, connect_errors_and_deadline)
{
    autorun struct run none =
        stream_call("process.Process/Connect", "{\"process\":{\"pid\":999999}}", NULL);
    expect_error(&none, "not_found", "process with pid 999999 not found");
    autorun struct run tag =
        stream_call("process.Process/Connect", "{\"process\":{\"tag\":\"x\"}}", NULL);
    expect_error(&tag, "not_found", "tag x");
    autorun struct run empty = stream_call("process.Process/Connect", "{\"process\":{}}", NULL);
    expect_error(&empty, "invalid_argument", "pid or a tag");
    int pid = start_sh("sleep 30", NULL, NULL);
    autofree char *message = mem_printf("{\"process\":{\"pid\":%d}}", pid);
    autorun struct run late =
        stream_call("process.Process/Connect", message, "Connect-Timeout-Ms: 100\r\n");
    cr_assert_str_eq(late.error, "deadline_exceeded");
    cr_assert_not(late.ended);
    cr_assert(pid_is_alive(pid), "the stream's deadline is not the process'");
}

Test(process, the_newest_of_a_tag_is_meant_and_the_living_first)
{
    int old = start_sh("sleep 30", ",\"tag\":\"t\",\"stdin\":false", NULL);
    autorun struct run ended = stream_call("process.Process/Start",
                                           "{\"process\":{\"cmd\":\"true\"},\"tag\":\"t\"}", NULL);
    cr_assert(ended.ended);
    int fd = stream_send("process.Process/Connect", "{\"process\":{\"tag\":\"t\"}}", NULL);
    autofree char *kill_it =
        mem_printf("{\"process\":{\"pid\":%d},\"signal\":\"SIGNAL_SIGKILL\"}", old);
    expect_rpc("process.Process/SendSignal", kill_it, 200, "{}");
    autorun struct run run = stream_read(fd);
    cr_assert_eq(run.pid, old);
}

Test(process, a_hundred_at_once)
{
    enum { COUNT = 100 };
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        autofree char *message = mem_printf(
            "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\",\"echo out%d; sleep 0.3; echo "
            "err%d >&2; exit %d\"]},\"stdin\":false}",
            i, i, i);
        fds[i] = stream_send("process.Process/Start", message, NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        autorun struct run run = stream_read(fds[i]);
        autofree char *out = mem_printf("out%d\n", i);
        autofree char *err = mem_printf("err%d\n", i);
        cr_assert_eq(run.exit_code, i);
        cr_assert_str_eq(str_c(&run.out), out);
        cr_assert_str_eq(str_c(&run.err), err);
    }
}

/* --- stdin --- */

static void send_input(int pid, const char *text, int status)
{
    autostr struct str message = {0};
    str_addf(&message, "{\"process\":{\"pid\":%d},\"input\":{\"stdin\":\"", pid);
    base64_encode(&message, text, strlen(text));
    str_add(&message, "\"}}");
    expect_rpc("process.Process/SendInput", str_c(&message), status, "{");
}

static void close_stdin(int pid, int status)
{
    autofree char *message = mem_printf("{\"process\":{\"pid\":%d}}", pid);
    expect_rpc("process.Process/CloseStdin", message, status, "{");
}

Test(process, stdin_is_written_and_closed)
{
    int pid = start_sh("cat; echo end", "", NULL); /* stdin absent means true */
    send_input(pid, "hello ", 200);
    send_input(pid, "world\n", 200);
    close_stdin(pid, 200);
    autorun struct run run = connect_to(pid);
    cr_assert_str_eq(str_c(&run.out), "hello world\nend\n");
    send_input(pid, "x", 404);
    close_stdin(pid, 404);
}

Test(process, stdin_refusals)
{
    int pid = start_sh("sleep 30", NULL, NULL);
    send_input(pid, "x", 500);
    close_stdin(pid, 500);
    int other = start_sh("sleep 30", "", NULL);
    autofree char *pty =
        mem_printf("{\"process\":{\"pid\":%d},\"input\":{\"pty\":\"eA==\"}}", other);
    expect_rpc("process.Process/SendInput", pty, 500, "internal");
    autofree char *bad =
        mem_printf("{\"process\":{\"pid\":%d},\"input\":{\"stdin\":\"!\"}}", other);
    expect_rpc("process.Process/SendInput", bad, 400, "base64");
    autofree char *size = mem_printf("{\"process\":{\"pid\":%d},\"pty\":{\"size\":{}}}", other);
    expect_rpc("process.Process/Update", size, 501, "unimplemented");
    expect_rpc("process.Process/SendInput", "{}", 400, "no process selected");
}

Test(process, input_waits_for_a_slow_reader)
{
    enum { BLOCKS = 24, BLOCK = 200000 };
    int pid = start_sh("sleep 0.3; wc -c", "", NULL);
    char *block = mem_alloc(BLOCK + 1);
    memset(block, 'x', BLOCK);
    for (int i = 0; i < BLOCKS; i++) { /* far beyond pipe and queue */
        send_input(pid, block, 200);
    }
    free(block);
    close_stdin(pid, 200);
    autorun struct run run = connect_to(pid);
    cr_assert_eq(strtol(str_c(&run.out), NULL, 10), BLOCKS * BLOCK);
}

static void add_message(struct str *body, const char *json)
{
    size_t len = strlen(json);
    uint8_t header[5] = {0, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                         (uint8_t)len};
    str_addn(body, header, sizeof(header));
    str_addn(body, json, len);
}

static struct run stream_input(const struct str *body)
{
    int fd = client_connect();
    autostr struct str head = {0};
    str_addf(&head,
             "POST /process.Process/StreamInput HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n"
             "Content-Type: application/connect+json\r\n\r\n",
             body->len);
    client_send(fd, head.ptr, head.len);
    client_send(fd, body->ptr, body->len);
    return stream_read(fd);
}

Test(process, stream_input_waits_for_room_and_arrives_whole)
{
    enum { BLOCKS = 60, BLOCK = 90000 };
    int pid = start_sh("sleep 0.3; wc -c", "", NULL);
    autostr struct str body = {0};
    autofree char *begin = mem_printf("{\"start\":{\"process\":{\"pid\":%d}}}", pid);
    add_message(&body, begin);
    add_message(&body, "{\"keepalive\":{}}");
    char *block = mem_alloc(BLOCK);
    for (int i = 0; i < BLOCKS; i++) {
        autostr struct str message = {0};
        str_add(&message, "{\"data\":{\"input\":{\"stdin\":\"");
        base64_encode(&message, block, BLOCK);
        str_add(&message, "\"}}}");
        add_message(&body, str_c(&message));
    }
    free(block);
    autorun struct run sent = stream_input(&body);
    cr_assert(sent.closed);
    cr_assert_str_eq(sent.error, "", "%s", sent.message);
    close_stdin(pid, 200);
    autorun struct run run = connect_to(pid);
    cr_assert_eq(strtol(str_c(&run.out), NULL, 10), BLOCKS * BLOCK);
}

Test(process, stream_input_refusals)
{
    static const char *const bodies[] = {
        "{\"data\":{\"input\":{\"stdin\":\"eA==\"}}}",
        "{\"start\":{\"process\":{\"pid\":999999}}}",
        "{\"start\":{}}",
        "[",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        autostr struct str body = {0};
        add_message(&body, bodies[i]);
        autorun struct run run = stream_input(&body);
        cr_assert(run.closed && run.error[0] != '\0', "%s", bodies[i]);
    }
}

/* --- bounds --- */

static int count_ended(void)
{
    autoanswer struct answer list = client_rpc("process.Process/List", "{}");
    int count = 0;
    for (const char *p = strstr(str_c(&list.body), "\"endedAt\""); p;
         p = strstr(p + 1, "\"endedAt\"")) {
        count++;
    }
    return count;
}

Test(process, ended_ones_are_kept_within_a_bound)
{
    autorun struct run first = run_sh("echo first", NULL);
    for (int i = 0; i < 270; i++) {
        autorun struct run run =
            stream_call("process.Process/Start", "{\"process\":{\"cmd\":\"true\"}}", NULL);
        cr_assert(run.ended);
    }
    autorun struct run gone = connect_to(first.pid);
    expect_error(&gone, "not_found", "not found");
    for (int i = 0; i < 500 && count_ended() > 256; i++) { /* a tree goes a little after its end */
        clock_sleep_ms(10);
    }
    cr_assert_eq(count_ended(), 256);
}
