/*
 * multipart.c - see multipart.h.
 *
 *   PREAMBLE --delimiter--> AFTER --CRLF--> HEADERS --blank line--> CONTENT --delimiter--> AFTER
 *                             \--"--"--> EPILOGUE
 *
 * The delimiter is CRLF "--" boundary; the body is read as if a CRLF stood in front of it. Content
 * is searched in a window that keeps back only as many bytes as could begin a delimiter. One
 * request owns a reader; no shared state. Tests: tests/unit/test_guest_multipart.c
 */
#include "guest/multipart.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70 /* RFC 2046 */
#define HEADERS_MAX 8192
#define PADDING_MAX 64 /* blanks behind a boundary */

enum state { PREAMBLE, AFTER, HEADERS, CONTENT, EPILOGUE };

struct multipart {
    struct multipart_sink sink;
    char delimiter[BOUNDARY_MAX + 5];
    size_t delimiter_len;
    enum state state;
    struct str window; /* bytes not yet understood */
    bool wanted;       /* the current part is a "file" */
    bool any;          /* one was seen */
};

/* The value of parameter `name` in a header like `form-data; name="file"; filename="a\"b"`. */
static bool parameter(const char *header, const char *name, struct str *ret)
{
    const char *p = strchr(header, ';');
    while (p) {
        p += 1 + strspn(p + 1, " \t");
        size_t len = strcspn(p, "=;");
        bool match = strlen(name) == len && strncasecmp(p, name, len) == 0;
        p += len;
        if (*p == '=' && p[1] == '"') {
            for (p += 2; *p != '\0' && *p != '"'; p++) {
                if (*p == '\\' && (p[1] == '"' || p[1] == '\\')) {
                    p++;
                }
                if (match) {
                    str_addc(ret, *p);
                }
            }
            if (*p != '"') {
                return false;
            }
        } else if (*p == '=') {
            p++;
            len = strcspn(p, "; \t");
            if (match) {
                str_addn(ret, p, len);
            }
        }
        if (match) {
            return true;
        }
        p = strchr(p, ';');
    }
    return false;
}

struct multipart *multipart_new(const char *content_type, const struct multipart_sink *sink,
                                struct wire_error *error)
{
    autostr struct str boundary = {0};
    if (!parameter(content_type, "boundary", &boundary) || boundary.len == 0 ||
        boundary.len > BOUNDARY_MAX) {
        wire_fail(error, WIRE_INVALID_ARGUMENT, "multipart body without a usable boundary");
        return NULL;
    }
    struct multipart *m = mem_alloc(sizeof(*m));
    m->sink = *sink;
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.ptr, boundary.len);
    m->delimiter_len = 4 + boundary.len;
    str_add(&m->window, "\r\n");
    return m;
}

struct multipart *multipart_free(struct multipart *m)
{
    if (m) {
        str_free(&m->window);
        free(m);
    }
    return NULL;
}

static void consume(struct multipart *m, size_t len)
{
    memmove(m->window.ptr, m->window.ptr + len, m->window.len - len);
    str_cut(&m->window, m->window.len - len);
}

static int part_begin(struct multipart *m, struct wire_error *error)
{
    autostr struct str name = {0};
    autostr struct str filename = {0};
    for (char *line = m->window.ptr; line;) {
        char *end = strstr(line, "\r\n");
        if (end) {
            *end = '\0';
        }
        if (strncasecmp(line, "content-disposition:", 20) == 0) {
            parameter(line, "name", &name);
            parameter(line, "filename", &filename);
        }
        line = end ? end + 2 : NULL;
    }
    m->wanted = strcmp(str_c(&name), "file") == 0;
    m->any = m->any || m->wanted;
    return m->wanted ? m->sink.begin(m->sink.user, str_c(&filename), error) : 0;
}

/* Each step returns 1 when it moved on, 0 when it needs more bytes, <0 to stop. */
static int read_after(struct multipart *m)
{
    const char *p = m->window.ptr;
    size_t len = m->window.len;
    if (len < 2) {
        return 0;
    }
    if (p[0] == '-' && p[1] == '-') {
        m->state = EPILOGUE;
        return 1;
    }
    size_t pad = 0;
    while (pad < len && (p[pad] == ' ' || p[pad] == '\t')) {
        pad++;
    }
    if (len - pad < 2) {
        return pad < PADDING_MAX ? 0 : -1;
    }
    if (p[pad] != '\r' || p[pad + 1] != '\n') {
        return -1;
    }
    consume(m, pad); /* the CRLF stays: headers may be empty */
    m->state = HEADERS;
    return 1;
}

static int read_headers(struct multipart *m, struct wire_error *error)
{
    const char *end = memmem(m->window.ptr, m->window.len, "\r\n\r\n", 4);
    if (!end) {
        return m->window.len > HEADERS_MAX ? -1 : 0;
    }
    size_t len = (size_t)(end - m->window.ptr);
    if (len > HEADERS_MAX || memchr(m->window.ptr, '\0', len)) {
        return -1;
    }
    autostr struct str rest = {0};
    str_addn(&rest, end + 4, m->window.len - len - 4);
    str_cut(&m->window, len);
    int rc = part_begin(m, error);
    str_reset(&m->window);
    str_addn(&m->window, str_c(&rest), rest.len);
    m->state = CONTENT;
    return rc < 0 ? rc : 1;
}

/* PREAMBLE and CONTENT: hand on all that cannot be part of a delimiter. */
static int read_content(struct multipart *m, struct wire_error *error)
{
    bool hand_on = m->state == CONTENT && m->wanted;
    const char *found = memmem(m->window.ptr, m->window.len, m->delimiter, m->delimiter_len);
    size_t safe = found                              ? (size_t)(found - m->window.ptr)
                  : m->window.len < m->delimiter_len ? 0
                                                     : m->window.len - (m->delimiter_len - 1);
    if (safe > 0 && hand_on && m->sink.data(m->sink.user, m->window.ptr, safe, error) < 0) {
        return -1;
    }
    consume(m, found ? safe + m->delimiter_len : safe);
    if (!found) {
        return 0;
    }
    m->state = AFTER;
    return hand_on && m->sink.end(m->sink.user, error) < 0 ? -1 : 1;
}

static int step(struct multipart *m, struct wire_error *error)
{
    switch (m->state) {
    case PREAMBLE:
    case CONTENT:
        return read_content(m, error);
    case AFTER:
        return read_after(m);
    case HEADERS:
        return read_headers(m, error);
    case EPILOGUE:
        str_reset(&m->window);
        return 0;
    }
    return -1;
}

int multipart_feed(struct multipart *m, const char *bytes, size_t len, struct wire_error *error)
{
    wire_fail(error, WIRE_INVALID_ARGUMENT, "malformed multipart body");
    str_addn(&m->window, bytes, len);
    int rc = 1;
    while (rc > 0 && m->window.len > 0) {
        rc = step(m, error);
    }
    return rc < 0 ? -1 : 0;
}

int multipart_finish(struct multipart *m, struct wire_error *error)
{
    if (m->state != EPILOGUE) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "multipart body ends too early");
    }
    if (!m->any) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "multipart body has no part named 'file'");
    }
    return 0;
}
