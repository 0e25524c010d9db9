/*
 * ini.c - see ini.h. Owns the line reader that stands between the file and inih.
 * For every physical line that a value swallows the reader gives inih an empty comment, so that inih's
 * idea of the line number stays right. inih's run-time switches are process-wide and not touched.
 * Tests: tests/unit/test_factory_ini.c
 */
#include "factory/ini.h"

#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define SKELETON_BYTES 190 /* inih's line buffer holds 199 */

struct reader {
    struct arena *arena;
    const char *name;
    const char *at, *end;
    int line;      /* of the line that was read last */
    int pad;       /* empty comments still to hand out */
    int count;     /* raw values so far */
    int cap;
    const char **values;
    int *lines;
    const char *section;
    int section_line;
    struct ini_entry *first, **link;
    struct err *err;
    bool failed;
};

static int bad(struct reader *r, int line, const char *fmt, const char *what)
{
    char text[ERR_TEXT_BYTES / 2];
    if (!r->failed) {
        snprintf(text, sizeof(text), "%s", what);
        err_set(r->err, ERR_PERMANENT, "BadConfig", "%s:%d: %s%s", r->name, line, fmt, text);
        r->failed = true;
    }
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
        return bad(r, opened, "<< needs a word that ends the text", "");
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

static int read_json(struct reader *r, const char *value, size_t len, const char **ret)
{
    autostr struct str text = {0};
    struct balance balance = {0};
    int opened = r->line;
    str_addn(&text, value, len);
    balance_add(&balance, value, len);
    while (balance.depth > 0 && !balance.in_string) {
        if (!next_line(r, &value, &len)) {
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

static bool plain_word(const char *text, size_t len, size_t max)
{
    for (size_t i = 0; i < len; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", text[i])) {
            return false;
        }
    }
    return len > 0 && len <= max;
}

static int read_section(struct reader *r, const char *line, size_t len, char *buf)
{
    const char *close = memchr(line, ']', len);
    if (!close || close != line + len - 1) {
        return bad(r, r->line, close ? "there is text behind the section's bracket"
                                     : "a section's bracket is not closed", "");
    }
    const char *name = line + 1;
    size_t name_len = len - 2;
    trim(&name, &name_len);
    if (!plain_word(name, name_len, INI_SECTION_BYTES_MAX)) {
        return bad(r, r->line, "a section name is 1 to 200 letters, digits, '.', '_' or '-'", "");
    }
    r->section = arena_strndup(r->arena, name, name_len);
    r->section_line = r->line;
    struct ini_entry *entry = arena_new_of(r->arena, struct ini_entry);
    entry->section = r->section;
    entry->line = r->line;
    *r->link = entry;
    r->link = &entry->next;
    /* inih's section buffer is 50 bytes: it gets a number, we keep the name. */
    snprintf(buf, SKELETON_BYTES, "[s%d]\n", r->section_line);
    return 0;
}

static int read_pair(struct reader *r, const char *line, size_t len, char *buf)
{
    const char *eq = memchr(line, '=', len);
    int at = r->line;
    if (!eq) {
        return bad(r, at, "expected `key = value`, found: ", arena_strndup(r->arena, line, len));
    }
    const char *key = line, *value = eq + 1, *whole;
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
        if (read_heredoc(r, mark, mark_len, &whole) < 0) {
            return -1;
        }
    } else if (value_len && (value[0] == '[' || value[0] == '{')) {
        if (read_json(r, value, value_len, &whole) < 0) {
            return -1;
        }
    } else {
        whole = arena_strndup(r->arena, value, value_len);
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
    if (num < SKELETON_BYTES || r->failed) {
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
    return rc < 0 ? NULL : buf;
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

static int refuse_doubles(struct reader *r)
{
    for (struct ini_entry *a = r->first; a; a = a->next) {
        for (struct ini_entry *b = a->next; b; b = b->next) {
            if (str_eq(a->section, b->section) && str_eq(a->key, b->key)) {
                return err_set(r->err, ERR_PERMANENT, "BadConfig",
                               "%s:%d: [%s] %s is given before, in line %d", r->name, b->line,
                               b->section, b->key ? b->key : "", a->line);
            }
        }
    }
    return 0;
}

int ini_read(struct arena *arena, const char *name, const char *text, size_t len,
              struct ini_entry **ret_first, struct err *err)
{
    struct reader r = {.arena = arena, .name = name, .at = text, .end = text + len, .section = "",
                       .err = err};
    struct fill fill = {.reader = &r};
    r.link = &r.first;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        r.at += 3;
    }
    if (len > INI_FILE_BYTES_MAX) {
        return err_set(err, ERR_PERMANENT, "BadConfig", "%s is larger than 1 MiB", name);
    }
    if (memchr(text, '\0', len) || !utf8_valid(text, len)) {
        return err_set(err, ERR_PERMANENT, "BadConfig", "%s is not UTF-8 text", name);
    }
    int rc = ini_parse_stream(read_line, &r, take, &fill);
    if (r.failed) {
        return -1;
    }
    if (rc != 0) {
        return err_set(err, ERR_PERMANENT, "BadConfig", "%s:%d: not understood", name, rc);
    }
    if (refuse_doubles(&r) < 0) {
        return -1;
    }
    *ret_first = r.first;
    return 0;
}
