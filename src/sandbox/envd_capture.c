/*
 * envd_capture.c - keep the head and the tail of an output within a bound.
 *
 * Owns: struct envd_capture and the sink that feeds callback and capture. Invariant: what is left
 * out lies in one piece between head and tail, and its size is written there. Tests:
 * tests/unit/test_sandbox_envd.c
 */
#include "sandbox/envd_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t head_bytes(const struct envd_capture *capture)
{
    return capture->limit / 2;
}

static size_t tail_bytes(const struct envd_capture *capture)
{
    return capture->limit - capture->limit / 2;
}

void envd_capture_add(struct envd_capture *capture, const void *bytes, size_t len)
{
    const char *from = bytes;
    size_t room = head_bytes(capture) - capture->head.len;
    size_t take = len < room ? len : room;
    size_t ring = tail_bytes(capture);

    capture->total += len;
    str_addn(&capture->head, from, take);
    from += take;
    len -= take;
    if (len == 0 || ring == 0) {
        return;
    }
    if (!capture->ring) {
        capture->ring = mem_alloc(ring);
    }
    if (len > ring) {
        from += len - ring;
        len = ring;
    }
    while (len > 0) {
        take = ring - capture->ring_at < len ? ring - capture->ring_at : len;
        memcpy(capture->ring + capture->ring_at, from, take);
        capture->ring_at = (capture->ring_at + take) % ring;
        capture->ring_len = capture->ring_len + take < ring ? capture->ring_len + take : ring;
        from += take;
        len -= take;
    }
}

bool envd_capture_finish(struct envd_capture *capture, struct str *ret)
{
    uint64_t kept = capture->head.len + capture->ring_len;
    bool cut = capture->total > kept;

    str_addn(ret, capture->head.ptr, capture->head.len);
    if (cut) {
        str_addf(ret, "\n[... %llu bytes left out ...]\n",
                 (unsigned long long)(capture->total - kept));
    }
    if (capture->ring_len > 0) {
        size_t ring = tail_bytes(capture);
        size_t start = capture->ring_len < ring ? 0 : capture->ring_at;
        size_t first = ring - start < capture->ring_len ? ring - start : capture->ring_len;
        str_addn(ret, capture->ring + start, first);
        str_addn(ret, capture->ring, capture->ring_len - first);
    }
    str_free(&capture->head);
    free(capture->ring);
    *capture = (struct envd_capture){0};
    return cut;
}

void envd_sink_begin(struct envd_sink *sink, const struct envd_command *command)
{
    size_t limit = command->capture_bytes ? command->capture_bytes : ENVD_CAPTURE_DEFAULT;

    *sink = (struct envd_sink){
        .command = command,
        .out = {.limit = limit},
        .err = {.limit = limit},
    };
}

int envd_sink_put(struct envd_sink *sink, enum envd_stream stream, const void *bytes, size_t len)
{
    const struct envd_command *command = sink->command;

    envd_capture_add(stream == ENVD_STDOUT ? &sink->out : &sink->err, bytes, len);
    return command->on_output ? command->on_output(command->user, stream, bytes, len) : 0;
}

void envd_sink_finish(struct envd_sink *sink, struct envd_result *ret)
{
    ret->out_bytes = sink->out.total;
    ret->err_bytes = sink->err.total;
    ret->out_cut = envd_capture_finish(&sink->out, &ret->out);
    ret->err_cut = envd_capture_finish(&sink->err, &ret->err);
}

void envd_result_free(struct envd_result *result)
{
    str_free(&result->out);
    str_free(&result->err);
    *result = (struct envd_result){0};
}
