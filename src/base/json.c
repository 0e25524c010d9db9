/*
 * json.c - the reader of json.h, and access to what it read. The writer is json_out.c.
 *
 * Owns: one loop over the text (struct reader), no recursion and no array sized by the input on the
 * stack, because it runs on the small stacks of fibers. The tree is linked while it grows: an open
 * container keeps its parent in `next`, which is free until it closes. Which open containers are
 * objects is a bit set; the keys of the open objects lie on one stack so that duplicates are seen
 * at the closing brace, in both modes (tree, and check only). Must not: interpret numbers while
 * reading; the digits are the value. Tests: tests/unit/test_base_json.c, tests/fuzz/fuzz_json.c
 */
#include "base/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_locale.h"
#include "base/mem.h"

struct key {
    const char *ptr; /* NULL marks where an object opened; len is then the mark below it */
    size_t len;
};

struct reader {
    const char *begin;
    const char *at;
    const char *end;
    struct arena *arena;   /* NULL: check only */
    struct arena *scratch; /* check only: decoded keys; made when needed */
    const char *why;       /* what is wrong at `at` */
    struct json *root;
    struct json *open; /* innermost open container */
    struct json *last; /* its newest child */
    const char *key;   /* of the member whose value comes next */
    size_t key_len;
    struct key *keys;
    size_t key_count;
    size_t key_cap;
    size_t mark; /* index above the innermost object's mark in keys */
    unsigned depth;
    uint64_t objects[JSON_DEPTH_MAX / 64]; /* bit d: the container at depth d is an object */
};

enum step { STEP_VALUE, STEP_ITEM_OR_END, STEP_KEY, STEP_KEY_OR_END, STEP_AFTER, STEP_BAD };

/* What a byte inside a string means. */
enum { PLAIN, QUOTE, ESCAPE, CONTROL, HIGH };
static const uint8_t string_class[256] = {
    [0 ... 0x1f] = CONTROL,
    ['"'] = QUOTE,
    ['\\'] = ESCAPE,
    [0x80 ... 0xff] = HIGH,
};

static bool bad(struct reader *r, const char *why)
{
    r->why = why;
    return false;
}

static struct json *writable(const struct json *node)
{
    return (struct json *)(uintptr_t)node; /* this file made it, and it is not handed out yet */
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')) {
        r->at++;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p, or -1. */
static int32_t hex_quad(const char *p, const char *end)
{
    if (end - p < 4) {
        return -1;
    }
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* at: behind the backslash. Moves behind the escape. */
static bool scan_escape(struct reader *r)
{
    if (r->at == r->end) {
        return bad(r, "the string has no closing quote");
    }
    if (*r->at != 'u') {
        if (!*r->at || !strchr("\"\\/bfnrt", *r->at)) {
            return bad(r, "no such escape (known: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u)");
        }
        r->at++;
        return true;
    }
    int32_t unit = hex_quad(r->at + 1, r->end);
    if (unit < 0) {
        return bad(r, "\\u needs four hex digits");
    }
    if (unit >= 0xdc00 && unit <= 0xdfff) {
        return bad(r, "low surrogate without a high one before it");
    }
    if (unit >= 0xd800 && unit <= 0xdbff) {
        int32_t low = -1;
        if (r->end - r->at >= 11 && r->at[5] == '\\' && r->at[6] == 'u') {
            low = hex_quad(r->at + 7, r->end);
        }
        if (low < 0xdc00 || low > 0xdfff) {
            return bad(r, "high surrogate without a low one behind it");
        }
        r->at += 6;
    }
    r->at += 5;
    return true;
}

/* Skip bytes that need no look: eight at a time while none is a quote, backslash, control or high.
 */
static const char *skip_plain(const char *at, const char *end)
{
    const uint64_t ones = 0x0101010101010101ULL;
    const uint64_t highs = 0x8080808080808080ULL;
    while (end - at >= 8) {
        uint64_t w;
        memcpy(&w, at, sizeof(w));
        uint64_t quote = w ^ (ones * '"');
        uint64_t slash = w ^ (ones * '\\');
        uint64_t stop = w | (w - ones * 0x20) | (quote - ones) | (slash - ones);
        if (stop & highs) {
            break;
        }
        at += 8;
    }
    while (at < end && string_class[(uint8_t)*at] == PLAIN) {
        at++;
    }
    return at;
}

/* at: on the opening quote. Checks the whole string and moves behind it. */
static bool scan_string(struct reader *r, const char **ret_start, size_t *ret_len,
                        bool *ret_escaped)
{
    r->at++;
    *ret_start = r->at;
    *ret_escaped = false;
    for (;;) {
        r->at = skip_plain(r->at, r->end);
        if (r->at == r->end) {
            return bad(r, "the string has no closing quote");
        }
        size_t step = 0;
        switch (string_class[(uint8_t)*r->at]) {
        case QUOTE:
            *ret_len = (size_t)(r->at - *ret_start);
            r->at++;
            return true;
        case ESCAPE:
            *ret_escaped = true;
            r->at++;
            if (!scan_escape(r)) {
                return false;
            }
            break;
        case HIGH:
            step = utf8_char(r->at, (size_t)(r->end - r->at));
            if (step == 0) {
                return bad(r, "invalid UTF-8 in a string");
            }
            r->at += step;
            break;
        default:
            return bad(r, "control character in a string (write it as an escape)");
        }
    }
}

static char *put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* A string that scan_string() found good, without its escapes. Never longer than its source. */
static const char *decode(struct arena *arena, const char *at, size_t len, size_t *ret_len)
{
    char *text = arena_dup(arena, at, len);
    char *out = text;
    const char *end = at + len;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((slash ? slash : end) - at);
        memmove(out, at, run);
        out += run;
        if (!slash) {
            break;
        }
        at = slash + 2;
        if (slash[1] != 'u') {
            static const char from[] = "\"\\/bfnrt";
            static const char to[] = "\"\\/\b\f\n\r\t";
            const char *which = memchr(from, slash[1], sizeof(from) - 1);
            *out++ = which ? to[which - from] : slash[1];
            continue;
        }
        uint32_t code = (uint32_t)hex_quad(at, end);
        at += 4;
        if (code >= 0xd800 && code <= 0xdbff) {
            uint32_t low = (uint32_t)hex_quad(at + 2, end);
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
        out = put_utf8(out, code);
    }
    *out = '\0';
    *ret_len = (size_t)(out - text);
    return text;
}

static bool is_digit(const struct reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool scan_digits(struct reader *r, const char *why)
{
    if (!is_digit(r)) {
        return bad(r, why);
    }
    while (is_digit(r)) {
        r->at++;
    }
    return true;
}

static bool scan_number(struct reader *r)
{
    r->at += *r->at == '-';
    if (r->at < r->end && *r->at == '0') {
        r->at++;
        if (is_digit(r)) {
            return bad(r, "a number does not start with 0");
        }
    } else if (!scan_digits(r, "a digit must follow the minus sign")) {
        return false;
    }
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!scan_digits(r, "a digit must follow the decimal point")) {
            return false;
        }
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        r->at += r->at < r->end && (*r->at == '+' || *r->at == '-');
        return scan_digits(r, "the exponent has no digits");
    }
    return true;
}

static struct json *add_node(struct reader *r, enum json_type type, const char *raw)
{
    if (!r->arena) {
        return NULL;
    }
    struct json *node = arena_alloc(r->arena, sizeof(*node));
    node->type = type;
    node->raw = raw;
    node->raw_len = (size_t)(r->at - raw);
    node->key = r->key;
    node->key_len = r->key_len;
    r->key = NULL;
    r->key_len = 0;
    if (!r->open) {
        r->root = node;
    } else {
        r->open->count++;
        if (r->last) {
            r->last->next = node;
        } else {
            r->open->first = node;
        }
    }
    r->last = node;
    return node;
}

static bool in_object(const struct reader *r)
{
    unsigned top = r->depth - 1;
    return r->depth > 0 && (r->objects[top / 64] >> top % 64 & 1);
}

static void push_key(struct reader *r, const char *ptr, size_t len)
{
    mem_reserve(r->keys, &r->key_cap, r->key_count + 1);
    r->keys[r->key_count++] = (struct key){ptr, len};
}

static enum step open_container(struct reader *r, bool object)
{
    if (r->depth == JSON_DEPTH_MAX) {
        bad(r, "nested too deeply (at most 128 levels)");
        return STEP_BAD;
    }
    const char *raw = r->at++;
    struct json *parent = r->open;
    struct json *node = add_node(r, object ? JSON_OBJECT : JSON_ARRAY, raw);
    if (node) {
        node->next = parent; /* until it closes */
        r->open = node;
        r->last = NULL;
    }
    uint64_t bit = 1ULL << r->depth % 64;
    if (object) {
        r->objects[r->depth / 64] |= bit;
        push_key(r, NULL, r->mark);
        r->mark = r->key_count;
    } else {
        r->objects[r->depth / 64] &= ~bit;
    }
    r->depth++;
    return object ? STEP_KEY_OR_END : STEP_ITEM_OR_END;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    if (x->len != y->len) {
        return x->len < y->len ? -1 : 1;
    }
    return memcmp(x->ptr, y->ptr, x->len);
}

#define PAIRWISE_KEYS_MAX 8 /* below this, comparing all pairs beats sorting */

static bool keys_differ(struct key *keys, size_t count)
{
    if (count <= PAIRWISE_KEYS_MAX) {
        for (size_t i = 1; i < count; i++) {
            for (size_t j = 0; j < i; j++) {
                if (compare_keys(&keys[i], &keys[j]) == 0) {
                    return false;
                }
            }
        }
        return true;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (compare_keys(&keys[i - 1], &keys[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* at: on the closing bracket. */
static enum step close_container(struct reader *r)
{
    if (in_object(r)) {
        if (!keys_differ(r->keys + r->mark, r->key_count - r->mark)) {
            bad(r, "the object that ends here has the same key twice");
            return STEP_BAD;
        }
        r->key_count = r->mark - 1;
        r->mark = r->keys[r->key_count].len;
    }
    r->at++;
    r->depth--;
    if (r->arena) {
        struct json *node = r->open;
        node->raw_len = (size_t)(r->at - node->raw);
        r->open = writable(node->next);
        node->next = NULL;
        r->last = node;
    }
    return STEP_AFTER;
}

static enum step read_string(struct reader *r)
{
    const char *raw = r->at;
    const char *start = NULL;
    size_t len = 0;
    bool escaped = false;
    if (!scan_string(r, &start, &len, &escaped)) {
        return STEP_BAD;
    }
    struct json *node = add_node(r, JSON_STRING, raw);
    if (node) {
        node->text_len = len;
        node->text = escaped ? decode(r->arena, start, len, &node->text_len)
                             : arena_dup(r->arena, start, len);
    }
    return STEP_AFTER;
}

static enum step read_number(struct reader *r)
{
    const char *raw = r->at;
    if (!scan_number(r)) {
        return STEP_BAD;
    }
    struct json *node = add_node(r, JSON_NUMBER, raw);
    if (node) {
        node->text = node->raw;
        node->text_len = node->raw_len;
    }
    return STEP_AFTER;
}

static enum step read_word(struct reader *r, const char *word, enum json_type type)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0) {
        bad(r, "expected a value");
        return STEP_BAD;
    }
    const char *raw = r->at;
    r->at += len;
    struct json *node = add_node(r, type, raw);
    if (node) {
        node->boolean = word[0] == 't';
    }
    return STEP_AFTER;
}

static enum step read_value(struct reader *r)
{
    switch (r->at < r->end ? *r->at : '\0') {
    case '{':
        return open_container(r, true);
    case '[':
        return open_container(r, false);
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true", JSON_BOOL);
    case 'f':
        return read_word(r, "false", JSON_BOOL);
    case 'n':
        return read_word(r, "null", JSON_NULL);
    case '-':
    case '0' ... '9':
        return read_number(r);
    default:
        bad(r, r->at < r->end ? "expected a value" : "the text ends where a value should be");
        return STEP_BAD;
    }
}

static enum step read_key(struct reader *r)
{
    const char *start = NULL;
    size_t len = 0;
    bool escaped = false;
    if (r->at == r->end || *r->at != '"') {
        bad(r, "expected a key in double quotes");
        return STEP_BAD;
    }
    if (!scan_string(r, &start, &len, &escaped)) {
        return STEP_BAD;
    }
    if (escaped) {
        if (!r->arena && !r->scratch) {
            r->scratch = arena_new();
        }
        start = decode(r->arena ? r->arena : r->scratch, start, len, &len);
    } else if (r->arena) {
        start = arena_dup(r->arena, start, len);
    }
    push_key(r, start, len);
    r->key = start;
    r->key_len = len;
    skip_space(r);
    if (r->at == r->end || *r->at != ':') {
        bad(r, "expected ':' behind the key");
        return STEP_BAD;
    }
    r->at++;
    return STEP_VALUE;
}

static enum step read_after(struct reader *r)
{
    bool object = in_object(r);
    char c = r->at < r->end ? *r->at : '\0';
    if (c == ',') {
        r->at++;
        return object ? STEP_KEY : STEP_VALUE;
    }
    if (c == (object ? '}' : ']')) {
        return close_container(r);
    }
    bad(r, object ? "expected ',' or '}'" : "expected ',' or ']'");
    return STEP_BAD;
}

static bool read_document(struct reader *r)
{
    enum step step = STEP_VALUE;
    for (;;) {
        skip_space(r);
        char c = r->at < r->end ? *r->at : '\0';
        switch (step) {
        case STEP_VALUE:
            step = read_value(r);
            break;
        case STEP_ITEM_OR_END:
            step = c == ']' ? close_container(r) : read_value(r);
            break;
        case STEP_KEY:
            step = read_key(r);
            break;
        case STEP_KEY_OR_END:
            step = c == '}' ? close_container(r) : read_key(r);
            break;
        case STEP_AFTER:
            if (r->depth == 0) {
                return r->at == r->end || bad(r, "something follows the end of the document");
            }
            step = read_after(r);
            break;
        case STEP_BAD:
            return false;
        }
    }
}

static int report(const struct reader *r, struct err *err)
{
    size_t line = 1;
    const char *line_start = r->begin;
    for (const char *p = r->begin; p < r->at; p++) {
        if (*p == '\n') {
            line++;
            line_start = p + 1;
        }
    }
    size_t column = 1;
    for (const char *p = line_start; p < r->at; p++) {
        column += ((unsigned char)*p & 0xc0) != 0x80;
    }
    return err_set(err, ERR_PERMANENT, "BadJson", "line %zu column %zu: %s", line, column, r->why);
}

static int read_all(struct reader *r, struct err *err)
{
    bool good = read_document(r);
    free(r->keys);
    arena_free(r->scratch);
    if (!good) {
        return report(r, err);
    }
    assert(r->depth == 0 && r->key_count == 0);
    return 0;
}

int json_parse(struct arena *arena, const char *text, size_t len, const struct json **ret_root,
               struct err *err)
{
    text = text ? text : "";
    struct reader r = {.begin = text, .at = text, .end = text + len, .arena = arena};
    int rc = read_all(&r, err);
    if (rc == 0) {
        *ret_root = r.root;
    }
    return rc;
}

int json_check(const char *text, size_t len, struct err *err)
{
    text = text ? text : "";
    struct reader r = {.begin = text, .at = text, .end = text + len};
    return read_all(&r, err);
}

/* --- access ---------------------------------------------------------------------------------- */

const struct json *json_getn(const struct json *object, const char *key, size_t key_len)
{
    if (!object || object->type != JSON_OBJECT) {
        return NULL;
    }
    json_each (member, object) {
        if (member->key_len == key_len && memcmp(member->key, key, key_len) == 0) {
            return member;
        }
    }
    return NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
    return json_getn(object, key, strlen(key));
}

const struct json *json_at(const struct json *array, size_t index)
{
    if (!array || array->type != JSON_ARRAY || index >= array->count) {
        return NULL;
    }
    const struct json *item = array->first;
    for (; item && index > 0; index--) {
        item = item->next;
    }
    return item;
}

/* RFC 6901 section 4: "0", or digits that do not start with 0. */
static const struct json *item_by_text(const struct json *array, const char *digits, size_t len)
{
    size_t index = 0;
    if (len == 0 || (digits[0] == '0' && len > 1)) {
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9' || __builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, digits[i] - '0', &index)) {
            return NULL;
        }
    }
    return json_at(array, index);
}

static const struct json *member_by_token(const struct json *object, const char *token, size_t len)
{
    autostr struct str key = {0};
    for (size_t i = 0; i < len; i++) {
        if (token[i] != '~') {
            str_addc(&key, token[i]);
            continue;
        }
        i++;
        if (i == len || (token[i] != '0' && token[i] != '1')) {
            return NULL;
        }
        str_addc(&key, token[i] == '0' ? '~' : '/');
    }
    return json_getn(object, str_c(&key), key.len);
}

const struct json *json_pointer(const struct json *root, const char *pointer)
{
    const struct json *value = root;
    while (value && *pointer) {
        if (*pointer != '/') {
            return NULL;
        }
        pointer++;
        size_t len = strcspn(pointer, "/");
        if (value->type == JSON_ARRAY) {
            value = item_by_text(value, pointer, len);
        } else if (memchr(pointer, '~', len)) {
            value = member_by_token(value, pointer, len);
        } else {
            value = json_getn(value, pointer, len);
        }
        pointer += len;
    }
    return value;
}

const char *json_str(const struct json *value)
{
    if (!value || value->type != JSON_STRING || memchr(value->text, '\0', value->text_len)) {
        return NULL;
    }
    return value->text;
}

const char *json_get_str(const struct json *object, const char *key)
{
    return json_str(json_get(object, key));
}

bool json_i64(const struct json *value, int64_t *ret)
{
    if (!value || (value->type != JSON_NUMBER && value->type != JSON_STRING)) {
        return false;
    }
    bool minus = value->text_len > 0 && value->text[0] == '-';
    size_t at = minus;
    int64_t sum = 0;
    if (at == value->text_len) {
        return false;
    }
    for (; at < value->text_len; at++) {
        int digit = value->text[at] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, minus ? -digit : digit, &sum)) {
            return false;
        }
    }
    *ret = sum;
    return true;
}

bool json_double(const struct json *value, double *ret)
{
    if (!value || value->type != JSON_NUMBER) {
        return false;
    }
    char few[64]; /* nearly every number; the source text has no NUL behind it */
    autofree char *many = NULL;
    const char *text = few;
    if (value->text_len < sizeof(few)) {
        memcpy(few, value->text, value->text_len);
        few[value->text_len] = '\0';
    } else {
        text = many = mem_strndup(value->text, value->text_len);
    }
    double number = strtod_l(text, NULL, json_locale());
    if (number - number != 0) { /* beyond the largest double */
        return false;
    }
    *ret = number;
    return true;
}

bool json_get_i64(const struct json *object, const char *key, int64_t *ret)
{
    return json_i64(json_get(object, key), ret);
}

bool json_get_double(const struct json *object, const char *key, double *ret)
{
    return json_double(json_get(object, key), ret);
}

bool json_get_bool(const struct json *object, const char *key, bool *ret)
{
    const struct json *value = json_get(object, key);
    if (!value || value->type != JSON_BOOL) {
        return false;
    }
    *ret = value->boolean;
    return true;
}
