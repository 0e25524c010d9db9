/*
 * bench-history.c - how fast the room history/ is: JSON in and out, the stored form, the same
 * sealed, the validator.
 *
 * Owns: the workload (sequential activities with 100-byte payloads). Prints `figure NAME VALUE
 * UNIT` lines; asserts nothing about time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/keyring.h"
#include "base/mem.h"
#include "history/builder.h"
#include "history/json.h"
#include "history/store.h"
#include "history/validate.h"

#define ACTIVITIES 4000
#define ROUND_NS (NS_PER_S / 2)
#define ARENA_BYTES (64U << 20) /* begin anew when the results of a round are larger */

static void fill(char payload[101])
{
    memset(payload, 'x', 100);
    payload[0] = '"';
    payload[99] = '"';
    payload[100] = '\0';
}

static void build(struct builder *b, struct arena *arena)
{
    char payload[101];

    fill(payload);
    builder_init(b, arena, "bench");
    build_task(b);
    for (int i = 1; i <= ACTIVITIES; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        int64_t scheduled = build_activity(b, id, "step", payload);
        build_activity_done(b, scheduled, payload);
        build_task(b);
    }
    build_completed(b, "null");
}

static void figure(const char *name, double value, const char *unit)
{
    printf("figure %s %.1f %s\n", name, value, unit);
}

static void figure_of(const char *form, const char *what, double value, const char *unit)
{
    autofree char *name = mem_printf("history_%s_%s", form, what);
    figure(name, value, unit);
}

static void die(const struct err *err)
{
    fprintf(stderr, "bench-history: %s\n", err->text);
    exit(1);
}

static void bench_json(const struct history *history)
{
    autostr struct str text = {0};
    struct err err = {0};
    int64_t start = clock_mono_ns();
    int64_t spent = 0;
    size_t bytes = 0;

    do {
        str_reset(&text);
        history_to_json(&text, history);
        bytes += text.len;
        spent = clock_mono_ns() - start;
    } while (spent < ROUND_NS);
    figure("history_json_export", (double)bytes * 1e3 / (double)spent, "MB/s");
    start = clock_mono_ns();
    bytes = 0;
    do {
        autoarena struct arena *arena = arena_new();
        struct history copy = {0};
        if (history_from_json(arena, str_c(&text), text.len, &copy, &err) < 0) {
            die(&err);
        }
        bytes += text.len;
        spent = clock_mono_ns() - start;
    } while (spent < ROUND_NS);
    figure("history_json_import", (double)bytes * 1e3 / (double)spent, "MB/s");
}

struct row {
    size_t at;
    size_t len;
};

/* Encode everything into text; row i of rows says where event i is. */
static void encode(const struct history *history, const struct sealer *sealer, struct str *text,
                   struct row *rows)
{
    struct store_context ctx;

    str_reset(text);
    store_context_init(&ctx, sealer, "default", "builder@test", "bench-1", NULL);
    for (size_t i = 0; i < history->count; i++) {
        rows[i].at = text->len;
        store_encode(&ctx, &history->items[i], text);
        rows[i].len = text->len - rows[i].at;
    }
}

static void decode(const struct history *history, const struct sealer *sealer,
                   const struct str *text, const struct row *rows, struct arena *arena)
{
    struct store_context ctx;
    struct err err = {0};

    store_context_init(&ctx, sealer, "default", "builder@test", "bench-1", NULL);
    for (size_t i = 0; i < history->count; i++) {
        const struct event *event = &history->items[i];
        struct event copy;
        const char *row = rows[i].len > 0 ? text->ptr + rows[i].at : NULL;
        if (store_decode(&ctx, arena, event->id, event->type, event->time_ns, row, rows[i].len,
                         &copy, &err) < 0) {
            die(&err);
        }
    }
}

/* form: "store" or "sealed" */
static void bench_store(const struct history *history, const struct sealer *sealer,
                        const char *form)
{
    autostr struct str text = {0};
    autofree struct row *rows = mem_array(history->count, sizeof(*rows));
    int64_t start = clock_mono_ns();
    int64_t spent = 0;
    size_t events = 0;

    do {
        encode(history, sealer, &text, rows);
        events += history->count;
        spent = clock_mono_ns() - start;
    } while (spent < ROUND_NS);
    figure_of(form, "encode", (double)events * 1e6 / (double)spent, "kevents/s");
    figure_of(form, "bytes_per_activity", (double)text.len / ACTIVITIES, "bytes");
    autoarena struct arena *arena = arena_new();
    start = clock_mono_ns();
    events = 0;
    do {
        decode(history, sealer, &text, rows, arena);
        events += history->count;
        if (arena_bytes(arena) > ARENA_BYTES) {
            arena_reset(arena);
        }
        spent = clock_mono_ns() - start;
    } while (spent < ROUND_NS);
    figure_of(form, "decode", (double)events * 1e6 / (double)spent, "kevents/s");
}

static void bench_validate(const struct history *history)
{
    struct err err = {0};
    int64_t start = clock_mono_ns();
    int64_t spent = 0;
    size_t events = 0;

    do {
        if (history_validate(history, NULL, &err) < 0) {
            die(&err);
        }
        events += history->count;
        spent = clock_mono_ns() - start;
    } while (spent < ROUND_NS);
    figure("history_validate", (double)events * 1e3 / (double)spent, "Mevents/s");
}

static struct keyring *some_keyring(void)
{
    static const char text[] =
        "{\"active\":\"a\",\"keys\":{\"a\":\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\"}}";
    const char *dir = getenv("TMPDIR");
    autofree char *path = mem_printf("%s/bench-keyring-%d", dir ? dir : "/tmp", (int)getpid());
    struct keyring *keyring = NULL;
    struct err err = {0};

    if (fs_write_file(path, text, sizeof(text) - 1, 0600, &err) < 0 ||
        keyring_load(path, &keyring, &err) < 0) {
        die(&err);
    }
    unlink(path);
    return keyring;
}

int main(void)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    build(&b, arena);
    bench_json(&b.history);
    bench_store(&b.history, NULL, "store");
    autokeyring struct keyring *keyring = some_keyring();
    bench_store(&b.history, keyring_sealer(keyring), "sealed");
    bench_validate(&b.history);
    return 0;
}
