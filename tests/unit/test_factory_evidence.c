/*
 * test_factory_evidence.c - evidence files: once, durable, scrubbed, bounded, inside their
 * directory.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/redact.h"
#include "factory/evidence.h"
#include "tests/lib/temp_path.h"

#define MAX_BYTES 65536
#define SECRET "zq7-unit-5d1f2c3b"

static char *runs_dir;
static struct evidence *evidence;

static void set_up(void)
{
    struct err err = {0};
    runs_dir = temp_path("runs");
    umask(022);
    redact_register(SECRET, strlen(SECRET));
    cr_assert_eq(evidence_open(runs_dir, "r1", NULL, MAX_BYTES, true, &evidence, &err), 0, "%s",
                 err.text);
}

static void tear_down(void)
{
    redact_forget_all();
    evidence_close(evidence);
    free(runs_dir);
}

TestSuite(evidence, .init = set_up, .fini = tear_down, .timeout = 60);

static void write_ok(const char *path, enum evidence_kind kind, const char *text)
{
    struct err err = {0};
    cr_assert_eq(evidence_write(evidence, path, kind, text, strlen(text), NULL, &err), 0, "%s",
                 err.text);
}

static const char *read_back(const char *path)
{
    static struct str text;
    struct err err = {0};
    str_reset(&text);
    int rc = evidence_read(evidence, path, 1 << 20, &text, &err);
    cr_assert_geq(rc, 0, "%s", err.text);
    return rc == 1 ? "(absent)" : str_c(&text);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    autofree char *whole = fs_join(evidence_dir(evidence), path);
    cr_assert_eq(stat(whole, &st), 0, "%s", whole);
    return st.st_mode & 07777;
}

Test(evidence, run_ids)
{
    static const char *const good[] = {"r", "run-0123", "A.b_c-9"};
    static const char *const bad[] = {"", ".", "..", ".x", "-x", "a/b", "a b", "a\nb", "ä", NULL};
    char longest[EVIDENCE_RUN_ID_BYTES_MAX + 2];
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        cr_assert(run_id_is_good(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_assert(!run_id_is_good(bad[i]), "%s", bad[i] ? bad[i] : "NULL");
    }
    memset(longest, 'a', sizeof(longest));
    longest[EVIDENCE_RUN_ID_BYTES_MAX + 1] = '\0';
    cr_assert(!run_id_is_good(longest));
    longest[EVIDENCE_RUN_ID_BYTES_MAX] = '\0';
    cr_assert(run_id_is_good(longest));
}

Test(evidence, whoever_looks_makes_nothing)
{
    struct err err = {0};
    struct evidence *other = NULL;
    autofree char *dir = fs_join(runs_dir, "typo");
    cr_assert_eq(evidence_open(runs_dir, "typo", NULL, MAX_BYTES, false, &other, &err), 1);
    cr_assert(!fs_exists(dir));
    cr_assert_lt(evidence_open(runs_dir, "../r1", NULL, MAX_BYTES, true, &other, &err), 0);
    cr_assert_str_eq(err.name, "BadRunId");
}

Test(evidence, modes_and_kinds)
{
    write_ok("a/b/text", EVIDENCE_TEXT, "token " SECRET " here");
    write_ok("data.json", EVIDENCE_JSON, "{\"k\":\"" SECRET "\",\"n\":12345678901234567890}");
    write_ok("raw", EVIDENCE_RAW, "raw " SECRET);
    write_ok("sealed", EVIDENCE_SEALED, "sealed " SECRET);
    cr_assert_str_eq(read_back("a/b/text"), "token [REDACTED] here");
    cr_assert_str_eq(read_back("data.json"),
                     "{\n  \"k\": \"[REDACTED]\",\n  \"n\": 12345678901234567890\n}\n");
    cr_assert_str_eq(read_back("raw"), "raw " SECRET);
    cr_assert_eq(mode_of("a"), 0750);
    cr_assert_eq(mode_of("a/b"), 0750);
    cr_assert_eq(mode_of("a/b/text"), 0640);
    cr_assert_eq(mode_of("sealed"), 0600);
    cr_assert_str_eq(read_back("no/such"), "(absent)");
}

Test(evidence, a_digest_is_of_what_was_stored)
{
    struct err err = {0};
    char got[SHA256_HEX_BYTES], wanted[SHA256_HEX_BYTES];
    const char *stored = "x [REDACTED]";
    cr_assert_eq(
        evidence_write(evidence, "t", EVIDENCE_TEXT, "x " SECRET, strlen("x " SECRET), got, &err),
        0);
    sha256_hex(stored, strlen(stored), wanted);
    cr_assert_str_eq(got, wanted);
}

Test(evidence, written_once_and_never_lost)
{
    write_ok("d/f", EVIDENCE_TEXT, "one");
    write_ok("d/f", EVIDENCE_TEXT, "one");
    cr_assert_str_eq(read_back("earlier-attempts/1/d/f"), "(absent)");
    write_ok("d/f", EVIDENCE_TEXT, "two");
    write_ok("d/f", EVIDENCE_TEXT, "three");
    cr_assert_str_eq(read_back("d/f"), "three");
    cr_assert_str_eq(read_back("earlier-attempts/1/d/f"), "one");
    cr_assert_str_eq(read_back("earlier-attempts/2/d/f"), "two");
}

Test(evidence, refusals)
{
    static const char *const outside[] = {"", "/etc/x", "../x", "a/../../x", "a//b/../../..", "."};
    struct err err = {0};
    struct str text = {0};
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        cr_assert_lt(evidence_write(evidence, outside[i], EVIDENCE_TEXT, "x", 1, NULL, &err), 0,
                     "%s", outside[i]);
        cr_assert_str_eq(err.name, "BadEvidencePath", "%s", outside[i]);
        cr_assert_lt(evidence_read(evidence, outside[i], 10, &text, &err), 0, "%s", outside[i]);
    }
    autofree char *big = mem_alloc(MAX_BYTES + 1);
    cr_assert_lt(evidence_write(evidence, "big", EVIDENCE_RAW, big, MAX_BYTES + 1, NULL, &err), 0);
    cr_assert_str_eq(err.name, "EvidenceTooLarge");
    cr_assert_eq(err.kind, ERR_PERMANENT);
    cr_assert_eq(evidence_write(evidence, "big", EVIDENCE_RAW, big, MAX_BYTES, NULL, &err), 0);
    cr_assert_lt(evidence_write(evidence, "bad.json", EVIDENCE_JSON, "{x", 2, NULL, &err), 0);
    cr_assert_str_eq(read_back("bad.json"), "(absent)");
}

Test(evidence, no_way_out_through_a_link)
{
    struct err err = {0};
    struct evidence_log *log = NULL;
    autofree char *link = fs_join(evidence_dir(evidence), "out");
    autofree char *file = fs_join(evidence_dir(evidence), "file.log");
    autofree char *target = fs_join(runs_dir, "elsewhere");
    autofree char *escaped = fs_join(target, "f");
    cr_assert_eq(fs_mkdirs(target, 0755, &err), 0);
    cr_assert_eq(symlink("../elsewhere", link), 0);
    cr_assert_eq(symlink("../elsewhere/f", file), 0);
    cr_assert_lt(evidence_write(evidence, "out/f", EVIDENCE_TEXT, "x", 1, NULL, &err), 0);
    cr_assert_lt(evidence_log_open(evidence, "out/f", &log, &err), 0);
    cr_assert_lt(evidence_log_open(evidence, "file.log", &log, &err), 0);
    cr_assert(!fs_exists(escaped));
}

static void log_add(struct evidence_log *log, const char *bytes, size_t len)
{
    struct err err = {0};
    cr_assert_eq(evidence_log_add(log, bytes, len, &err), 0, "%s", err.text);
}

static struct evidence_log *log_open(void)
{
    struct err err = {0};
    struct evidence_log *log = NULL;
    cr_assert_eq(evidence_log_open(evidence, "l/log", &log, &err), 0, "%s", err.text);
    return log;
}

static void log_finish(struct evidence_log *log)
{
    struct err err = {0};
    cr_assert_eq(evidence_log_finish(log, &err), 0, "%s", err.text);
}

Test(evidence, a_log_is_scrubbed_across_its_pieces)
{
    struct evidence_log *log = log_open();
    for (const char *c = "a " SECRET " b\n"; *c; c++) {
        log_add(log, c, 1);
    }
    log_finish(log);
    cr_assert_str_eq(read_back("l/log"), "a [REDACTED] b\n");
    cr_assert_eq(mode_of("l/log"), 0640);
    log = log_open();
    log_add(log, "anew", 4);
    log_finish(log);
    cr_assert_str_eq(read_back("l/log"), "anew");
    log_finish(NULL);
}

Test(evidence, a_log_that_just_fits_is_whole)
{
    autofree char *bytes = mem_alloc(MAX_BYTES + 1);
    memset(bytes, 'x', MAX_BYTES);
    struct evidence_log *log = log_open();
    log_add(log, bytes, MAX_BYTES);
    log_finish(log);
    cr_assert_str_eq(read_back("l/log"), bytes);
}

Test(evidence, a_long_log_keeps_head_and_tail)
{
    enum { LINES = 20000, BYTES = 9 * LINES };
    struct evidence_log *log = log_open();
    for (int i = 0; i < LINES; i++) {
        char line[16];
        snprintf(line, sizeof(line), "%08d\n", i);
        log_add(log, line, 9);
    }
    log_finish(log);
    const char *text = read_back("l/log");
    const char *note = strstr(text, "\n[factory: ");
    unsigned long long left_out = 0;
    cr_assert(str_starts(text, "00000000\n00000001\n"));
    cr_assert(str_ends(text, "00019998\n00019999\n"));
    cr_assert_not_null(note);
    cr_assert_eq(sscanf(note, "\n[factory: %llu bytes left out here]\n", &left_out), 1, "%.60s",
                 note);
    size_t note_len = strcspn(note + 1, "\n") + 2;
    cr_assert_eq(strlen(text) - note_len + left_out, (unsigned long long)BYTES);
    cr_assert_leq(strlen(text), (size_t)MAX_BYTES + note_len);
}
