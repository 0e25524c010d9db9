/*
 * test_history_source.c - the forms and containers of histories, and reading them one event at a
 * time in memory that does not grow.
 */
#include "history/source.h"

#include <criterion/criterion.h>
#include <string.h>

#include "history/builder.h"
#include "history/diff.h"
#include "history/json.h"
#include "history/proto.h"

#define ONE "{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_WORKFLOW_EXECUTION_STARTED\"}"
#define TWO "{\"eventId\":\"2\",\"eventType\":\"EVENT_TYPE_WORKFLOW_TASK_SCHEDULED\"}"

static void loads(const char *text, size_t count, const char *unknown)
{
    autoarena struct arena *arena = arena_new();
    struct history history = {0};
    struct err err = {0};

    cr_assert_eq(history_from_bytes(arena, text, strlen(text), &history, &err), 0, "%s: %s", text,
                 err.text);
    cr_assert_eq(history.count, count, "%s: %zu", text, history.count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(history.items[i].id, (int64_t)i + 1, "%s", text);
    }
    cr_assert(unknown ? str_eq(unknown, history.unknown) : !history.unknown, "%s: %s", text,
              history.unknown);
}

static void refused(const char *text, const char *needle)
{
    autoarena struct arena *arena = arena_new();
    struct history history = {0};
    struct err err = {0};

    cr_assert_eq(history_from_bytes(arena, text, strlen(text), &history, &err), -1, "%s", text);
    cr_assert(strstr(err.text, needle), "%s: %s", text, err.text);
    cr_assert_eq(err.kind, ERR_PERMANENT);
}

Test(source, every_container_is_read)
{
    loads("{\"events\":[" ONE "," TWO "]}", 2, NULL);
    loads(" [ " ONE " , " TWO " ] ", 2, NULL);
    loads("{\"history\":{\"events\":[" ONE "]},\"nextPageToken\":\"x\"}", 1, NULL);
    loads("{\"a\":[1,{\"events\":[]}],\"events\":[" ONE "],\"b\":null,\"c\":\"]}\\\"\"}", 1,
          "\"a\":[1,{\"events\":[]}],\"c\":\"]}\\\"\"");
    loads("\xef\xbb\xbf{\"events\":[" ONE "]}", 1, NULL);
    loads("{\n\"eventId\":\"1\",\n\"eventType\":\"x\"}\n", 1, NULL);
    loads("[]", 0, NULL);
    loads("{\"events\":[]}", 0, NULL);
}

Test(source, batches_are_one_history)
{
    loads("[{\"events\":[" ONE "]},{\"events\":[" TWO "]}]", 2, NULL);
    loads("[{\"events\":[]},{\"events\":[" ONE "," TWO "]},{\"events\":[]}]", 2, NULL);
    refused("[{\"events\":[" ONE "]},{\"id\":1}]", "batch after event 1");
}

Test(source, json_lines_are_events)
{
    loads(ONE ",\n" TWO "\n", 2, NULL);
    loads("{\n\"eventId\":\"1\"\n}\n" TWO, 2, NULL);
    refused(ONE "\n{\"eventId\":\"", "line 2");
    refused(ONE "\n{\"eventId\":\"\\", "line 2");
    refused(ONE " x", "line 1");
    refused("{\"", "line 1");
    refused(",", "line 1");
    loads(ONE "\n" TWO "\n", 2, NULL);
    loads(ONE, 1, NULL);
    loads("\n\r\n" ONE "\r\n\n" TWO, 2, NULL);
    refused(ONE "\n{\"eventId\":", "line 2");
}

Test(source, newest_first_is_turned_round)
{
    loads("[" TWO "," ONE "]", 2, NULL);
}

Test(source, what_is_no_history_is_refused)
{
    refused("", "the text ends");
    refused("{}", "no history");
    refused("null", "no history");
    refused("\"events\"", "no history");
    refused("{\"events\":{}}", "no history");
    refused("{\"history\":[]}", "no history");
    refused("[[" ONE "]]", "event at index 0");
    refused("[" ONE ",7]", "event at index 1");
}

Test(source, forms_are_told_by_their_bytes)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str json = {0}, proto = {0};
    struct history from_json = {0}, from_proto = {0};
    autosource struct history_source *source = NULL;
    struct builder b;
    struct err err = {0};

    builder_init(&b, arena, "greet");
    build_task(&b);
    build_completed(&b, "1");
    history_to_json(&json, &b.history);
    history_to_proto(&proto, &b.history);
    cr_assert_eq(history_from_bytes(arena, json.ptr, json.len, &from_json, &err), 0);
    cr_assert_eq(history_from_bytes(arena, proto.ptr, proto.len, &from_proto, &err), 0);
    cr_assert(history_equal(&b.history, &from_json, DIFF_EXACT, NULL));
    cr_assert(history_equal(&b.history, &from_proto, DIFF_EXACT, NULL));
    cr_assert_eq(history_source_open(&source, proto.ptr, proto.len, &err), 0);
    cr_assert(history_source_is_proto(source));
    cr_assert_eq(history_from_json(arena, proto.ptr, proto.len, &from_json, &err), -1);
    cr_assert_eq(history_from_proto(arena, json.ptr, json.len, &from_json, &err), -1);
}

/* 50 000 events: whoever keeps none of them needs little more than one's memory. */
static void bounded(const struct str *bytes, size_t count)
{
    autosource struct history_source *source = NULL;
    autoarena struct arena *arena = arena_new();
    size_t most = 0;
    struct event event;
    struct err err = {0};
    int rc;

    cr_assert_eq(history_source_open(&source, bytes->ptr, bytes->len, &err), 0, "%s", err.text);
    while ((rc = history_source_next(source, arena, &event, &err)) == 0) {
        most = arena_bytes(arena) > most ? arena_bytes(arena) : most;
        arena_reset(arena);
    }
    cr_assert_eq(rc, 1, "%s", err.text);
    cr_assert_eq(history_source_index(source), count);
    cr_assert_lt(most, 16 * 1024);
}

Test(source, memory_does_not_grow, .timeout = 120)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str json = {0}, proto = {0};
    struct builder b;

    builder_init(&b, arena, "loop");
    while (b.history.count < 50000) {
        build_task(&b);
        build_activity_done(&b, build_activity(&b, "1", "step", "1"), "2");
    }
    history_to_json(&json, &b.history);
    history_to_proto(&proto, &b.history);
    bounded(&json, b.history.count);
    bounded(&proto, b.history.count);
}
