/*
 * filter.c - see filter.h. A lexer, a recursive descent (bounded), and the SQL that it leaves
 * behind; every name and value becomes a parameter.
 * Must not: trust the text; it comes from a command line.
 * Tests: tests/unit/test_journal_filter.c, tests/fuzz/fuzz_filter.c
 */
#include "journal/filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "journal/db.h"
#include "journal/head.h"

enum token_type { END, NAME, TEXT, NUMBER, MARK };

struct token {
    enum token_type type;
    bool quoted;      /* a NAME in backquotes: no word of the language */
    const char *text; /* in arena: the name, the text without quotes, the digits, the mark */
    size_t at;        /* bytes from the beginning */
};

struct parser {
    struct arena *arena;
    struct err *err;
    const char *text;
    size_t pos;
    struct token token; /* the one that comes next */
    int depth;
    struct str sql;
    struct filter_value *values;
    size_t count, cap;
};

static int bad(struct parser *p, size_t at, const char *fmt, ...) printf_like(3, 4);

static int bad(struct parser *p, size_t at, const char *fmt, ...)
{
    autostr struct str what = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&what, fmt, ap);
    va_end(ap);
    return err_set(p->err, ERR_PERMANENT, "BadFilter", "column %zu: %s", at + 1, str_c(&what));
}

/* --- tokens ------------------------------------------------------------------------------------
 */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return is_letter(c) || is_digit(c) || c == '.' || c == '-';
}

/* 'text', "text" or `name`; the quote inside is doubled. */
static int quoted(struct parser *p, char quote)
{
    autostr struct str text = {0};
    size_t begin = p->pos++;
    for (;; p->pos++) {
        char c = p->text[p->pos];
        if (c == '\0') {
            return bad(p, begin, "this %c is never closed", quote);
        }
        if (c == quote && p->text[++p->pos] != quote) {
            break;
        }
        str_addc(&text, c);
    }
    p->token.type = quote == '`' ? NAME : TEXT;
    p->token.quoted = true;
    p->token.text = arena_strndup(p->arena, str_c(&text), text.len);
    return 0;
}

static size_t number_bytes(const char *s)
{
    size_t n = s[0] == '-' || s[0] == '+' ? 1 : 0;
    while (is_digit(s[n]) || s[n] == '.') {
        n++;
    }
    if ((s[n] == 'e' || s[n] == 'E') &&
        (is_digit(s[n + 1]) || ((s[n + 1] == '-' || s[n + 1] == '+') && is_digit(s[n + 2])))) {
        n += 2;
        while (is_digit(s[n])) {
            n++;
        }
    }
    return n;
}

static size_t mark_bytes(const char *s)
{
    static const char *const marks[] = {"!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        if (str_starts(s, marks[i])) {
            return strlen(marks[i]);
        }
    }
    return 0;
}

static int next(struct parser *p)
{
    p->pos += strspn(p->text + p->pos, " \t\r\n");
    const char *s = p->text + p->pos;
    size_t n = 0;
    p->token = (struct token){.type = END, .at = p->pos, .text = ""};
    if (*s == '\0') {
        return 0;
    }
    if (*s == '\'' || *s == '"' || *s == '`') {
        return quoted(p, *s);
    }
    if (is_letter(*s)) {
        p->token.type = NAME;
        while (is_name_byte(s[n])) {
            n++;
        }
    } else if (is_digit(*s) || ((*s == '-' || *s == '+') && is_digit(s[1]))) {
        p->token.type = NUMBER;
        n = number_bytes(s);
    } else {
        p->token.type = MARK;
        n = mark_bytes(s);
    }
    if (n == 0) {
        return bad(p, p->pos, "'%c' has no meaning here", *s >= ' ' && *s < 127 ? *s : '?');
    }
    p->token.text = arena_strndup(p->arena, s, n);
    p->pos += n;
    return 0;
}

static bool is_mark(const struct parser *p, const char *mark)
{
    return p->token.type == MARK && strcmp(p->token.text, mark) == 0;
}

static bool is_word(const struct parser *p, const char *word)
{
    return p->token.type == NAME && !p->token.quoted && strcasecmp(p->token.text, word) == 0;
}

static int wanted(struct parser *p, const char *what)
{
    return p->token.type == END
               ? bad(p, p->token.at, "%s is wanted, but the filter ends here", what)
               : bad(p, p->token.at, "%s is wanted, not %.60s", what, p->token.text);
}

static int eat_mark(struct parser *p, const char *mark)
{
    return is_mark(p, mark) ? next(p) : wanted(p, mark);
}

static int eat_word(struct parser *p, const char *word)
{
    return is_word(p, word) ? next(p) : wanted(p, word);
}

/* --- values ------------------------------------------------------------------------------------
 */

/* The number of the parameter, or -1. */
static int parameter(struct parser *p, const struct filter_value *value)
{
    if (p->count >= FILTER_VALUES_MAX) {
        return bad(p, p->token.at, "more than %d names and values", FILTER_VALUES_MAX);
    }
    arena_grow(p->arena, p->values, p->count, &p->cap);
    p->values[p->count++] = *value;
    return (int)p->count;
}

static int number(struct parser *p, struct filter_value *ret)
{
    char *end;
    errno = 0;
    ret->type = FILTER_INT;
    ret->integer = strtoll(p->token.text, &end, 10);
    if (*end != '\0' || errno == ERANGE) {
        ret->type = FILTER_REAL;
        errno = 0;
        ret->real = strtod(p->token.text, &end);
    }
    if (*end != '\0' || (ret->type == FILTER_REAL && !isfinite(ret->real))) {
        return bad(p, p->token.at, "%.60s is no number", p->token.text);
    }
    return 0;
}

static int literal(struct parser *p, struct filter_value *ret)
{
    *ret = (struct filter_value){0};
    if (p->token.type == TEXT) {
        ret->type = FILTER_TEXT;
        ret->text = p->token.text;
    } else if (p->token.type == NUMBER) {
        if (number(p, ret) < 0) {
            return -1;
        }
    } else if (is_word(p, "true") || is_word(p, "false")) {
        ret->type = FILTER_INT;
        ret->integer = is_word(p, "true");
    } else {
        return wanted(p, "a value ('text', a number, true or false)");
    }
    return next(p);
}

/* --- tests -------------------------------------------------------------------------------------
 */

enum kind { KIND_TEXT, KIND_NUMBER, KIND_TIME, KIND_DURATION, KIND_STATUS, KIND_ATTRIBUTE };

struct column {
    const char *name;
    const char *sql;
    enum kind kind;
};

#define PARENT(column) "(SELECT p." column " FROM execution AS p WHERE p.id = execution.parent)"

static const struct column columns[] = {
    {"WorkflowId", "workflow_id", KIND_TEXT},
    {"RunId", "run_id", KIND_TEXT},
    {"WorkflowType", "type", KIND_TEXT},
    {"TaskQueue", "task_queue", KIND_TEXT},
    {"ExecutionStatus", "status", KIND_STATUS},
    {"StartTime", "started_ns", KIND_TIME},
    {"CloseTime", "closed_ns", KIND_TIME},
    {"ExecutionDuration", "(closed_ns - started_ns)", KIND_DURATION},
    {"HistoryLength", HEAD_EVENTS, KIND_NUMBER},
    {"HistorySizeBytes", HEAD_BYTES, KIND_NUMBER},
    {"ParentWorkflowId", PARENT("workflow_id"), KIND_TEXT},
    {"ParentRunId", PARENT("run_id"), KIND_TEXT},
};
static const char *const statuses[] = {"Running",    "Completed",      "Failed",   "Canceled",
                                       "Terminated", "ContinuedAsNew", "TimedOut", "Paused"};
#define STATUS_RUNNING 1
#define STATUS_PAUSED 8 /* Temporal's number; here a running run with a reason in `paused` */

static struct column column_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (strcmp(columns[i].name, name) == 0) {
            return columns[i];
        }
    }
    return (struct column){.name = name, .sql = "value", .kind = KIND_ATTRIBUTE};
}

static int status_of(struct parser *p, size_t at, struct filter_value *v)
{
    for (size_t i = 0; v->type == FILTER_TEXT && i < ARRAY_LEN(statuses); i++) {
        if (strcasecmp(v->text, statuses[i]) == 0) {
            *v = (struct filter_value){.type = FILTER_INT, .integer = (int64_t)i + 1};
        }
    }
    return v->type == FILTER_INT
               ? 0
               : bad(p, at,
                     "no such status (Running, Completed, Failed, Canceled, Terminated, "
                     "ContinuedAsNew, TimedOut, Paused)");
}

/* The value in the column's own form: times and durations in nanoseconds, a status's number. */
static int convert(struct parser *p, const struct column *c, size_t at, struct filter_value *v)
{
    int64_t ns;
    switch (c->kind) {
    case KIND_STATUS:
        return status_of(p, at, v);
    case KIND_TIME:
    case KIND_DURATION:
        if (v->type == FILTER_TEXT) {
            if (c->kind == KIND_TIME ? !time_parse_rfc3339(v->text, strlen(v->text), &ns)
                                     : !duration_parse(v->text, &ns)) {
                return bad(p, at, "%s wants %s", c->name,
                           c->kind == KIND_TIME ? "a time, '2026-01-02T03:04:05Z'"
                                                : "a duration, '1h30m'");
            }
            *v = (struct filter_value){.type = FILTER_INT, .integer = ns};
        }
        return 0;
    case KIND_TEXT:
        return v->type == FILTER_TEXT ? 0 : bad(p, at, "%s wants a 'text'", c->name);
    case KIND_NUMBER:
        return v->type != FILTER_TEXT ? 0 : bad(p, at, "%s wants a number", c->name);
    case KIND_ATTRIBUTE:
        break;
    }
    return 0;
}

/* A value for this column, as a parameter: its number, or -1. ret may be NULL. */
static int operand(struct parser *p, const struct column *c, struct filter_value *ret)
{
    struct filter_value v;
    size_t at = p->token.at;
    if (literal(p, &v) < 0 || convert(p, c, at, &v) < 0) {
        return -1;
    }
    if (ret) {
        *ret = v;
    }
    return parameter(p, &v);
}

/* Dates and times are kept in one spelling (history/attributes.h), whoever looks for them
 * may use another. */
static int time_twin(struct parser *p, const struct column *c, const struct filter_value *v)
{
    int64_t ns;
    autostr struct str text = {0};
    if (c->kind != KIND_ATTRIBUTE || v->type != FILTER_TEXT ||
        !time_parse_rfc3339(v->text, strlen(v->text), &ns)) {
        return 0;
    }
    time_format_sortable(&text, ns);
    struct filter_value twin = {.type = FILTER_TEXT, .text = arena_strdup(p->arena, str_c(&text))};
    return parameter(p, &twin);
}

/* An equality with the value to come: " = ?n", or both spellings of a time. */
static int equals(struct parser *p, const struct column *c)
{
    struct filter_value v;
    int n = operand(p, c, &v);
    int twin = n < 0 ? -1 : time_twin(p, c, &v);
    if (twin < 0) {
        return -1;
    }
    if (c->kind == KIND_STATUS && (v.integer == STATUS_RUNNING || v.integer == STATUS_PAUSED)) {
        p->values[n - 1].integer = STATUS_RUNNING;
        str_addf(&p->sql, "(status = ?%d AND paused IS %sNULL)", n,
                 v.integer == STATUS_PAUSED ? "NOT " : "");
    } else if (twin > 0) {
        str_addf(&p->sql, "(%s = ?%d OR %s = ?%d)", c->sql, n, c->sql, twin);
    } else {
        str_addf(&p->sql, "%s = ?%d", c->sql, n);
    }
    return 0;
}

/* An order against the value to come; of attributes only within the value's own type. */
static int ordered(struct parser *p, const struct column *c, const char *mark)
{
    struct filter_value v;
    size_t at = p->token.at;
    if (c->kind == KIND_STATUS) {
        return bad(p, at, "a status is equal or not; it has no order");
    }
    int n = operand(p, c, &v);
    int twin = n < 0 ? -1 : time_twin(p, c, &v);
    if (twin < 0) {
        return -1;
    }
    str_addf(&p->sql, "%s %s ?%d", c->sql, mark, twin > 0 ? twin : n);
    if (c->kind == KIND_ATTRIBUTE) {
        str_addf(&p->sql, " AND typeof(value) %s 'text'", v.type == FILTER_TEXT ? "=" : "<>");
    }
    return 0;
}

static int in_list(struct parser *p, const struct column *c)
{
    if (next(p) < 0 || eat_mark(p, "(") < 0) {
        return -1;
    }
    str_addc(&p->sql, '(');
    for (;;) {
        if (equals(p, c) < 0) {
            return -1;
        }
        if (!is_mark(p, ",")) {
            break;
        }
        str_add(&p->sql, " OR ");
        if (next(p) < 0) {
            return -1;
        }
    }
    str_addc(&p->sql, ')');
    return eat_mark(p, ")");
}

static int between(struct parser *p, const struct column *c)
{
    if (next(p) < 0 || ordered(p, c, ">=") < 0) {
        return -1;
    }
    str_add(&p->sql, " AND ");
    return eat_word(p, "AND") < 0 ? -1 : ordered(p, c, "<=");
}

static int starts_with(struct parser *p, const struct column *c)
{
    struct filter_value v;
    if (next(p) < 0) {
        return -1;
    }
    size_t at = p->token.at;
    int n = operand(p, c, &v);
    if (n < 0) {
        return -1;
    }
    if ((c->kind != KIND_TEXT && c->kind != KIND_ATTRIBUTE) || v.type != FILTER_TEXT) {
        return bad(p, at, "STARTS_WITH compares texts");
    }
    str_addf(&p->sql, "substr(%s, 1, length(?%d)) = ?%d", c->sql, n, n);
    if (c->kind == KIND_ATTRIBUTE) {
        str_add(&p->sql, " AND typeof(value) = 'text'");
    }
    return 0;
}

/* The condition on the column or on one value of the attribute, in its positive form. *negate is
 * set when the test asks for the opposite. */
static int condition(struct parser *p, const struct column *c, bool *negate)
{
    static const char *const orders[] = {"<", "<=", ">", ">="};
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        if (is_mark(p, orders[i])) {
            return next(p) < 0 ? -1 : ordered(p, c, orders[i]);
        }
    }
    *negate = is_mark(p, "!=") || is_mark(p, "<>");
    if (*negate || is_mark(p, "=")) {
        return next(p) < 0 ? -1 : equals(p, c);
    }
    *negate = is_word(p, "NOT");
    if (*negate && next(p) < 0) {
        return -1;
    }
    if (is_word(p, "IN")) {
        return in_list(p, c);
    }
    if (is_word(p, "BETWEEN")) {
        return between(p, c);
    }
    if (is_word(p, "STARTS_WITH")) {
        return starts_with(p, c);
    }
    return wanted(p, "a comparison (=, !=, <, IN, BETWEEN, STARTS_WITH, IS)");
}

#define OF_ATTRIBUTE "id IN (SELECT execution FROM search_attribute WHERE name = ?%d"

static int null_test(struct parser *p, const struct column *c, int name)
{
    if (next(p) < 0) {
        return -1;
    }
    bool negate = is_word(p, "NOT");
    if (negate && next(p) < 0) {
        return -1;
    }
    if (c->kind == KIND_ATTRIBUTE) {
        str_add(&p->sql, negate ? "" : "NOT ");
        str_addf(&p->sql, OF_ATTRIBUTE ")", name);
    } else {
        str_addf(&p->sql, "%s IS %sNULL", c->sql, negate ? "NOT " : "");
    }
    return eat_word(p, "NULL");
}

static int test(struct parser *p)
{
    bool negate = false;
    if (p->token.type != NAME) {
        return wanted(p, "a name");
    }
    struct column c = column_find(p->token.text);
    int name = 0;
    if (c.kind == KIND_ATTRIBUTE) {
        struct filter_value v = {.type = FILTER_TEXT, .text = c.name};
        name = parameter(p, &v);
    }
    if (name < 0 || next(p) < 0) {
        return -1;
    }
    if (is_word(p, "IS")) {
        return null_test(p, &c, name);
    }
    size_t begin = p->sql.len;
    if (condition(p, &c, &negate) < 0) {
        return -1;
    }
    autofree char *positive = mem_strdup(p->sql.ptr + begin);
    str_cut(&p->sql, begin);
    if (c.kind != KIND_ATTRIBUTE) {
        str_addf(&p->sql, "%s(%s)", negate ? "NOT " : "", positive);
    } else if (!negate) {
        str_addf(&p->sql, OF_ATTRIBUTE " AND %s)", name, positive);
    } else {
        str_addf(&p->sql, "(" OF_ATTRIBUTE ") AND NOT " OF_ATTRIBUTE " AND %s))", name, name,
                 positive);
    }
    return 0;
}

/* --- and, or, not ------------------------------------------------------------------------------
 */

static int any_of(struct parser *p);

static int factor(struct parser *p)
{
    int rc;
    if (++p->depth > FILTER_DEPTH_MAX) {
        return bad(p, p->token.at, "nested deeper than %d", FILTER_DEPTH_MAX);
    }
    if (is_word(p, "NOT")) {
        str_add(&p->sql, "NOT ");
        rc = next(p) < 0 ? -1 : factor(p);
    } else if (is_mark(p, "(")) {
        str_addc(&p->sql, '(');
        rc = next(p) < 0 || any_of(p) < 0 ? -1 : eat_mark(p, ")");
        str_addc(&p->sql, ')');
    } else {
        rc = test(p);
    }
    p->depth--;
    return rc;
}

static int chain(struct parser *p, const char *word, int (*part)(struct parser *p))
{
    if (part(p) < 0) {
        return -1;
    }
    while (is_word(p, word)) {
        str_addf(&p->sql, " %s ", word);
        if (next(p) < 0 || part(p) < 0) {
            return -1;
        }
    }
    return 0;
}

static int all_of(struct parser *p)
{
    return chain(p, "AND", factor);
}

static int any_of(struct parser *p)
{
    return chain(p, "OR", all_of);
}

int filter_parse(struct arena *arena, const char *text, struct filter *ret, struct err *err)
{
    struct parser p = {.arena = arena, .err = err, .text = text};
    int rc = strlen(text) > FILTER_BYTES_MAX
                 ? bad(&p, FILTER_BYTES_MAX, "a filter has at most %d bytes", FILTER_BYTES_MAX)
                 : next(&p);
    if (rc == 0 && p.token.type == END) {
        str_add(&p.sql, "1");
    } else if (rc == 0) {
        rc = any_of(&p);
    }
    if (rc == 0 && p.token.type != END) {
        rc = wanted(&p, "AND, OR or the end");
    }
    *ret = (struct filter){
        .sql = arena_strdup(arena, str_c(&p.sql)), .values = p.values, .count = p.count};
    str_free(&p.sql);
    return rc;
}
