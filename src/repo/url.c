/*
 * url.c - remote URL syntax, allowlist, revision syntax.
 *
 * Owns: the one parser of repository URLs. Must not do I/O. A URL is split without copying; nothing
 * is decoded: percent signs compare as themselves, so "%2e%2e" is no "..", and the server sees what
 * was compared. Any thread. Tests: tests/unit/test_repo_url.c, tests/fuzz/fuzz_repo_url.c
 */
#include "repo/url.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

struct url {
    const char *scheme; /* canonical, static */
    const char *host;
    size_t host_len;
    unsigned port;
    const char *path; /* begins with "/", or "" */
};

static const struct {
    const char *name;
    unsigned port;
} schemes[] = {{"https", 443}, {"ssh", 22}, {"git", 9418}};

/* NULL when the path is clean, else what is wrong with it. */
static const char *path_fault(const char *path)
{
    for (const char *p = path; *p; p++) {
        if (*p == '\\' || (unsigned char)*p < 0x20 || *p == 0x7f || *p == ' ') {
            return "its path holds a backslash, a space or a control character";
        }
    }
    for (const char *p = path; *p == '/';) {
        const char *part = p + 1;
        size_t len = strcspn(part, "/");
        bool last = part[len] == '\0';
        if (len == 0 && !last) {
            return "its path holds an empty component";
        }
        if ((len == 1 && part[0] == '.') || (len == 2 && memcmp(part, "..", 2) == 0)) {
            return "its path holds \".\" or \"..\"";
        }
        p = part + len;
    }
    return NULL;
}

static const char *parse_port(const char *text, size_t len, unsigned *ret)
{
    unsigned port = 0;
    if (len == 0 || len > 5) {
        return "its port is not a number from 1 to 65535";
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return "its port is not a number from 1 to 65535";
        }
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (port == 0 || port > 65535) {
        return "its port is not a number from 1 to 65535";
    }
    *ret = port;
    return NULL;
}

/* Host letters: DNS names and IPv4 plain, IPv6 in brackets. */
static bool host_is_plain(const char *host, size_t len)
{
    bool v6 = len > 2 && host[0] == '[' && host[len - 1] == ']';
    for (size_t i = v6 ? 1 : 0; i < len - (v6 ? 1 : 0); i++) {
        unsigned char c = (unsigned char)host[i];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (v6 ? !(hex || c == ':' || c == '.')
               : !(letter || hex || c == '-' || c == '.' || c == '_')) {
            return false;
        }
    }
    return len > 0 && host[0] != '-' && host[0] != '.';
}

static const char *parse_authority(const char *text, size_t len, struct url *url)
{
    if (memchr(text, '@', len)) {
        return "it holds user information (give credentials in the configuration)";
    }
    size_t host_len = len;
    const char *bracket = len && text[0] == '[' ? memchr(text, ']', len) : NULL;
    if (bracket) {
        host_len = (size_t)(bracket - text) + 1;
    } else {
        const char *colon = memchr(text, ':', len);
        host_len = colon ? (size_t)(colon - text) : len;
    }
    if (host_len == 0) {
        return "it has no host";
    }
    if (!host_is_plain(text, host_len)) {
        return "its host is not a plain name or address";
    }
    url->host = text;
    url->host_len = host_len;
    if (host_len < len) {
        return text[host_len] != ':'
                   ? "its host is not a plain name or address"
                   : parse_port(text + host_len + 1, len - host_len - 1, &url->port);
    }
    return NULL;
}

/* NULL and *ret filled, or what is wrong. */
static const char *parse(const char *text, struct url *ret)
{
    if (strlen(text) > REPO_URL_MAX_BYTES) {
        return "it is longer than 2048 bytes";
    }
    const char *colon = strstr(text, "://");
    if (!colon) {
        return "it is not an https, ssh or git URL";
    }
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        if (strlen(schemes[i].name) == (size_t)(colon - text) &&
            strncasecmp(text, schemes[i].name, (size_t)(colon - text)) == 0) {
            ret->scheme = schemes[i].name;
            ret->port = schemes[i].port;
        }
    }
    if (!ret->scheme) {
        return "it is not an https, ssh or git URL";
    }
    if (strpbrk(colon, "?#")) {
        return "it holds a query or a fragment";
    }
    const char *authority = colon + 3;
    size_t len = strcspn(authority, "/");
    const char *fault = parse_authority(authority, len, ret);
    if (fault) {
        return fault;
    }
    ret->path = authority + len;
    return path_fault(ret->path);
}

/* User information must not reach messages and logs: show only what is around it. */
static int reject(struct err *err, const char *url, const char *why)
{
    struct str safe = {0};
    const char *authority = strstr(url, "://");
    const char *start = authority ? authority + 3 : url;
    size_t span = strcspn(start, "/");
    const char *at = NULL;
    for (size_t i = 0; i < span; i++) {
        at = start[i] == '@' ? start + i : at;
    }
    if (at) {
        str_addn(&safe, url, (size_t)(start - url));
        str_add(&safe, "...");
        url = at;
    }
    for (size_t i = 0; url[i] && i < 300; i++) {
        unsigned char c = (unsigned char)url[i];
        if (c == '?') {
            str_add(&safe, "?...");
            break;
        }
        str_addc(&safe, c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
    int rc = err_set(err, ERR_PERMANENT, "RepositoryRejected",
                     "rejected by policy: repository \"%s\": %s", str_c(&safe), why);
    str_free(&safe);
    return rc;
}

int repo_url_check(const char *url, struct err *err)
{
    struct url parsed = {0};
    const char *fault = parse(url, &parsed);
    if (!fault && (parsed.path[0] == '\0' || str_eq(parsed.path, "/"))) {
        fault = "it names a host but no repository";
    }
    return fault ? reject(err, url, fault) : 0;
}

bool repo_url_covers(const char *prefix, const char *url)
{
    struct url p = {0};
    struct url u = {0};
    if (parse(prefix, &p) || parse(url, &u)) {
        return false;
    }
    if (!str_eq(p.scheme, u.scheme) || p.port != u.port || p.host_len != u.host_len ||
        strncasecmp(p.host, u.host, p.host_len) != 0) {
        return false;
    }
    size_t len = strlen(p.path);
    if (len && p.path[len - 1] == '/') {
        len--;
    }
    return len == 0 ||
           (strncmp(p.path, u.path, len) == 0 && (u.path[len] == '\0' || u.path[len] == '/'));
}

int repo_url_allowed(const char *url, const char *const *allow, size_t count, struct err *err)
{
    int rc = repo_url_check(url, err);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; i < count; i++) {
        if (repo_url_covers(allow[i], url)) {
            return 0;
        }
    }
    return reject(err, url,
                  count ? "the list of allowed repositories does not cover it"
                        : "no repository is allowed (the list is empty)");
}

int revision_check(const char *revision, struct err *err)
{
    const char *why = NULL;
    size_t len = strlen(revision);
    if (strspn(revision, " \t\v\f\r\n") == len) {
        why = "it is blank";
    } else if (revision[0] == '-') {
        why = "it begins with \"-\"";
    } else if (strpbrk(revision, "\r\n")) {
        why = "it holds a line break";
    } else if (len > REVISION_MAX_BYTES) {
        why = "it is longer than 256 bytes";
    }
    return why ? err_set(err, ERR_PERMANENT, "RevisionRejected", "rejected by policy: revision: %s",
                         why)
               : 0;
}
