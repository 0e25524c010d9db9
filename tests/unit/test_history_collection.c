/*
 * test_history_collection.c - every file of a collection of recorded histories: it loads and
 * validates, or is refused for the reason that tests/histories/pins.tsv pins and docs/histories.md
 * explains; and it comes back equal from each of the forms. Prints the tally.
 *
 * The collection is no part of the source tree (history_files.h). Which files there are is found by
 * walking it, so a new one is a failure until it loads or is pinned. Timeout: 300 s
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

#include "history/diff.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/source.h"
#include "history/store.h"
#include "history/validate.h"
#include "history_files.h"

#define FILES_MAX 4096

static char *paths[FILES_MAX];
static size_t path_count;

struct tally {
    size_t files;
    size_t loaded;
    size_t valid;
    size_t warned;
    size_t pinned;
    size_t round_tripped;
    size_t binary;
    size_t events;
};

static int visit(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    (void)at;
    if (flag == FTW_F && (str_ends(path, ".json") || str_ends(path, ".bin")) &&
        !strstr(path, "/composed/replayer/")) {
        cr_assert_lt(path_count, FILES_MAX);
        paths[path_count++] = mem_strdup(path);
    }
    return 0;
}

/* --- the tables --------------------------------------------------------------------------------
 */

/* Column n of the line of a tab-separated table that begins with that path; false: none. */
static bool find_row(const struct str *table, const char *path, int column, struct str *ret)
{
    size_t len = strlen(path);

    for (const char *line = str_c(table); *line;) {
        const char *end = strchrnul(line, '\n');
        if (strncmp(line, path, len) == 0 && line[len] == '\t') {
            for (; column > 0; column--) {
                line = (const char *)memchr(line, '\t', (size_t)(end - line)) + 1;
            }
            const char *tab = memchr(line, '\t', (size_t)(end - line));
            str_addn(ret, line, (size_t)((tab ? tab : end) - line));
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* --- nothing is lost ---------------------------------------------------------------------------
 */

static void equal(const char *path, const char *form, const struct history *a,
                  const struct history *b, unsigned ignore)
{
    autostr struct str difference = {0};

    cr_assert(history_equal(a, b, ignore, &difference), "%s: %s: %s", path, form,
              str_c(&difference));
}

static void through_json(const char *path, const struct history *history, struct str *ret_text)
{
    autoarena struct arena *arena = arena_new();
    struct history again = {0};
    struct err err = {0};

    history_to_json(ret_text, history);
    cr_assert_eq(history_from_bytes(arena, ret_text->ptr, ret_text->len, &again, &err), 0, "%s: %s",
                 path, err.text);
    equal(path, "JSON", history, &again, DIFF_EXACT);
}

/* Of events that this program does not know the members may get another spelling. */
static void through_proto(const char *path, const struct history *history)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0}, back = {0};
    struct history again = {0}, third = {0};
    struct err err = {0};

    history_to_proto(&bytes, history);
    cr_assert(bytes_are_proto(bytes.ptr, bytes.len), "%s", path);
    cr_assert_eq(history_from_bytes(arena, bytes.ptr, bytes.len, &again, &err), 0, "%s: %s", path,
                 err.text);
    for (size_t i = 0; i < history->count; i++) {
        autostr struct str difference = {0};
        const struct event *event = &history->items[i];
        unsigned ignore = DIFF_DIGITS | (event->type == EVENT_UNKNOWN ? DIFF_UNKNOWN : 0U);
        cr_assert(event_equal(event, &again.items[i], ignore, &difference), "%s: binary: %s", path,
                  str_c(&difference));
    }
    cr_assert_eq(history->count, again.count);
    history_to_proto(&back, &again);
    cr_assert_eq(history_from_bytes(arena, back.ptr, back.len, &third, &err), 0);
    equal(path, "binary of binary", &again, &third, DIFF_EXACT);
}

static void through_store(const char *path, const struct history *history)
{
    autoarena struct arena *arena = arena_new();
    struct store_context enc, dec;
    struct err err = {0};

    store_context_init(&enc, NULL, "q", "w@h", NULL, NULL);
    dec = enc;
    for (size_t i = 0; i < history->count; i++) {
        const struct event *event = &history->items[i];
        autostr struct str row = {0}, difference = {0};
        struct event copy;
        store_encode(&enc, event, &row);
        cr_assert_eq(store_decode(&dec, arena, event->id, event->type, event->time_ns,
                                  row.len > 0 ? row.ptr : NULL, row.len, &copy, &err),
                     0, "%s: %s", path, err.text);
        cr_assert(event_equal(event, &copy, DIFF_EXACT, &difference), "%s: stored: %s", path,
                  str_c(&difference));
    }
}

/* Every digit of every time and task id of the source is in what is printed. */
static size_t digits_kept(const char *path, const struct str *source, const struct str *printed)
{
    static const char *const keys[] = {"\"eventTime\"", "\"taskId\""};
    size_t seen = 0;

    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        const char *at = str_c(source);
        const char *from = str_c(printed);
        for (; (at = strstr(at, keys[k])); seen++) {
            char value[64];
            at += strlen(keys[k]);
            at += strspn(at, ": \t\n\r\"");
            size_t len = strcspn(at, "\", \t\n\r}");
            cr_assert_lt(len, sizeof(value) - 4);
            snprintf(value, sizeof(value), "\"%.*s\"", (int)len, at);
            if (str_eq(value, "\"0\"") || str_eq(value, "\"null\"")) {
                continue; /* zeros are absent, as the protocol has it */
            }
            const char *found = strstr(from, value);
            cr_assert(found || strstr(str_c(printed), value), "%s: %s %s is lost", path, keys[k],
                      value);
            from = found ? found : from;
        }
    }
    return seen;
}

/* --- one file ----------------------------------------------------------------------------------
 */

static void expect_pin(const char *path, const struct str *pins, const struct err *err,
                       struct tally *tally)
{
    autostr struct str words = {0};

    cr_assert(find_row(pins, path, 2, &words), "%s is refused and not pinned: %s", path, err->text);
    cr_assert(strstr(err->text, str_c(&words)), "%s is pinned for \"%s\" and refused for: %s", path,
              str_c(&words), err->text);
    tally->pinned++;
}

/* The collection holds most binary files decoded by protobuf's own library as well. */
static void check_decoded(const char *dir, const char *path, const struct history *history)
{
    autoarena struct arena *arena = arena_new();
    autofree char *name = NULL;
    autostr struct str text = {0}, file = {0};
    struct history other = {0};
    struct err err = {0};

    str_addf(&file, "_decoded_from_bin/%s.json", path);
    name = fs_join(dir, str_c(&file));
    if (fs_exists(name)) {
        read_text(dir, str_c(&file), &text);
        cr_assert_eq(history_from_bytes(arena, text.ptr, text.len, &other, &err), 0);
        equal(path, "decoded elsewhere", &other, history, DIFF_DIGITS);
    }
}

static void check_file(const char *dir, const char *path, const struct str *pins,
                       const struct str *index, struct tally *tally)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0}, printed = {0}, words = {0}, events = {0}, warnings = {0};
    struct history history = {0};
    struct err err = {0};

    read_text(dir, path, &bytes);
    tally->files++;
    if (history_from_bytes(arena, bytes.ptr, bytes.len, &history, &err) < 0) {
        expect_pin(path, pins, &err, tally);
        return;
    }
    tally->loaded++;
    tally->events += history.count;
    if (find_row(index, path, 2, &events)) {
        cr_assert_eq(strtoul(str_c(&events), NULL, 10), history.count, "%s: %zu events, not %s",
                     path, history.count, str_c(&events));
    }
    through_json(path, &history, &printed);
    through_proto(path, &history);
    through_store(path, &history);
    if (str_ends(path, ".bin")) {
        check_decoded(dir, path, &history);
        tally->binary++;
    } else {
        digits_kept(path, &bytes, &printed);
    }
    tally->round_tripped++;
    int rc = history_validate(&history, &warnings, &err);
    if (rc < 0) {
        expect_pin(path, pins, &err, tally);
        return;
    }
    cr_assert(!find_row(pins, path, 2, &words), "%s is pinned and not refused", path);
    tally->valid++;
    tally->warned += rc > 0;
}

Test(collection, every_file_loads_or_is_pinned, .timeout = 300)
{
    autofree char *dir = collection_dir();
    autofree char *golden = fs_join(source_dir(), "tests/histories");
    autostr struct str pins = {0}, index = {0};
    struct tally tally = {0};

    if (!fs_is_dir(dir)) {
        cr_skip_test("skip: set FACTORY_HISTORIES to a collection of recorded histories");
    }
    cr_assert_eq(nftw(dir, visit, 16, FTW_PHYS), 0);
    read_text(golden, "pins.tsv", &pins);
    read_text(dir, "INDEX.tsv", &index);
    for (size_t i = 0; i < path_count; i++) {
        check_file(dir, paths[i] + strlen(dir) + 1, &pins, &index, &tally);
        free(paths[i]);
    }
    printf("# histories: %zu files, %zu events: %zu loaded, %zu validated (%zu with a warning), "
           "%zu refused as pinned, %zu round-tripped (%zu binary)\n",
           tally.files, tally.events, tally.loaded, tally.valid, tally.warned, tally.pinned,
           tally.round_tripped, tally.binary);
    cr_assert_gt(tally.files, 0);
    cr_assert_eq(tally.valid + tally.pinned, tally.files);
    cr_assert_eq(tally.round_tripped, tally.loaded);
}

/* The table itself: three columns, each path once, each class explained in docs/histories.md. */
Test(collection, every_pin_is_explained)
{
    autofree char *golden = fs_join(source_dir(), "tests/histories");
    autofree char *docs = fs_join(source_dir(), "docs");
    autostr struct str pins = {0}, text = {0};
    size_t count = 0;

    read_text(golden, "pins.tsv", &pins);
    read_text(docs, "histories.md", &text);
    for (const char *line = strchr(str_c(&pins), '\n') + 1; *line; count++) {
        const char *end = strchr(line, '\n');
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        autostr struct str path = {0}, reason = {0}, again = {0}, mark = {0};
        cr_assert(tab);
        str_addn(&path, line, (size_t)(tab - line));
        cr_assert(find_row(&pins, str_c(&path), 1, &reason) && reason.len > 0);
        cr_assert(find_row(&pins, str_c(&path), 2, &again) && again.len > 0);
        str_addf(&mark, "| `%s` |", str_c(&reason));
        cr_assert(strstr(str_c(&text), str_c(&mark)), "%s is not in docs/histories.md",
                  str_c(&reason));
        line = end + 1;
        cr_assert_null(strstr(line, str_c(&path)), "%s is there twice", str_c(&path));
    }
    cr_assert_gt(count, 0);
}
