/*
 * name.c - path names: well-formed, portable, quoted.
 *
 * Owns and must not: see name.h. Compared with git itself by the tests.
 * Tests: tests/unit/test_repo_name.c
 */
#include "repo/name.h"

#include <string.h>
#include <strings.h>

const char *name_fault(const char *path)
{
    size_t depth = 0;
    if (path[0] == '/') {
        return "is absolute";
    }
    if (strlen(path) > NAME_MAX_BYTES) {
        return "is longer than 4095 bytes";
    }
    for (const char *part = path;; part++) {
        size_t len = strcspn(part, "/");
        if (len == 0) {
            return "has an empty component";
        }
        if ((len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.')) {
            return "has a \".\" or \"..\" component";
        }
        if (len > NAME_PART_MAX_BYTES) {
            return "has a component longer than 255 bytes";
        }
        if (++depth > NAME_MAX_DEPTH) {
            return "has more than 1024 components";
        }
        part += len;
        if (*part == '\0') {
            return NULL;
        }
    }
}

bool name_has_git(const char *path)
{
    for (const char *part = path; *part;) {
        size_t len = strcspn(part, "/");
        if (len == 4 && strncasecmp(part, ".git", 4) == 0) {
            return true;
        }
        part += len + (part[len] == '/');
    }
    return false;
}

/* Behind the name proper only spaces and periods up to a separator, a stream mark or the end. */
static bool only_padding(const char *rest)
{
    rest += strspn(rest, " .");
    return *rest == '\0' || *rest == '/' || *rest == '\\' || *rest == ':';
}

/* ".git", "git~1" and what a foreign file system takes for them. */
static bool is_dotgit(const char *part)
{
    return (strncasecmp(part, ".git", 4) == 0 && only_padding(part + 4)) ||
           (strncasecmp(part, "git~1", 5) == 0 && only_padding(part + 5));
}

/* ".gitmodules" and its short names; matters for symlinks only. */
static bool is_dotgitmodules(const char *part)
{
    if (strncasecmp(part, ".gitmodules", 11) == 0 && only_padding(part + 11)) {
        return true;
    }
    if (strncasecmp(part, "gitmod~", 7) == 0 && part[7] >= '1' && part[7] <= '4' &&
        only_padding(part + 8)) {
        return true;
    }
    size_t same = 0;
    while (same < 6 && (part[same] | 0x20) == "gi7eba"[same] + 0) {
        same++;
    }
    return part[same] == '~' && same >= 1 && part[same + 1] >= '1' && part[same + 1] <= '9' &&
           strspn(part + same + 1, "0123456789") == 8 - same - 1 && only_padding(part + 8);
}

bool name_is_portable(const char *path, uint32_t mode)
{
    bool link = (mode & 0170000u) == MODE_LINK;
    for (const char *p = path; *p; p++) {
        bool start = p == path || p[-1] == '/' || p[-1] == '\\';
        if (start && (is_dotgit(p) || (link && is_dotgitmodules(p)))) {
            return false;
        }
    }
    return true;
}

static bool is_plain(unsigned char c)
{
    return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void quote_byte(struct str *out, unsigned char c)
{
    static const char letters[] = "abtnvfr"; /* 7 to 13 */
    if (c >= 7 && c <= 13) {
        str_addc(out, '\\');
        str_addc(out, letters[c - 7]);
    } else if (c == '"' || c == '\\') {
        str_addc(out, '\\');
        str_addc(out, (char)c);
    } else if (c < 0x20 || c >= 0x7f) {
        str_addf(out, "\\%03o", c);
    } else {
        str_addc(out, (char)c);
    }
}

void name_quote(struct str *out, const char *prefix, const char *path)
{
    const char *p = path;
    while (*p && is_plain((unsigned char)*p)) {
        p++;
    }
    if (*p == '\0') {
        str_add(out, prefix);
        str_add(out, path);
        return;
    }
    str_addc(out, '"');
    str_add(out, prefix);
    for (p = path; *p; p++) {
        quote_byte(out, (unsigned char)*p);
    }
    str_addc(out, '"');
}

const char *name_show(struct str *out, const char *path)
{
    str_reset(out);
    name_quote(out, "", path);
    if (out->len > 200) {
        str_cut(out, utf8_prefix(out->ptr, out->len, 197));
        str_add(out, "...");
    }
    return str_c(out);
}

static bool unquote_escape(const char **text, const char *end, struct str *out)
{
    static const char letters[] = "abtnvfr";
    const char *p = *text;
    if (p >= end) {
        return false;
    }
    const char *letter = *p ? strchr(letters, *p) : NULL;
    if (letter) {
        str_addc(out, (char)(7 + (letter - letters)));
        *text = p + 1;
        return true;
    }
    if (*p == '"' || *p == '\\') {
        str_addc(out, *p);
        *text = p + 1;
        return true;
    }
    if (end - p < 3 || p[0] < '0' || p[0] > '3' || p[1] < '0' || p[1] > '7' || p[2] < '0' ||
        p[2] > '7') {
        return false;
    }
    unsigned value =
        (unsigned)(p[0] - '0') * 64 + (unsigned)(p[1] - '0') * 8 + (unsigned)(p[2] - '0');
    str_addc(out, (char)(unsigned char)value);
    *text = p + 3;
    return value != 0;
}

bool name_unquote(const char **text, const char *end, const char *stops, struct str *out)
{
    const char *p = *text;
    str_reset(out);
    if (p < end && *p != '"') {
        while (p < end && *p && !strchr(stops, *p)) {
            str_addc(out, *p++);
        }
        *text = p;
        return out->len > 0;
    }
    p++;
    while (p < end && *p != '"') {
        if (*p == '\\') {
            p++;
            if (!unquote_escape(&p, end, out)) {
                return false;
            }
        } else if (*p == '\0' || *p == '\n') {
            return false;
        } else {
            str_addc(out, *p++);
        }
    }
    if (p >= end) {
        return false;
    }
    *text = p + 1;
    return out->len > 0;
}
