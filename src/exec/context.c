/*
 * context.c - what a context knows: time, randomness, ids, logging, JSON, its own memory.
 *
 * Owns: the calls of durable.h that neither block nor record, and the checks of payloads.
 * Must not: read a clock or the system's randomness: all of it comes from history and the run id.
 * Tests: tests/unit/test_exec_context.c
 */
#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "exec/jsonf.h"
#include "exec/state.h"

int payload_check(const char *json)
{
    if (!json) {
        return DUR_OK;
    }
    size_t len = strnlen(json, RUN_MAX_PAYLOAD + 1);
    if (len > RUN_MAX_PAYLOAD) {
        return DUR_LIMIT;
    }
    return json_check(json, len, NULL) == 0 ? DUR_OK : DUR_INVALID;
}

const char *run_intern(struct run *run, const char *text)
{
    for (size_t i = 0; i < run->name_count; i++) {
        if (strcmp(run->names[i], text) == 0) {
            return run->names[i];
        }
    }
    const char *copy = run_strdup(run, text);
    if (run->name_count < RUN_NAMES) {
        run->names[run->name_count++] = copy;
    }
    return copy;
}

int64_t dur_now_ns(dur_ctx *ctx)
{
    return ctx->run->now_ns;
}

struct arena *ctx_arena(const dur_ctx *ctx)
{
    return ctx->run->aside ? ctx->run->aside : ctx->run->arena;
}

/* Numbers drawn inside a side effect must not move the stream: replay does not run it. Queries and
 * validators draw from a stream of their own. */
static struct random_stream *stream_of(dur_ctx *ctx, struct random_stream *stream,
                                       struct random_stream *scratch)
{
    if (ctx->run->aside) {
        return &ctx->run->aside_random;
    }
    if (!ctx->run->in_callback) {
        return stream;
    }
    *scratch = *stream;
    return scratch;
}

uint64_t dur_random(dur_ctx *ctx)
{
    struct random_stream scratch;

    return random_next(stream_of(ctx, &ctx->run->user_random, &scratch));
}

const char *dur_uuid(dur_ctx *ctx)
{
    struct random_stream scratch;
    char text[RANDOM_UUID_BYTES];

    random_uuid(stream_of(ctx, &ctx->run->uuid_random, &scratch), text);
    return arena_strdup(ctx_arena(ctx), text);
}

int dur_is_replaying(const dur_ctx *ctx)
{
    return ctx->run->replaying;
}

void dur_log(dur_ctx *ctx, const char *fmt, ...)
{
    struct run *run = ctx->run;
    autostr struct str line = {0};
    va_list ap;

    if (run->replaying || run->unwinding || !run->spec.on_log) {
        return;
    }
    va_start(ap, fmt);
    str_addv(&line, fmt, ap);
    va_end(ap);
    run->spec.on_log(run->spec.on_log_user, str_c(&line));
}

const char *dur_workflow_id(const dur_ctx *ctx)
{
    return ctx->run->spec.workflow_id;
}

const char *dur_run_id(const dur_ctx *ctx)
{
    return ctx->run->spec.run_id;
}

const char *dur_ctx_jsonf(dur_ctx *ctx, const char *fmt, ...)
{
    autostr struct str out = {0};
    va_list ap;

    va_start(ap, fmt);
    jsonf_add(&out, fmt, ap);
    va_end(ap);
    return arena_strndup(ctx_arena(ctx), str_c(&out), out.len);
}

void *dur_ctx_alloc(dur_ctx *ctx, size_t bytes)
{
    return arena_alloc(ctx_arena(ctx), bytes ? bytes : 1);
}

const char *dur_ctx_json_string(dur_ctx *ctx, const char *json, const char *pointer)
{
    return jsonf_string(ctx_arena(ctx), json, pointer);
}

int64_t dur_json_int(const char *json, const char *pointer, int64_t otherwise)
{
    autoarena struct arena *arena = arena_new();
    const struct json *value = jsonf_look(arena, json, pointer);
    int64_t number = otherwise;

    return value && value->type == JSON_NUMBER && json_i64(value, &number) ? number : otherwise;
}

int dur_json_bool(const char *json, const char *pointer, int otherwise)
{
    autoarena struct arena *arena = arena_new();
    const struct json *value = jsonf_look(arena, json, pointer);

    return value && value->type == JSON_BOOL ? value->boolean : otherwise;
}
