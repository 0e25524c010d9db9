/*
 * test_factory_ini.c - the file grammar: every trap of the INI reader below, line numbers,
 * recovery.
 */
#include "factory/ini.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"

struct found {
    struct arena *arena;
    struct ini_entry *first;
    struct str problems; /* "LINE: text" each, one a line */
    int count;
};

static void on_problem(void *user, int line, const char *text)
{
    struct found *f = user;
    str_addf(&f->problems, "%d: %s\n", line, text);
}

static struct found read_n(const char *text, size_t len)
{
    struct found f = {.arena = arena_new()};
    f.count = ini_read(f.arena, text, len, on_problem, &f, &f.first);
    return f;
}

static struct found read_text(const char *text)
{
    return read_n(text, strlen(text));
}

static void done(struct found *f)
{
    str_free(&f->problems);
    arena_free(f->arena);
}

static const struct ini_entry *find(const struct found *f, const char *section, const char *key)
{
    for (const struct ini_entry *e = f->first; e; e = e->next) {
        if (str_eq(e->section, section) && str_eq(e->key, key)) {
            return e;
        }
    }
    return NULL;
}

static const char *value(const struct found *f, const char *section, const char *key)
{
    const struct ini_entry *e = find(f, section, key);
    return e ? e->value : NULL;
}

static int line(const struct found *f, const char *section, const char *key)
{
    const struct ini_entry *e = find(f, section, key);
    return e ? e->line : 0;
}

static void expect_problem(const char *text, const char *problem)
{
    struct found f = read_text(text);
    cr_assert(strstr(str_c(&f.problems), problem), "%s\ngave: %s\nwanted: %s", text,
              str_c(&f.problems), problem);
    done(&f);
}

Test(ini, values_are_whole)
{
    struct found f = read_text("\xef\xbb\xbf# c\r\n[a]\r\nplain = x ; y # z\r\n  empty =\r\n; c\r\n"
                               "eq = a=b=c\r\n[empty.section]\r\nq = \"quoted\"\r\n");
    cr_assert_eq(f.count, 0, "%s", str_c(&f.problems));
    cr_assert_str_eq(value(&f, "a", "plain"), "x ; y # z");
    cr_assert_str_eq(value(&f, "a", "empty"), "");
    cr_assert_str_eq(value(&f, "a", "eq"), "a=b=c");
    cr_assert_str_eq(value(&f, "empty.section", "q"), "\"quoted\"");
    cr_assert_eq(line(&f, "a", "eq"), 6);
    done(&f);
}

/* The library below cuts lines at 199 bytes and reads the rest as new lines and sections. */
Test(ini, long_values_are_neither_cut_nor_injected)
{
    autostr struct str text = {0};
    str_add(&text, "[a]\nlong = ");
    for (int i = 0; i < 300; i++) {
        str_add(&text, "x");
    }
    str_add(&text, " [evil] k = v\nnext = 1\n");
    struct found f = read_text(str_c(&text));
    cr_assert_eq(f.count, 0, "%s", str_c(&f.problems));
    cr_assert_eq(strlen(value(&f, "a", "long")), 313);
    cr_assert_str_eq(value(&f, "a", "next"), "1");
    cr_assert_eq(line(&f, "a", "next"), 3);
    done(&f);
}

Test(ini, long_names_do_not_merge)
{
    autostr struct str text = {0};
    autostr struct str name = {0};
    for (int i = 0; i < 90; i++) {
        str_addc(&name, 'n');
    }
    str_addf(&text, "[%s.one]\n%s1 = a\n%s2 = b\n[%s.two]\n%s1 = c\n", str_c(&name), str_c(&name),
             str_c(&name), str_c(&name), str_c(&name));
    struct found f = read_text(str_c(&text));
    cr_assert_eq(f.count, 0, "%s", str_c(&f.problems));
    str_addf(&name, ".two");
    cr_assert(find(&f, str_c(&name), NULL));
    done(&f);
}

Test(ini, indented_lines_are_lines)
{
    struct found f = read_text("[a]\nk = 1\n  j = 2\n  [b]\n  i = 3\n");
    cr_assert_str_eq(value(&f, "a", "k"), "1");
    cr_assert_str_eq(value(&f, "a", "j"), "2");
    cr_assert_str_eq(value(&f, "b", "i"), "3");
    done(&f);
}

Test(ini, json_goes_on_until_its_brackets_close)
{
    struct found f =
        read_text("[a]\nargv = [\"sh\", \"-c\",\n  \"echo ] ; # [x]\",\n\n# kept\n \"\\\"]\"]\n"
                  "map = {\"k\":\n \"v\"}\nafter = 1\n");
    cr_assert_eq(f.count, 0, "%s", str_c(&f.problems));
    cr_assert_str_eq(value(&f, "a", "argv"),
                     "[\"sh\", \"-c\",\n  \"echo ] ; # [x]\",\n\n# kept\n \"\\\"]\"]");
    cr_assert_str_eq(value(&f, "a", "map"), "{\"k\":\n \"v\"}");
    cr_assert_eq(line(&f, "a", "after"), 9);
    done(&f);
}

Test(ini, heredocs_are_kept_byte_for_byte)
{
    struct found f = read_text("[a]\ns = <<END\n  one\n\n; two\n[three]\nEND of it\nEND\nk = 1\n");
    cr_assert_eq(f.count, 0, "%s", str_c(&f.problems));
    cr_assert_str_eq(value(&f, "a", "s"), "  one\n\n; two\n[three]\nEND of it\n");
    cr_assert_eq(line(&f, "a", "k"), 9);
    done(&f);
}

Test(ini, every_problem_and_what_is_behind_it)
{
    struct found f =
        read_text("[a\nlost = 1\n[b]\nnonsense\nbad key = 1\n= 2\n[b] junk\nlost = 2\n"
                  "[c]\nl = [\"x\",\n  \"y\"\nk = 1\nk = 2\n[C]\n[d]\ns = <<\nt = <<E\n");
    const char *wanted = "1: the section's bracket is not closed\n"
                         "4: expected `key = value`, found: nonsense\n"
                         "5: a key is 1 to 100 letters, digits, '.', '_' or '-', found: bad key\n"
                         "6: a key is 1 to 100 letters, digits, '.', '_' or '-', found: \n"
                         "7: there is text behind the section's bracket\n"
                         "10: the brackets that open here are never closed\n"
                         "16: << needs a word that ends the text\n  write: <<END\n"
                         "17: this text is never ended by a line that says E\n"
                         "14: [C] is given before, in line 9\n"
                         "13: [c] k is given before, in line 12\n";
    autostr struct str sorted = {0};
    cr_assert_eq(f.count, 10);
    for (const char *line = wanted; *line; line = strchr(line, '\n') + 1) {
        str_reset(&sorted);
        str_addn(&sorted, line, (size_t)(strchr(line, '\n') - line) + 1);
        cr_expect(strstr(str_c(&f.problems), str_c(&sorted)), "missing: %s in\n%s", str_c(&sorted),
                  str_c(&f.problems));
    }
    cr_assert_null(find(&f, "a", "lost"));
    cr_assert_null(find(&f, "b", "lost"));
    cr_assert_str_eq(value(&f, "c", "k"), "1");
    cr_assert(find(&f, "c", "l"));
    cr_assert_null(value(&f, "c", "l"), "an unreadable value is NULL, not empty");
    done(&f);
}

Test(ini, what_is_not_text)
{
    struct found f = read_n("[a]\nk = \0x\n", 11);
    cr_assert_str_eq(str_c(&f.problems), "2: this is not UTF-8 text\n");
    done(&f);
    expect_problem("[a]\n\nk = \xff\n", "3: this is not UTF-8 text");
    expect_problem("[a b]\n", "1: a section is 1 to 200 letters");
    expect_problem("[]\n", "1: a section is 1 to 200 letters");
    expect_problem("[a]\nx = [1\n", "2: the brackets that open here are never closed");
}

Test(ini, doubles_of_a_large_file_are_found_quickly, .timeout = 20)
{
    autostr struct str text = {0};
    str_add(&text, "[a]\n");
    for (int i = 0; i < 100000; i++) {
        str_addf(&text, "k%d=\n", i);
    }
    str_add(&text, "k7=\n");
    struct found f = read_text(str_c(&text));
    cr_assert_str_eq(str_c(&f.problems), "100002: [a] k7 is given before, in line 9\n");
    done(&f);
}

Test(ini, larger_than_a_configuration_is)
{
    autostr struct str text = {0};
    str_reserve(&text, INI_FILE_BYTES_MAX + 1);
    while (text.len <= INI_FILE_BYTES_MAX) {
        str_add(&text, "# comment\n");
    }
    struct found f = read_text(str_c(&text));
    cr_assert_str_eq(str_c(&f.problems), "0: the file is larger than 1 MiB\n");
    done(&f);
}

Test(ini, nothing_is_fine)
{
    struct found f = read_text("");
    cr_assert_eq(f.count, 0);
    cr_assert_null(f.first);
    done(&f);
}
