/*
 * token.c - see token.h. No state.
 * Tests: tests/unit/test_temporal_token.c
 */
#include "temporal/token.h"

#include <string.h>

#include "base/digest.h"
#include "base/json.h"

#define TOKEN_BYTES_MAX 65536

const char *token_text(struct arena *arena, const struct token *token)
{
    autostr struct str ids = {0};
    autostr struct str text = {0};
    struct json_out w = json_writer(&ids, 0);
    json_begin_array(&w);
    json_put_str(&w, token->workflow_id);
    json_put_str(&w, token->run_id);
    json_put_str(&w, token->activity_id);
    json_put_i64(&w, token->attempt);
    json_end_array(&w);
    str_addc(&text, token->task_token.len > 0 ? 'T' : 'I');
    base64_encode(&text, token->task_token.data, token->task_token.len);
    str_addc(&text, '.');
    base64_encode(&text, ids.ptr, ids.len);
    return arena_strndup(arena, text.ptr, text.len);
}

static bool parse_bytes(struct arena *arena, const char *text, size_t len, ProtobufCBinaryData *ret)
{
    autostr struct str bytes = {0};
    if (!base64_decode(&bytes, text, len)) {
        return false;
    }
    ret->len = bytes.len;
    ret->data = arena_dup(arena, str_c(&bytes), bytes.len);
    return true;
}

static bool parse_ids(struct arena *arena, const char *text, struct token *ret)
{
    ProtobufCBinaryData bytes = {0};
    const struct json *ids = NULL;
    int64_t attempt = 0;
    if (!parse_bytes(arena, text, strlen(text), &bytes) ||
        json_parse(arena, (const char *)bytes.data, bytes.len, &ids, NULL) < 0 ||
        ids->type != JSON_ARRAY || ids->count != 4) {
        return false;
    }
    ret->workflow_id = json_str(json_at(ids, 0));
    ret->run_id = json_str(json_at(ids, 1));
    ret->activity_id = json_str(json_at(ids, 2));
    if (!json_i64(json_at(ids, 3), &attempt) || attempt < 1 || attempt > INT32_MAX) {
        return false;
    }
    ret->attempt = (int)attempt;
    return ret->workflow_id && *ret->workflow_id && ret->run_id && ret->activity_id &&
           *ret->activity_id;
}

bool token_parse(struct arena *arena, const char *text, struct token *ret)
{
    *ret = (struct token){0};
    size_t len = text ? strnlen(text, TOKEN_BYTES_MAX + 1) : 0;
    if (len == 0 || len > TOKEN_BYTES_MAX) {
        return false;
    }
    const char *dot = strchr(text, '.');
    if (!dot) {
        return parse_bytes(arena, text, len, &ret->task_token) && ret->task_token.len > 0;
    }
    if (*text != 'T' && *text != 'I') {
        return false;
    }
    return parse_bytes(arena, text + 1, (size_t)(dot - text) - 1, &ret->task_token) &&
           (*text == 'T') == (ret->task_token.len > 0) && parse_ids(arena, dot + 1, ret);
}
