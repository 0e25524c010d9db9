/*
 * history_check.h - what must hold for any bytes given to the readers of history/.
 *
 * Owns: the properties, shared by the unit test and the libFuzzer driver. abort() when one is
 * broken: read -> print -> read is equal, the stored and the binary form too, and the validator
 * ends.
 */
#ifndef TESTS_UNIT_HISTORY_CHECK_H
#define TESTS_UNIT_HISTORY_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/diff.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/store.h"
#include "history/validate.h"

static inline void must(bool good, const char *what, const struct str *detail)
{
    if (!good) {
        fprintf(stderr, "%s: %s\n", what, detail ? str_c(detail) : "");
        abort();
    }
}

static inline void history_check_stored(const struct history *history, struct arena *arena)
{
    struct store_context enc;
    struct store_context dec;

    store_context_init(&enc, NULL, "q", "w@h", NULL, NULL);
    dec = enc;
    for (size_t i = 0; i < history->count; i++) {
        const struct event *event = &history->items[i];
        autostr struct str row = {0};
        autostr struct str difference = {0};
        struct event copy;
        store_encode(&enc, event, &row);
        must(store_decode(&dec, arena, event->id, event->type, event->time_ns,
                          row.len > 0 ? row.ptr : NULL, row.len, &copy, NULL) == 0,
             "a stored event does not decode", &row);
        must(event_equal(event, &copy, DIFF_EXACT, &difference), "a stored event differs",
             &difference);
    }
}

/* Both ways through the binary form. JSON that is kept as text may get its usual spelling. */
static inline void history_check_binary(const struct history *history, struct arena *arena)
{
    autostr struct str bytes = {0};
    autostr struct str again = {0};
    autostr struct str difference = {0};
    struct history first = {0};
    struct history second = {0};
    struct err err = {0};

    if (history->count == 0) {
        return;
    }
    history_to_proto(&bytes, history);
    must(bytes_are_proto(bytes.ptr, bytes.len), "the binary form looks like text", NULL);
    must(history_from_proto(arena, bytes.ptr, bytes.len, &first, &err) == 0, err.text, NULL);
    must(history_equal(history, &first, DIFF_DIGITS | DIFF_UNKNOWN, &difference),
         "the binary form differs", &difference);
    history_to_proto(&again, &first);
    must(history_from_proto(arena, again.ptr, again.len, &second, &err) == 0, err.text, NULL);
    must(history_equal(&first, &second, DIFF_EXACT, &difference), "the binary form wanders",
         &difference);
}

static inline void history_check_proto(const void *bytes, size_t len)
{
    autoarena struct arena *arena = arena_new();
    struct history history = {0};
    struct err err = {0};

    if (history_from_proto(arena, bytes, len, &history, &err) < 0) {
        must(err.kind == ERR_PERMANENT && err.text[0], "an error without kind or text", NULL);
        return;
    }
    history_check_binary(&history, arena);
    history_check_stored(&history, arena);
    history_validate(&history, NULL, NULL);
}

static inline void history_check(const char *text, size_t len)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    autostr struct str difference = {0};
    struct history history = {0};
    struct history again = {0};
    struct err err = {0};

    if (history_from_json(arena, text, len, &history, &err) < 0) {
        must(err.kind == ERR_PERMANENT && err.text[0], "an error without kind or text", NULL);
        return;
    }
    history_to_json(&out, &history);
    must(history_from_json(arena, out.ptr, out.len, &again, &err) == 0,
         "what was printed does not parse", &out);
    must(history_equal(&history, &again, DIFF_EXACT, &difference), "what was printed differs",
         &difference);
    history_check_stored(&history, arena);
    history_check_binary(&history, arena);
    history_validate(&history, NULL, NULL);
}

static inline void history_check_row(uint8_t type, const char *text, size_t len)
{
    autoarena struct arena *arena = arena_new();
    struct store_context ctx;
    struct event event;
    struct err err = {0};

    store_context_init(&ctx, NULL, "q", "w@h", NULL, NULL);
    if (store_decode(&ctx, arena, 1, type, 0, len > 0 ? text : NULL, len, &event, &err) < 0) {
        must(err.kind == ERR_PERMANENT && err.text[0], "an error without kind or text", NULL);
        return;
    }
    struct history history = {.items = &event, .count = 1};
    history_check_stored(&history, arena);
}

#endif
