/*
 * ignore.c - .gitignore rules as plain data.
 *
 * Owns and must not: see ignore.h. The verdict on the last directory asked about is remembered,
 * since paths come directory by directory. Compared with `git check-ignore` by the tests. Tests:
 * tests/unit/test_repo_ignore.c
 */
#include "repo/ignore.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "repo/glob.h"

struct rule {
    const char *dir; /* "" or "a/b/" */
    size_t dir_len;
    const char *pattern;
    size_t len;
    bool negate;
    bool dirs_only;
    bool any_depth;            /* no "/" in it: compared with the last component */
    const struct rule *before; /* the next one to ask: older */
};

struct ignore_set {
    struct arena *arena;
    const struct rule *last;
    char *seen_dir; /* heap-free: in the arena, grown by doubling */
    size_t seen_len;
    size_t seen_cap;
    bool seen_ignored;
    bool seen_any;
};

struct ignore_set *ignore_new(struct arena *arena)
{
    struct ignore_set *set = arena_new_of(arena, struct ignore_set);
    set->arena = arena;
    return set;
}

/* Cut spaces at the end unless a backslash quotes them. */
static size_t trim_spaces(const char *line, size_t len)
{
    size_t keep = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\\' && i + 1 < len) {
            i++;
            keep = i + 1;
        } else if (line[i] != ' ') {
            keep = i + 1;
        }
    }
    return keep;
}

static void add_line(struct ignore_set *set, const char *dir, size_t dir_len, const char *line,
                     size_t len)
{
    struct rule rule = {.dir = dir, .dir_len = dir_len, .before = set->last};
    len = trim_spaces(line, len);
    if (len && line[0] == '!') {
        rule.negate = true;
        line++;
        len--;
    }
    if (len && line[len - 1] == '/') {
        rule.dirs_only = true;
        len--;
    }
    rule.any_depth = memchr(line, '/', len) == NULL;
    if (len && line[0] == '/') {
        line++;
        len--;
    }
    if (len == 0 || memchr(line, '\0', len)) {
        return;
    }
    rule.pattern = arena_strndup(set->arena, line, len);
    rule.len = len;
    struct rule *kept = arena_new_of(set->arena, struct rule);
    *kept = rule;
    set->last = kept;
}

void ignore_add(struct ignore_set *set, const char *dir, const char *text, size_t len)
{
    char *prefix = dir[0] ? arena_printf(set->arena, "%s/", dir) : arena_strdup(set->arena, "");
    size_t prefix_len = strlen(prefix);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    for (size_t at = 0; at < len;) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', len - at);
        size_t line_len = end ? (size_t)(end - line) : len - at;
        at += line_len + 1;
        if (end && line_len && line[line_len - 1] == '\r') {
            line_len--;
        }
        if (line_len && line[0] != '#') {
            add_line(set, prefix, prefix_len, line, line_len);
        }
    }
    set->seen_any = false;
}

static bool rule_matches(const struct rule *rule, const char *path, size_t len, bool is_dir)
{
    if (rule->dirs_only && !is_dir) {
        return false;
    }
    if (len <= rule->dir_len || memcmp(path, rule->dir, rule->dir_len) != 0) {
        return false;
    }
    if (rule->any_depth) {
        size_t start = len;
        while (start > 0 && path[start - 1] != '/') {
            start--;
        }
        return glob_part(rule->pattern, rule->len, path + start, len - start);
    }
    return glob_path(rule->pattern, rule->len, path + rule->dir_len, len - rule->dir_len);
}

/* By the rules alone, not by what lies above. */
static bool decide(const struct ignore_set *set, const char *path, size_t len, bool is_dir)
{
    for (const struct rule *rule = set->last; rule; rule = rule->before) {
        if (rule_matches(rule, path, len, is_dir)) {
            return !rule->negate;
        }
    }
    return false;
}

static void remember(struct ignore_set *set, const char *dir, size_t len, bool ignored)
{
    if (len > set->seen_cap) {
        set->seen_cap = len * 2;
        set->seen_dir = arena_alloc(set->arena, set->seen_cap);
    }
    if (len) {
        memcpy(set->seen_dir, dir, len);
    }
    set->seen_len = len;
    set->seen_ignored = ignored;
    set->seen_any = true;
}

/* The directory of the first len bytes of path, or one above it, is ignored. */
static bool dir_ignored(struct ignore_set *set, const char *path, size_t len)
{
    if (set->seen_any && set->seen_len == len &&
        memcmp(set->seen_dir ? set->seen_dir : "", path, len) == 0) {
        return set->seen_ignored;
    }
    bool ignored = false;
    for (size_t i = 1; i <= len && !ignored; i++) {
        if (i == len || path[i] == '/') {
            ignored = decide(set, path, i, true);
        }
    }
    remember(set, path, len, ignored);
    return ignored;
}

bool ignore_match(struct ignore_set *set, const char *path, bool is_dir)
{
    if (!set->last) {
        return false;
    }
    size_t len = strlen(path);
    const char *slash = strrchr(path, '/');
    if (slash && dir_ignored(set, path, (size_t)(slash - path))) {
        return true;
    }
    return decide(set, path, len, is_dir);
}
