/*
 * test_guest_files.c - guest: /files and filesystem.Filesystem over the socket of a real daemon.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
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

TestSuite(files, .init = setup, .fini = teardown, .timeout = 60);

#define RAW "Content-Type: application/octet-stream\r\n"

static struct answer get(const char *query, const char *headers)
{
    autofree char *target = mem_printf("/files?%s", query);
    return client_call("GET", target, headers, "", 0);
}

static struct answer post(const char *query, const char *headers, const void *body, size_t len)
{
    autofree char *target = mem_printf("/files?%s", query);
    return client_call("POST", target, headers, body, len);
}

static void expect(struct answer a, int status, const char *part)
{
    cr_assert_eq(a.status, status, "%d %s", a.status, str_c(&a.body));
    cr_assert_not_null(strstr(str_c(&a.body), part), "%s", str_c(&a.body));
    answer_free(&a);
}

static void expect_file(const char *path, const char *content)
{
    autostr struct str got = {0};
    struct err err = {0};
    cr_assert_eq(fs_read_file(path, 1 << 20, &got, &err), 0, "%s", err.text);
    cr_assert_str_eq(str_c(&got), content);
}

Test(files, raw_upload_creates_parents_and_truncates)
{
    autofree char *reply =
        mem_printf("[{\"path\":\"%s/d/e/f\",\"name\":\"f\",\"type\":\"file\"}]", guest_dir);
    expect(post("path=d/e/f&username=root", RAW, "lengthy", 7), 200, reply);
    expect_file("d/e/f", "lengthy");
    expect(post("path=~/d/e/f", RAW, "xy", 2), 200, reply);
    expect_file("d/e/f", "xy");
    expect(post("path=d/e/f", RAW, "", 0), 200, reply);
    expect_file("d/e/f", "");
    struct stat st;
    cr_assert_eq(stat("d/e/f", &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0644);
}

Test(files, names_with_everything_in_them)
{
    expect(post("path=a%20b%25%2B%26%3D%0A%C3%BC", RAW, "x", 1), 200, "name");
    expect_file("a b%+&=\n\xc3\xbc", "x");
    expect(get("path=a%20b%25%2B%26%3D%0A%C3%BC", NULL), 200, "x");
}

Test(files, large_binary_content_passes_both_ways)
{
    enum { SIZE = 20 << 20 };
    char *bytes = mem_alloc(SIZE);
    char want[SHA256_HEX_BYTES];
    char got[SHA256_HEX_BYTES];
    rng_bytes(bytes, SIZE);
    sha256_hex(bytes, SIZE, want);
    expect(post("path=big", RAW, bytes, SIZE), 200, "big");
    struct err err = {0};
    cr_assert_eq(sha256_file("big", got, NULL, &err), 0);
    cr_assert_str_eq(got, want);
    autoanswer struct answer a = get("path=big", NULL);
    cr_assert_eq(a.body.len, SIZE);
    sha256_hex(a.body.ptr, a.body.len, got);
    cr_assert_str_eq(got, want);
    free(bytes);
}

Test(files, chunked_upload)
{
    static const char request[] =
        "POST /files?path=c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" RAW
        "\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    int fd = client_connect();
    client_send(fd, request, sizeof(request) - 1);
    expect(client_read(fd), 200, "\"c\"");
    close(fd);
    expect_file("c", "abcdefg");
}

static const char MULTIPART[] = "Content-Type: multipart/form-data; boundary=b0und\r\n";

static void part(struct str *body, const char *name, const char *filename, const char *content)
{
    str_addf(body,
             "--b0und\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n",
             name, filename);
    str_addf(body, "%s\r\n", content);
}

Test(files, multipart_upload)
{
    autostr struct str body = {0};
    part(&body, "file", "m/one", "1\r\n--b0un");
    part(&body, "other", "m/no", "no");
    part(&body, "file", "m/two", "");
    str_add(&body, "--b0und--\r\n");
    expect(post("username=user", MULTIPART, body.ptr, body.len), 200, "/m/two");
    expect_file("m/one", "1\r\n--b0un");
    expect_file("m/two", "");
    cr_assert_not(fs_exists("m/no"));
    str_reset(&body);
    part(&body, "file", "ignored", "by query");
    str_add(&body, "--b0und--\r\n");
    expect(post("path=m/three", MULTIPART, body.ptr, body.len), 200, "three");
    expect_file("m/three", "by query");
    cr_assert_not(fs_exists("ignored"));
}

Test(files, refused_uploads)
{
    autostr struct str twice = {0};
    part(&twice, "file", "t", "1");
    part(&twice, "file", "./t", "2");
    str_add(&twice, "--b0und--\r\n");
    expect(post("", MULTIPART, twice.ptr, twice.len), 400, "twice");
    expect(post("", MULTIPART, "--b0und", 7), 400, "too early");
    expect(post("", RAW, "x", 1), 400, "'path' is missing");
    expect(post("path=x", "Content-Type: text/plain\r\n", "x", 1), 400, "content type");
    expect(post("path=x", RAW "Content-Encoding: gzip\r\n", "x", 1), 400, "gzip");
    expect(post("path=x&username=nobody9", RAW, "x", 1), 401, "nobody9");
    expect(post("path=/", RAW, "x", 1), 400, "\"code\":400");
    expect(post("path=a%00b", RAW, "x", 1), 400, "NUL");
    expect(post("path=~root/x", RAW, "x", 1), 400, "home");
    cr_assert_not(fs_exists("x"));
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    expect(post("path=fifo", RAW, "x", 1), 400, "fifo");
    expect(post("path=/dev/null", RAW, "x", 1), 400, "not a regular file");
    if (access("/dev/full", W_OK) == 0 && access("/proc/self/fd", X_OK) == 0) {
        expect(post("path=/etc/passwd/x", RAW, "x", 1), 400, "/etc/passwd");
    }
}

Test(files, downloads_and_ranges)
{
    struct err err = {0};
    cr_assert_eq(fs_write_file("r", "0123456789", 10, 0600, &err), 0);
    autoanswer struct answer whole = get("path=r&username=root", NULL);
    cr_assert_str_eq(str_c(&whole.body), "0123456789");
    cr_assert(answer_has_header(&whole, "Content-Type: application/octet-stream"));
    cr_assert(answer_has_header(&whole, "Content-Disposition: inline; filename=\"r\""));
    static const struct {
        const char *range;
        int status;
        const char *body;
        const char *header;
    } cases[] = {
        {"bytes=2-4", 206, "234", "Content-Range: bytes 2-4/10"},
        {"bytes=7-", 206, "789", "Content-Range: bytes 7-9/10"},
        {"bytes=-3", 206, "789", "Content-Range: bytes 7-9/10"},
        {"bytes=-30", 206, "0123456789", "Content-Range: bytes 0-9/10"},
        {"bytes=0-99", 206, "0123456789", "Content-Range: bytes 0-9/10"},
        {"bytes=10-", 416, "", "Content-Range: bytes */10"},
        {"bytes=-0", 416, "", "Content-Range: bytes */10"},
        {"bytes=4-2", 200, "0123456789", "Content-Length: 10"},
        {"bytes=1-2,4-5", 200, "0123456789", "Content-Length: 10"},
        {"bytes=99999999999999999999-", 200, "0123456789", "Content-Length: 10"},
        {"lines=1-2", 200, "0123456789", "Content-Length: 10"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *header = mem_printf("Range: %s\r\n", cases[i].range);
        autoanswer struct answer a = get("path=r", header);
        cr_assert_eq(a.status, cases[i].status, "%s: %d", cases[i].range, a.status);
        cr_assert_str_eq(str_c(&a.body), cases[i].body);
        cr_assert(answer_has_header(&a, cases[i].header), "%s", str_c(&a.headers));
    }
}

Test(files, empty_sizeless_and_refused_downloads)
{
    struct err err = {0};
    cr_assert_eq(fs_write_file("empty", "", 0, 0600, &err), 0);
    autoanswer struct answer empty = get("path=empty", NULL);
    cr_assert_eq(empty.status, 200);
    cr_assert_eq(empty.body.len, 0);
    expect(get("path=/proc/self/status", NULL), 200, "Pid:");
    expect(get("path=nope", NULL), 404, "/nope' does not exist");
    expect(get("path=empty/below", NULL), 404, "does not exist");
    expect(get("path=/usr", NULL), 400, "is a directory");
    expect(get("", NULL), 400, "'path' is missing");
    expect(get("path=empty&username=x", NULL), 401, "invalid username: 'x'");
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    expect(get("path=fifo", NULL), 400, "not a regular file");
    expect(get("path=/dev/zero", NULL), 400, "not a regular file");
}

/* --- filesystem.Filesystem --- */

static void rpc(const char *method, const char *message, int status, const char *part)
{
    autofree char *procedure = mem_printf("filesystem.Filesystem/%s", method);
    expect(client_rpc(procedure, message), status, part);
}

Test(files, stat_tells_files_directories_and_links)
{
    struct err err = {0};
    cr_assert_eq(fs_write_file("f", "12345", 5, 0640, &err), 0);
    cr_assert_eq(symlink("no/where", "l"), 0);
    cr_assert_eq(mkfifo("p", 0600), 0);
    rpc("Stat", "{\"path\":\"f\"}", 200, "\"name\":\"f\",\"type\":\"FILE_TYPE_FILE\"");
    rpc("Stat", "{\"path\":\"f\"}", 200,
        "\"size\":\"5\",\"mode\":416,\"permissions\":\"-rw-r-----\"");
    rpc("Stat", "{\"path\":\"l\"}", 200, "\"type\":\"FILE_TYPE_SYMLINK\"");
    rpc("Stat", "{\"path\":\"l\"}", 200, "\"symlinkTarget\":\"no/where\"");
    rpc("Stat", "{\"path\":\"/usr\"}", 200, "\"type\":\"FILE_TYPE_DIRECTORY\"");
    rpc("Stat", "{\"path\":\"p\"}", 200, "\"name\":\"p\",\"path\"");
    rpc("Stat", "{\"path\":\"nope\"}", 404, "not_found");
    rpc("Stat", "{\"path\":7}", 400, "invalid_argument");
    rpc("Stat", "{\"path\":\"a\\u0000b\"}", 400, "NUL");
}

Test(files, list_dir_goes_as_deep_as_asked)
{
    struct err err = {0};
    cr_assert_eq(fs_mkdirs("t/b/c/d", 0755, &err), 0);
    cr_assert_eq(fs_write_file("t/a", "", 0, 0600, &err), 0);
    cr_assert_eq(symlink("..", "t/b/up"), 0);
    autoanswer struct answer one = client_rpc("filesystem.Filesystem/ListDir", "{\"path\":\"t\"}");
    cr_assert_not_null(strstr(str_c(&one.body), "/t/a\""));
    cr_assert_not_null(strstr(str_c(&one.body), "/t/b\""));
    cr_assert_null(strstr(str_c(&one.body), "/t/b/c\""));
    autoanswer struct answer two =
        client_rpc("filesystem.Filesystem/ListDir", "{\"path\":\"t\",\"depth\":2}");
    cr_assert_not_null(strstr(str_c(&two.body), "/t/b/c\""));
    cr_assert_null(strstr(str_c(&two.body), "/t/b/c/d\""));
    autoanswer struct answer all =
        client_rpc("filesystem.Filesystem/ListDir", "{\"path\":\"t\",\"depth\":99}");
    cr_assert_not_null(strstr(str_c(&all.body), "/t/b/c/d\""));
    cr_assert_null(strstr(str_c(&all.body), "/t/b/up/"), "links are not entered");
    autoanswer struct answer none =
        client_rpc("filesystem.Filesystem/ListDir", "{\"path\":\"t/b/c/d\"}");
    cr_assert_str_eq(str_c(&none.body), "{}");
    rpc("ListDir", "{\"path\":\"t/a\"}", 400, "not a directory");
    rpc("ListDir", "{\"path\":\"nope\"}", 404, "not_found");
}

Test(files, make_move_remove)
{
    struct err err = {0};
    rpc("MakeDir", "{\"path\":\"x/y\"}", 200, "\"name\":\"y\"");
    rpc("MakeDir", "{\"path\":\"x/y\"}", 409, "already_exists");
    cr_assert_eq(fs_write_file("x/f", "1", 1, 0600, &err), 0);
    rpc("MakeDir", "{\"path\":\"x/f\"}", 400, "not a directory");
    rpc("MakeDir", "{\"path\":\"x/f/g\"}", 400, "invalid_argument");
    rpc("Move", "{\"source\":\"x/f\",\"destination\":\"new/deep/g\"}", 200, "\"name\":\"g\"");
    expect_file("new/deep/g", "1");
    rpc("Move", "{\"source\":\"x/f\",\"destination\":\"h\"}", 404, "not_found");
    rpc("Remove", "{\"path\":\"new\"}", 200, "{}");
    cr_assert_not(fs_exists("new"));
    rpc("Remove", "{\"path\":\"new\"}", 200, "{}");
    rpc("Remove", "{\"path\":\"/\"}", 400, "root directory");
    rpc("CreateWatcher", "{\"path\":\"x\"}", 501, "unimplemented");
    autorun struct run watch =
        stream_call("filesystem.Filesystem/WatchDir", "{\"path\":\"x\"}", NULL);
    cr_assert_str_eq(watch.error, "unimplemented");
}

Test(files, upload_beside_and_move_over)
{
    struct err err = {0};
    cr_assert_eq(fs_write_file("in.tar", "old", 3, 0600, &err), 0);
    expect(post("path=in.tar.part-7f3a", RAW, "new", 3), 200, "part-7f3a");
    rpc("Move", "{\"source\":\"in.tar.part-7f3a\",\"destination\":\"in.tar\"}", 200, "in.tar");
    expect_file("in.tar", "new");
}
