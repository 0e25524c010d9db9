/*
 * test_history_value_proto.c - single values in protobuf's binary form: exact bytes, the same bytes
 * as within an event, random round trips, what is refused.
 */
#include "history/value_proto.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "history/json.h"
#include "history/proto.h"
#include "history_random.h"

static void hex_is(const struct str *bytes, const char *hex)
{
    autostr struct str shown = {0};

    for (size_t i = 0; i < bytes->len; i++) {
        str_addf(&shown, "%s%02x", i ? " " : "", (unsigned)(unsigned char)bytes->ptr[i]);
    }
    cr_assert_str_eq(str_c(&shown), hex);
}

Test(value_proto, exact_bytes)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str policy = {0}, execution = {0}, name = {0}, payloads = {0};
    struct retry_policy rp = {.initial_interval = 1500000000,
                              .backoff_coefficient = 2,
                              .maximum_attempts = 3,
                              .non_retryable_error_types = {(const char *[]){"A", "B"}, 2}};
    struct workflow_execution we = {.workflow_id = "w", .run_id = "r"};

    retry_policy_to_proto(&policy, &rp);
    hex_is(&policy, "0a 08 08 01 10 80 ca b5 ee 01 11 00 00 00 00 00 00 00 40 20 03 2a 01 41 2a 01 "
                    "42");
    workflow_execution_to_proto(&execution, &we);
    hex_is(&execution, "0a 01 77 12 01 72");
    name_to_proto(&name, "T");
    hex_is(&name, "0a 01 54");
    payloads_to_proto(&payloads, payloads_json(arena, "1"));
    hex_is(&payloads, "0a 1b 0a 16 0a 08 65 6e 63 6f 64 69 6e 67 12 0a 6a 73 6f 6e 2f 70 6c 61 69 "
                      "6e 12 01 31");
}

/* There is a short way for most payloads: it writes and reads what the long one does, which lists
 * go. */
Test(value_proto, a_payload_alone_is_as_in_a_list)
{
    struct dice dice = {20261202};

    for (int i = 0; i < 5000; i++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str alone = {0}, list = {0}, before = {0}, after = {0}, cut = {0};
        struct payload p, *back = NULL, *other = NULL;
        struct payloads one = {&p, 1, NULL}, *lists = NULL;
        random_payload(&dice, arena, &p);
        payload_to_proto(&alone, &p);
        payloads_to_proto(&list, &one);
        cr_assert_geq(list.len, alone.len + 2);
        cr_assert_eq(memcmp(list.ptr + list.len - alone.len, str_c(&alone), alone.len), 0);
        cr_assert_eq(payload_from_proto(arena, str_c(&alone), alone.len, &back, NULL), 0);
        cr_assert_eq(payloads_from_proto(arena, list.ptr, list.len, &lists, NULL), 0);
        struct failure f = {.encoded_attributes = back ? back : &(struct payload){0}};
        struct failure g = {.encoded_attributes = &lists->items[0]};
        failure_to_json(&before, &g);
        failure_to_json(&after, &f);
        cr_assert_str_eq(str_c(&after), str_c(&before));
        /* damaged bytes: both ways agree on what they are, and neither reads beyond them */
        str_addn(&cut, str_c(&alone), alone.len);
        if (cut.len > 0) {
            cut.ptr[dice_roll(&dice, cut.len)] ^= (char)(1 << dice_roll(&dice, 8));
            str_cut(&cut, 1 + dice_roll(&dice, cut.len));
        }
        autostr struct str wrapped = {0};
        str_addc(&wrapped, 0x0a);
        str_addc(&wrapped, (char)cut.len);
        str_addn(&wrapped, str_c(&cut), cut.len);
        if (cut.len == 0 || cut.len > 127) {
            continue;
        }
        int rc = payload_from_proto(arena, cut.ptr, cut.len, &other, NULL);
        cr_assert_eq(payloads_from_proto(arena, wrapped.ptr, wrapped.len, &lists, NULL), rc);
        if (rc == 0) {
            str_reset(&before);
            str_reset(&after);
            g.encoded_attributes = &lists->items[0];
            f.encoded_attributes = other;
            failure_to_json(&before, &g);
            failure_to_json(&after, &f);
            cr_assert_str_eq(str_c(&after), str_c(&before));
        }
    }
}

Test(value_proto, metadata_of_people)
{
    autostr struct str bytes = {0}, none = {0};

    user_metadata_to_proto(&bytes, "{\"summary\":{\"metadata\":{\"encoding\":\"YQ==\"},"
                                   "\"data\":\"Yg==\"}}");
    hex_is(&bytes, "0a 12 0a 0d 0a 08 65 6e 63 6f 64 69 6e 67 12 01 61 12 01 62");
    user_metadata_to_proto(&none, NULL);
    cr_assert_eq(none.len, 0);
}

Test(value_proto, nothing_is_null)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct failure *failure = (void *)arena;
    struct payloads *payloads = (void *)arena;
    struct payload *payload = (void *)arena;
    struct payload_map *map = (void *)arena;
    const char *name = "x";

    cr_assert_eq(failure_from_proto(arena, NULL, 0, &failure, NULL), 0);
    cr_assert_eq(payload_from_proto(arena, NULL, 0, &payload, NULL), 0);
    cr_assert_eq(payloads_from_proto(arena, "", 0, &payloads, NULL), 0);
    cr_assert_eq(payload_map_from_proto(arena, MAP_MEMO, NULL, 0, &map, NULL), 0);
    cr_assert_eq(name_from_proto(arena, NULL, 0, &name, NULL), 0);
    cr_assert(!failure && !payload && !payloads && !map && !name);
    failure_to_proto(&out, NULL);
    payload_to_proto(&out, NULL);
    payloads_to_proto(&out, NULL);
    payload_map_to_proto(&out, MAP_HEADER, NULL);
    name_to_proto(&out, NULL);
    cr_assert_eq(out.len, 0);
}

Test(value_proto, names_read_back)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    const char *name = NULL;

    name_to_proto(&out, "B\xc3\xa4r");
    cr_assert_eq(name_from_proto(arena, out.ptr, out.len, &name, NULL), 0);
    cr_assert_str_eq(name, "B\xc3\xa4r");
}

Test(value_proto, refusals_name_what)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *needle;
    } cases[] = {
        {"\x0a\x05x", 3, "failure: is no protobuf message"},
        {"\x0a\x01\xff", 3, "failure: message: is not UTF-8"},
        {"\x22\x02\x0a\x05", 4, "failure: cause: is no protobuf message"},
    };
    autoarena struct arena *arena = arena_new();
    struct failure *failure;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        cr_assert_lt(failure_from_proto(arena, cases[i].bytes, cases[i].len, &failure, &err), 0);
        cr_assert(strstr(err.text, cases[i].needle), "%zu: %s", i, err.text);
        cr_assert_null(failure);
    }
}

static void same_bytes(const struct str *whole, const struct str *part, const char *name)
{
    cr_assert(part->len == 0 || memmem(whole->ptr, whole->len, part->ptr, part->len),
              "%s has other bytes alone than within its event", name);
}

/* The value at `at` alone: the same bytes as within its event, and it reads back to them. */
static void check_field(struct arena *arena, const struct str *whole,
                        const struct field_desc *field, const void *at)
{
    autostr struct str once = {0}, again = {0};
    void *back = NULL;
    struct err err = {0};
    int rc = 0;

    switch (field->kind) {
    case FIELD_MSG:
        value_to_proto(&once, field->message, *(void *const *)at);
        rc = value_from_proto(arena, field->message, once.ptr, once.len, &back, &err);
        value_to_proto(&again, field->message, back);
        break;
    case FIELD_PAYLOADS:
        payloads_to_proto(&once, *(struct payloads *const *)at);
        rc = payloads_from_proto(arena, once.ptr, once.len, (struct payloads **)&back, &err);
        payloads_to_proto(&again, back);
        break;
    case FIELD_PAYLOAD:
        payload_to_proto(&once, *(struct payload *const *)at);
        rc = payload_from_proto(arena, once.ptr, once.len, (struct payload **)&back, &err);
        payload_to_proto(&again, back);
        break;
    case FIELD_PAYLOAD_MAP: {
        enum map_kind kind =
            strcmp(field->detail, "fields") == 0 ? MAP_MEMO : MAP_SEARCH_ATTRIBUTES;
        payload_map_to_proto(&once, kind, *(struct payload_map *const *)at);
        rc = payload_map_from_proto(arena, kind, once.ptr, once.len, (struct payload_map **)&back,
                                    &err);
        payload_map_to_proto(&again, kind, back);
        break;
    }
    default:
        return;
    }
    cr_assert_eq(rc, 0, "%s: %s", field->json, err.text);
    same_bytes(whole, &once, field->json);
    cr_assert(once.len == again.len && memcmp(str_c(&once), str_c(&again), once.len) == 0, "%s",
              field->json);
}

Test(value_proto, random_values, .timeout = 120)
{
    struct dice dice = {20261201};

    for (int round = 0; round < 40; round++) {
        for (int type = 1; type <= EVENT_TYPE_MAX; type++) {
            autoarena struct arena *arena = arena_new();
            autostr struct str whole = {0};
            struct event event;
            random_event(&dice, arena, type, &event);
            event_to_proto(&whole, &event);
            const struct message_desc *desc = &event_desc(event.type)->message;
            for (size_t i = 0; !event.no_attributes && i < desc->count; i++) {
                check_field(arena, &whole, &desc->fields[i],
                            field_in(event.attributes, &desc->fields[i]));
            }
        }
    }
}
