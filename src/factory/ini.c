/*
 * ini.c - see ini.h. Owns the line reader that stands between the file and inih.
 * For every physical line that a value swallows the reader gives inih an empty comment, so that
 * inih's idea of the line number stays right. inih's run-time switches are process-wide and not
 * touched. Tests: tests/unit/test_factory_ini.c
 */
#include "factory/ini.h"

#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define SKELETON_BYTES 190 /* inih's line buffer holds 199 */
#define FOUND_BYTES 80     /* of what was found, in a message */

struct reader {
    struct arena *arena;
    const char *at, *end;
    int line;  /* of the line that was read last */
    int pad;   /* empty comments still to hand out */
    int count; /* raw values so far */
    int cap;
    const char **values;
    int *lines;
    const char *section; /* NULL: its header was bad; what is in it is read and dropped */
    struct ini_entry *first, **link;
    void (*problem)(void *user, int line, const char *text);
    void *user;
    int problems;
};

static int bad(struct reader *r, int line, const char *what, const char *found)
{
    autostr struct str text = {0};
    str_add(&text, what);
    str_addn(&text, found, utf8_prefix(found, strlen(found), FOUND_BYTES));
    r->problem(r->user, line, str_c(&text));
    r->problems++;
    return -1;
}

/* Next physical line without its end, or false. */
static bool next_line(struct reader *r, const char **ret, size_t *ret_len)
{
    if (r->at >= r->end) {
        return false;
    }
    const char *nl = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *stop = nl ? nl : r->end;
    *ret = r->at;
    *ret_len = (size_t)(stop - r->at);
    if (*ret_len > 0 && (*ret)[*ret_len - 1] == '\r') {
        (*ret_len)--;
    }
    r->at = nl ? nl + 1 : r->end;
    r->line++;
    return true;
}

static void trim(const char **text, size_t *len)
{
    while (*len && strchr(" \t", (*text)[0])) {
        (*text)++;
        (*len)--;
    }
    while (*len && strchr(" \t", (*text)[*len - 1])) {
        (*len)--;
    }
}

/* Depth of JSON brackets after this text; strings are skipped. */
struct balance {
    int depth;
    bool in_string;
    bool escaped;
};

static void balance_add(struct balance *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (b->in_string) {
            b->in_string = b->escaped || c != '"';
            b->escaped = !b->escaped && c == '\\';
        } else if (c == '"') {
            b->in_string = true;
            b->escaped = false;
        } else if (c == '[' || c == '{') {
            b->depth++;
        } else if (c == ']' || c == '}') {
            b->depth--;
        }
    }
}

static int add_value(struct reader *r, const char *value, int line)
{
    if (r->count == r->cap) {
        int cap = r->cap ? r->cap * 2 : 64;
        const char **values = arena_array_of(r->arena, const char *, (size_t)cap);
        int *lines = arena_array_of(r->arena, int, (size_t)cap);
        if (r->count) {
            memcpy(values, r->values, sizeof(*values) * (size_t)r->count);
            memcpy(lines, r->lines, sizeof(*lines) * (size_t)r->count);
        }
        r->values = values;
        r->lines = lines;
        r->cap = cap;
    }
    r->values[r->count] = value;
    r->lines[r->count] = line;
    return r->count++;
}

/* Lines until one that is `mark` alone. */
static int read_heredoc(struct reader *r, const char *mark, size_t mark_len, const char **ret)
{
    autostr struct str text = {0};
    const char *line;
    size_t len;
    int opened = r->line;
    if (mark_len == 0) {
        return bad(r, opened, "<< needs a word that ends the text\n  write: <<END", "");
    }
    while (next_line(r, &line, &len)) {
        r->pad++;
        if (len == mark_len && memcmp(line, mark, len) == 0) {
            *ret = arena_strndup(r->arena, str_c(&text), text.len);
            return 0;
        }
        str_addn(&text, line, len);
        str_addc(&text, '\n');
    }
    return bad(r, opened, "this text is never ended by a line that says ",
               arena_strndup(r->arena, mark, mark_len));
}

static bool plain_word(const char *text, size_t len, size_t max)
{
    for (size_t i = 0; i < len; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", text[i])) {
            return false;
        }
    }
    return len > 0 && len <= max;
}

/* A line that cannot be the middle of a JSON list or map of strings: the brackets were forgotten.
 */
static bool begins_anew(const char *line, size_t len)
{
    trim(&line, &len);
    if (len > 2 && line[0] == '[' && line[len - 1] == ']') {
        return plain_word(line + 1, len - 2, INI_SECTION_BYTES_MAX);
    }
    const char *eq = memchr(line, '=', len);
    size_t key_len = eq ? (size_t)(eq - line) : 0;
    trim(&line, &key_len);
    return plain_word(line, key_len, INI_KEY_BYTES_MAX);
}

static int read_json(struct reader *r, const char *value, size_t len, const char **ret)
{
    autostr struct str text = {0};
    struct balance balance = {0};
    int opened = r->line;
    str_addn(&text, value, len);
    balance_add(&balance, value, len);
    while (balance.depth > 0 && !balance.in_string) {
        const char *before = r->at;
        bool more = next_line(r, &value, &len);
        if (more && begins_anew(value, len)) {
            r->at = before;
            r->line--;
            more = false;
        }
        if (!more) {
            return bad(r, opened, "the brackets that open here are never closed", "");
        }
        r->pad++;
        str_addc(&text, '\n');
        str_addn(&text, value, len);
        balance_add(&balance, value, len);
    }
    *ret = arena_strndup(r->arena, str_c(&text), text.len);
    return 0;
}

static int read_section(struct reader *r, const char *line, size_t len, char *buf)
{
    const char *close = memchr(line, ']', len);
    r->section = NULL;
    if (!close || close != line + len - 1) {
        return bad(r, r->line,
                   close ? "there is text behind the section's bracket"
                         : "the section's bracket is not closed",
                   "");
    }
    const char *name = line + 1;
    size_t name_len = len - 2;
    trim(&name, &name_len);
    if (!plain_word(name, name_len, INI_SECTION_BYTES_MAX)) {
        return bad(r, r->line, "a section is 1 to 200 letters, digits, '.', '_' or '-', found: ",
                   arena_strndup(r->arena, name, name_len));
    }
    r->section = arena_strndup(r->arena, name, name_len);
    struct ini_entry *entry = arena_new_of(r->arena, struct ini_entry);
    entry->section = r->section;
    entry->line = r->line;
    *r->link = entry;
    r->link = &entry->next;
    /* inih's section buffer is 50 bytes: it gets a number, we keep the name. */
    snprintf(buf, SKELETON_BYTES, "[s%d]\n", r->line);
    return 0;
}

static int read_pair(struct reader *r, const char *line, size_t len, char *buf)
{
    const char *eq = memchr(line, '=', len);
    int at = r->line;
    if (!eq) {
        return bad(r, at, "expected `key = value`, found: ", arena_strndup(r->arena, line, len));
    }
    const char *key = line, *value = eq + 1, *whole = NULL;
    size_t key_len = (size_t)(eq - line), value_len = len - key_len - 1;
    trim(&key, &key_len);
    trim(&value, &value_len);
    if (!plain_word(key, key_len, INI_KEY_BYTES_MAX)) {
        return bad(r, at, "a key is 1 to 100 letters, digits, '.', '_' or '-', found: ",
                   arena_strndup(r->arena, key, key_len));
    }
    if (value_len >= 2 && memcmp(value, "<<", 2) == 0) {
        const char *mark = value + 2;
        size_t mark_len = value_len - 2;
        trim(&mark, &mark_len);
        read_heredoc(r, mark, mark_len, &whole); /* whole stays NULL after a problem */
    } else if (value_len && (value[0] == '[' || value[0] == '{')) {
        read_json(r, value, value_len, &whole);
    } else {
        whole = arena_strndup(r->arena, value, value_len);
    }
    if (!r->section) {
        return -1;
    }
    /* inih's name buffer is 50 bytes: the key goes aside with its value. */
    int index = add_value(r, whole, at);
    struct ini_entry *entry = arena_new_of(r->arena, struct ini_entry);
    entry->section = r->section;
    entry->key = arena_strndup(r->arena, key, key_len);
    entry->line = at;
    *r->link = entry;
    r->link = &entry->next;
    snprintf(buf, SKELETON_BYTES, "k=@%d\n", index);
    return 0;
}

/* inih's reader: one call, one skeleton line. */
static char *read_line(char *buf, int num, void *stream)
{
    struct reader *r = stream;
    const char *line;
    size_t len;
    if (num < SKELETON_BYTES) {
        return NULL;
    }
    if (r->pad > 0) {
        r->pad--;
        memcpy(buf, ";\n", 3);
        return buf;
    }
    if (!next_line(r, &line, &len)) {
        return NULL;
    }
    trim(&line, &len);
    if (len == 0 || line[0] == '#' || line[0] == ';') {
        memcpy(buf, ";\n", 3);
        return buf;
    }
    int rc = line[0] == '[' ? read_section(r, line, len, buf) : read_pair(r, line, len, buf);
    if (rc < 0) { /* it was reported; inih sees a comment */
        memcpy(buf, ";\n", 3);
    }
    return buf;
}

struct fill {
    struct reader *reader;
    struct ini_entry *next; /* the pair that the next value belongs to */
};

/* inih's handler: @N back to raw value N. */
static int take(void *user, const char *section, const char *key, const char *value)
{
    struct fill *fill = user;
    int index = 0;
    (void)section;
    (void)key;
    if (sscanf(value, "@%d", &index) != 1 || index < 0 || index >= fill->reader->count) {
        return 0;
    }
    struct ini_entry *entry = fill->next ? fill->next->next : fill->reader->first;
    while (entry && !entry->key) {
        entry = entry->next;
    }
    if (!entry || entry->line != fill->reader->lines[index]) {
        return 0;
    }
    entry->value = fill->reader->values[index];
    fill->next = entry;
    return 1;
}

/* --- doubles -------------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    const struct ini_entry *left = *(struct ini_entry *const *)a;
    const struct ini_entry *right = *(struct ini_entry *const *)b;
    int rc = strcasecmp(left->section, right->section);
    if (rc == 0) {
        rc = strcmp(left->key ? left->key : "", right->key ? right->key : "");
    }
    return rc ? rc : left->line - right->line;
}

static void refuse_doubles(struct reader *r)
{
    size_t count = 0, at = 0;
    for (struct ini_entry *e = r->first; e; e = e->next) {
        count++;
    }
    struct ini_entry **all = arena_array_of(r->arena, struct ini_entry *, count + 1);
    for (struct ini_entry *e = r->first; e; e = e->next) {
        all[at++] = e;
    }
    qsort(all, count, sizeof(struct ini_entry *), by_name);
    for (size_t i = 1; i < count; i++) {
        const struct ini_entry *e = all[i];
        if (strcasecmp(all[i - 1]->section, e->section) == 0 && str_eq(all[i - 1]->key, e->key)) {
            autostr struct str text = {0};
            str_addf(&text, "[%s]%s%s is given before, in line %d", e->section, e->key ? " " : "",
                     e->key ? e->key : "", all[i - 1]->line);
            bad(r, e->line, str_c(&text), "");
        }
    }
}

/* The first line that is not UTF-8 text, or 0. */
static int bad_bytes(const char *text, size_t len)
{
    int line = 1;
    for (const char *at = text, *end = text + len; at < end; line++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((nl ? nl : end) - at);
        if (memchr(at, '\0', n) || !utf8_valid(at, n)) {
            return line;
        }
        at += n + 1;
    }
    return 0;
}

int ini_read(struct arena *arena, const char *text, size_t len,
             void (*problem)(void *user, int line, const char *text), void *user,
             struct ini_entry **ret_first)
{
    struct reader r = {.arena = arena,
                       .at = text,
                       .end = text + len,
                       .section = "",
                       .problem = problem,
                       .user = user};
    struct fill fill = {.reader = &r};
    r.link = &r.first;
    *ret_first = NULL;
    if (len > INI_FILE_BYTES_MAX) {
        bad(&r, 0, "the file is larger than 1 MiB", "");
        return r.problems;
    }
    int line = bad_bytes(text, len);
    if (line) {
        bad(&r, line, "this is not UTF-8 text", "");
        return r.problems;
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        r.at += 3;
    }
    int rc = ini_parse_stream(read_line, &r, take, &fill);
    if (rc != 0) {
        bad(&r, rc > 0 ? rc : 0, "not understood", "");
    }
    refuse_doubles(&r);
    *ret_first = r.first;
    return r.problems;
}
