/*
 * test_guest_options.c - guest/options: every option reaches its field, nonsense is refused.
 */
#include "guest/guest.h"

#include <criterion/criterion.h>

static int parse(size_t count, const char **argv, struct guest_options *ret, struct err *err)
{
    return guest_options_parse((int)count, (char *const *)(uintptr_t)argv, ret, err);
}

Test(options, each_reaches_its_field)
{
    struct guest_options o = {0};
    struct err err = {0};
    const char *argv[] = {"guest", "--socket",
                          "/s",    "--listen-fd",
                          "7",     "--workdir",
                          "/w",    "--home",
                          "/h",    "--user",
                          "u",     "--path",
                          "/bin",  "--log",
                          "/l",    "--ready-fd",
                          "8",     "--idle-ms",
                          "5000",  "--output-head-bytes",
                          "10",    "--output-tail-bytes",
                          "20",    "--max-processes",
                          "30"};
    cr_assert_eq(parse(ARRAY_LEN(argv), argv, &o, &err), 0, "%s", err.text);
    cr_assert_str_eq(o.socket_path, "/s");
    cr_assert_eq(o.listen_fd, 7);
    cr_assert_str_eq(o.workdir, "/w");
    cr_assert_str_eq(o.home, "/h");
    cr_assert_str_eq(o.user, "u");
    cr_assert_str_eq(o.path, "/bin");
    cr_assert_str_eq(o.log_path, "/l");
    cr_assert_eq(o.ready_fd, 8);
    cr_assert_eq(o.idle_ms, 5000);
    cr_assert_eq(o.output_head_bytes, 10);
    cr_assert_eq(o.output_tail_bytes, 20);
    cr_assert_eq(o.max_processes, 30);
}

static void refused(const char *a, const char *b, const char *part)
{
    struct guest_options o = {0};
    struct err err = {0};
    const char *argv[] = {"guest", a, b};
    cr_assert_lt(parse(b ? 3 : 2, argv, &o, &err), 0);
    cr_assert_str_eq(err.name, "Usage");
    cr_assert_not_null(strstr(err.text, part), "%s", err.text);
    cr_assert_null(o.socket_path, "a refused command line fills nothing");
}

Test(options, nonsense_is_refused)
{
    refused("--sokcet", "x", "unknown option '--sokcet'");
    refused("--socket", NULL, "--socket needs a value");
    refused("--socket", "", "--socket cannot be ''");
    refused("--idle-ms", "-1", "cannot be '-1'");
    refused("--idle-ms", "5s", "cannot be '5s'");
    refused("--idle-ms", "99999999999999999999", "cannot be");
    refused("--max-processes", "4294967296", "cannot be");
    refused("--workdir", "/", "--socket PATH is missing");
}
