/*
 * test_history_fuzz.c - the readers of history/ fed with damaged text: a typed error or a result
 * that survives its own round trip, never a crash. Timeout: 120 s
 *
 * The same check runs under libFuzzer: tests/fuzz/fuzz_history.c.
 */
#include <criterion/criterion.h>

#include "history_check.h"
#include "history_files.h"
#include "history_random.h"

static const char *const splinters[] = {
    "null", "\"\"",          "{}", "[]",      "-1",   "1e9", "\"eventId\"",
    ",",    "\"$payload\":", "}",  "\\u0000", "\xff",
};

/* One random change; the text stays within cap bytes. */
static void damage(struct dice *d, struct str *text)
{
    size_t at = dice_roll(d, text->len);
    size_t len = 1 + dice_roll(d, 12);

    if (at + len > text->len) {
        len = text->len - at;
    }
    switch (dice_roll(d, 4)) {
    case 0:
        text->ptr[at] = (char)dice_roll(d, 256);
        break;
    case 1: /* cut out */
        memmove(text->ptr + at, text->ptr + at + len, text->len - at - len);
        str_cut(text, text->len - len);
        break;
    case 2: { /* copy a piece to another place */
        size_t to = dice_roll(d, text->len - len + 1);
        memmove(text->ptr + to, text->ptr + at, len);
        break;
    }
    default: {
        const char *splinter = splinters[dice_roll(d, ARRAY_LEN(splinters))];
        size_t size = strlen(splinter);
        if (at + size <= text->len) {
            memcpy(text->ptr + at, splinter, size);
        }
    }
    }
}

static void damage_many(const char *golden, int rounds)
{
    struct dice dice = {.state = 77};
    autostr struct str whole = {0};

    read_golden(golden, &whole);
    for (int i = 0; i < rounds; i++) {
        autostr struct str text = {0};
        size_t start = dice_roll(&dice, 2) ? 0 : dice_roll(&dice, whole.len);
        str_addn(&text, whole.ptr + start, whole.len - start);
        for (uint64_t k = 1 + dice_roll(&dice, 3); k > 0 && text.len > 0; k--) {
            damage(&dice, &text);
        }
        history_check(str_c(&text), text.len);
    }
}

Test(fuzz, damaged_histories, .timeout = 120)
{
    damage_many("history_example.json", 1500);
    damage_many("history_events.json", 300);
}

/* Every event type with every field, in the binary form, damaged likewise. */
Test(fuzz, damaged_protobuf, .timeout = 120)
{
    struct dice dice = {.state = 79};

    for (int i = 0; i < 3000; i++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str bytes = {0};
        for (int k = 0; k < 3; k++) {
            struct event event;
            random_event(&dice, arena, (int)dice_roll(&dice, EVENT_TYPE_MAX + 1), &event);
            event_to_proto(&bytes, &event);
        }
        for (uint64_t k = dice_roll(&dice, 4); k > 0 && bytes.len > 0; k--) {
            damage(&dice, &bytes);
        }
        history_check_proto(bytes.ptr, bytes.len);
    }
}

/* Stored rows damaged byte by byte. */
Test(fuzz, damaged_rows, .timeout = 120)
{
    struct dice dice = {.state = 78};

    for (int i = 0; i < 6000; i++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str row = {0};
        struct store_context ctx;
        struct event event;
        random_event(&dice, arena, -1, &event);
        store_context_init(&ctx, NULL, "default", "worker@host", NULL, NULL);
        store_encode(&ctx, &event, &row);
        for (uint64_t k = dice_roll(&dice, 3); k > 0 && row.len > 0; k--) {
            damage(&dice, &row);
        }
        history_check_row((uint8_t)event.type, str_c(&row), row.len);
    }
}
