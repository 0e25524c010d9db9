/*
 * test_history_sealing.c - sealed events: no payload stays readable in any field of any event, all
 * of it comes back, the form is Temporal's, what is not sealed passes, what is damaged does not.
 */
#include "history/sealing.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/keyring.h"
#include "history/failure.h"
#include "history/json.h"
#include "history/store.h"
#include "history/value_proto.h"
#include "history_random.h"
#include "tmpdir.h"

#define SECRET "swordfish"
#define RING(active)                                                                               \
    "{\"active\":\"" active "\",\"keys\":{\"a\":\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\"," \
    "\"b\":\"YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=\"}}"

static struct keyring *ring(const char *text)
{
    struct err err = {0};
    struct keyring *keyring = NULL;
    const char *path = tmpdir_file("ring.json");
    cr_assert_eq(fs_write_file(path, text, strlen(text), 0600, &err), 0, "%s", err.text);
    cr_assert_eq(keyring_load(path, &keyring, &err), 0, "%s", err.text);
    return keyring;
}

/* --- nothing is forgotten ----------------------------------------------------------------------
 */

static void plant_payload(struct arena *arena, struct payload *p)
{
    payload_set(p, arena, "json/plain", "\"" SECRET "\"", strlen(SECRET) + 2);
}

static struct payloads *plant_list(struct arena *arena)
{
    struct payloads *list = payloads_json(arena, "\"" SECRET "\"");
    return list;
}

static struct payload_map *plant_map(struct arena *arena)
{
    struct payload_map *map = arena_new_of(arena, struct payload_map);
    struct payload p;
    plant_payload(arena, &p);
    payload_map_add(map, arena, "k", &p);
    return map;
}

/* Headers and search attributes are for others: the only maps that stay. */
static bool stays(const struct field_desc *field)
{
    return str_eq(field->json, "header") || str_eq(field->json, "searchAttributes");
}

static size_t planted, standing;

static void plant(struct arena *arena, const struct message_desc *desc, void *message, int depth)
{
    for (size_t i = 0; i < desc->count; i++) {
        const struct field_desc *field = &desc->fields[i];
        void *at = field_at(message, field);
        bool is_failure = desc == &message_desc_failure;
        if (field->kind == FIELD_MSG && depth < 6) {
            *(void **)at = arena_alloc(arena, field->message->size);
            plant(arena, field->message, *(void **)at, depth + 1);
        } else if (field->kind == FIELD_PAYLOAD && !is_failure) {
            *(struct payload **)at = arena_new_of(arena, struct payload);
            plant_payload(arena, *(struct payload **)at);
            planted++;
        } else if (field->kind == FIELD_PAYLOADS) {
            *(struct payloads **)at = plant_list(arena);
            planted++;
        } else if (field->kind == FIELD_PAYLOAD_MAP) {
            *(struct payload_map **)at = plant_map(arena);
            *(stays(field) ? &standing : &planted) += 1;
        } else if (field->kind == FIELD_PAYLOADS_MAP) {
            *(struct payloads_map **)at = arena_new_of(arena, struct payloads_map);
            payloads_map_add(*(struct payloads_map **)at, arena, "k", plant_list(arena));
            planted++;
        } else if (is_failure &&
                   (str_eq(field->json, "message") || str_eq(field->json, "stackTrace"))) {
            *(const char **)at = "it says " SECRET;
            planted++;
        }
    }
}

static size_t count_of(const char *text, const char *needle)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, needle)); at += strlen(needle)) {
        count++;
    }
    return count;
}

Test(sealing, no_field_of_any_event_is_forgotten)
{
    autokeyring struct keyring *keyring = ring(RING("a"));
    const struct sealer *sealer = keyring_sealer(keyring);
    autostr struct str in_base64 = {0};
    size_t all = 0;
    base64_encode(&in_base64, "\"" SECRET "\"", strlen(SECRET) + 2);
    for (size_t i = 0; i < EVENT_TYPE_MAX; i++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str before = {0}, sealed_text = {0}, after = {0};
        const struct event_desc *desc = event_desc_at(i);
        struct event event, opened;
        struct err err = {0};
        event_init(&event, arena, desc->type);
        event.id = 7;
        planted = standing = 0;
        plant(arena, &desc->message, event.attributes, 0);
        event.user_metadata = arena_printf(
            arena,
            "{\"summary\":{\"metadata\":{\"encoding\":\"anNvbi9wbGFpbg==\"},\"data\":\"%s\"}}",
            str_c(&in_base64));
        event_to_json(&before, &event);
        struct event sealed = event_seal(sealer, arena, &event);
        event_to_json(&sealed_text, &sealed);
        cr_expect_eq(count_of(str_c(&before), SECRET) + count_of(str_c(&before), in_base64.ptr),
                     planted + standing + 1, "%s", desc->title);
        cr_expect_eq(count_of(str_c(&sealed_text), SECRET), 0, "%s", desc->title);
        cr_expect_eq(count_of(str_c(&sealed_text), in_base64.ptr), standing, "%s: %s", desc->title,
                     str_c(&sealed_text));
        cr_assert_eq(event_open(sealer, arena, &sealed, &opened, &err), 0, "%s", err.text);
        event_to_json(&after, &opened);
        cr_expect_str_eq(str_c(&after), str_c(&before));
        all += planted;
    }
    cr_assert_gt(all, 300, "the test plants what it looks for: %zu", all);
}

/* A new map of payloads: is it to be sealed? Then add it here. */
Test(sealing, every_map_is_known)
{
    static const char *const known[] = {"memo", "upsertedMemo", "header", "searchAttributes"};
    for (size_t i = 0; i < EVENT_TYPE_MAX; i++) {
        const struct message_desc *desc = &event_desc_at(i)->message;
        for (size_t f = 0; f < desc->count; f++) {
            bool found = desc->fields[f].kind != FIELD_PAYLOAD_MAP;
            for (size_t k = 0; k < ARRAY_LEN(known); k++) {
                found |= str_eq(desc->fields[f].json, known[k]);
            }
            cr_expect(found, "%s.%s", desc->name, desc->fields[f].json);
        }
    }
}

/* --- there and back ----------------------------------------------------------------------------
 */

Test(sealing, whatever_is_sealed_comes_back, .timeout = 120)
{
    autokeyring struct keyring *keyring = ring(RING("a"));
    const struct sealer *sealer = keyring_sealer(keyring);
    struct dice dice = {20261201};
    for (int i = 0; i < 3000; i++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str before = {0}, untouched = {0}, after = {0}, twice = {0}, once = {0};
        struct event event, opened;
        struct err err = {0};
        random_event(&dice, arena, -1, &event);
        event_to_json(&before, &event);
        struct event sealed = event_seal(sealer, arena, &event);
        event_to_json(&untouched, &event);
        cr_assert_str_eq(str_c(&untouched), str_c(&before));
        struct event again = event_seal(sealer, arena, &sealed);
        event_to_json(&once, &sealed);
        event_to_json(&twice, &again);
        cr_assert_str_eq(str_c(&twice), str_c(&once), "what is sealed stays so");
        cr_assert_eq(event_open(sealer, arena, &sealed, &opened, &err), 0, "%s\n%s", err.text,
                     str_c(&before));
        /* of a failure that came with attributes of its own, they count */
        if (!strstr(str_c(&before), "encodedAttributes")) {
            event_to_json(&after, &opened);
            cr_assert_str_eq(str_c(&after), str_c(&before));
        }
    }
}

Test(sealing, without_a_sealer_nothing_changes)
{
    autoarena struct arena *arena = arena_new();
    struct failure *failure = failure_application(arena, "T", "m", false, NULL), *back = NULL;
    struct event *event = event_new(arena, EVENT_TIMER_FIRED);
    struct event opened;
    struct event same = event_seal(NULL, arena, event);
    cr_assert_eq(same.attributes, event->attributes);
    cr_assert_eq(event_open(NULL, arena, event, &opened, NULL), 0);
    cr_assert_eq(opened.attributes, event->attributes);
    cr_assert_eq(failure_seal(NULL, arena, failure), failure);
    cr_assert_eq(failure_open(NULL, arena, failure, &back, NULL), 0);
    cr_assert_eq(back, failure);
    cr_assert_null(payloads_seal(NULL, arena, NULL));
    autokeyring struct keyring *keyring = ring(RING("a"));
    cr_assert_null(payloads_seal(keyring_sealer(keyring), arena, NULL));
    cr_assert_eq(failure_open(keyring_sealer(keyring), arena, NULL, &back, NULL), 0);
    cr_assert_null(back);
    cr_assert_null(user_metadata_seal(keyring_sealer(keyring), arena, NULL));
}

Test(sealing, what_is_not_sealed_passes)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    struct payloads *list = payloads_json(arena, "1"), *opened = NULL;
    struct payload foreign = {.encoding = SEALED_ENCODING, .data = "x", .len = 1}, *same = NULL;
    cr_assert_eq(payloads_open(keyring_sealer(keyring), arena, list, &opened, NULL), 0);
    cr_assert_str_eq(payloads_first_json(opened, NULL), "1");
    cr_assert_eq(payload_open(keyring_sealer(keyring), arena, &foreign, &same, NULL), 0);
    cr_assert_str_eq(same->encoding, SEALED_ENCODING);
}

/* --- the form ----------------------------------------------------------------------------------
 */

Test(sealing, a_payload_is_the_sealed_bytes_of_its_message)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("b"));
    autostr struct str plain = {0}, bytes = {0};
    const char *key_id = NULL;
    struct payload p = {0};
    plant_payload(arena, &p);
    cr_assert(!payload_is_sealed(&p, NULL));
    struct payload *sealed = payload_seal(keyring_sealer(keyring), arena, &p);
    cr_assert_str_eq(sealed->encoding, "binary/encrypted");
    cr_assert(payload_is_sealed(sealed, &key_id));
    cr_assert_str_eq(key_id, "b");
    cr_assert_str_eq(sealed->meta->key, "encryption-key-id");
    cr_assert_null(sealed->meta->next);
    cr_assert_eq(keyring_open(keyring, "b", sealed->data, sealed->len, &plain, NULL), 0);
    payload_to_proto(&bytes, &p);
    cr_assert_eq(plain.len, bytes.len);
    cr_assert_eq(memcmp(plain.ptr, bytes.ptr, bytes.len), 0);
}

Test(sealing, a_failure_keeps_its_type_alone)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    const struct sealer *sealer = keyring_sealer(keyring);
    autostr struct str before = {0}, after = {0};
    struct failure *opened = NULL;
    struct payload *attributes = NULL;
    struct failure *inner =
        failure_application(arena, "CardDeclined", "card " SECRET, true, plant_list(arena));
    inner->stack_trace = "at " SECRET;
    struct failure *outer = failure_activity(arena, 5, 6, "1", "charge", "me", 3, inner);
    struct failure *sealed = failure_seal(sealer, arena, outer);
    cr_assert_str_eq(sealed->message, "Encoded failure");
    cr_assert_str_eq(sealed->cause->message, "Encoded failure");
    cr_assert_null(sealed->cause->stack_trace);
    cr_assert_str_eq(sealed->cause->application_failure_info->type, "CardDeclined");
    cr_assert(sealed->cause->application_failure_info->non_retryable);
    cr_assert(payload_is_sealed(&sealed->cause->application_failure_info->details->items[0], NULL));
    cr_assert_eq(payload_open(sealer, arena, sealed->cause->encoded_attributes, &attributes, NULL),
                 0);
    cr_assert_str_eq(attributes->data,
                     "{\"message\":\"card " SECRET "\",\"stack_trace\":\"at " SECRET "\"}");
    cr_assert_eq(failure_open(sealer, arena, sealed, &opened, NULL), 0);
    failure_to_json(&before, outer);
    failure_to_json(&after, opened);
    cr_assert_str_eq(str_c(&after), str_c(&before));
}

/* As SDKs write it that encode failures and have no codec. */
Test(sealing, attributes_that_are_only_encoded_are_read)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    struct failure *opened = NULL;
    struct failure f = {.message = SEALED_FAILURE};
    struct payloads *p =
        payloads_json(arena, "{\"message\":\"m\",\"stack_trace\":\"s\",\"more\":1}");
    f.encoded_attributes = &p->items[0];
    cr_assert_eq(failure_open(keyring_sealer(keyring), arena, &f, &opened, NULL), 0);
    cr_assert_str_eq(opened->message, "m");
    cr_assert_str_eq(opened->stack_trace, "s");
    cr_assert_null(opened->encoded_attributes);
    p = payloads_json(arena, "[7]");
    f.encoded_attributes = &p->items[0];
    cr_assert_eq(failure_open(keyring_sealer(keyring), arena, &f, &opened, NULL), 0);
    cr_assert_str_eq(opened->message, SEALED_FAILURE);
    cr_assert_not_null(opened->encoded_attributes);
}

Test(sealing, a_long_chain_of_causes_is_cut_as_the_codecs_do)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    autostr struct str text = {0}, back = {0};
    struct failure *chain = NULL, *read = NULL, *opened = NULL;
    struct err err = {0};
    for (int i = 0; i < 5000; i++) {
        struct failure *f = failure_application(arena, "T", SECRET, false, NULL);
        f->cause = chain;
        chain = f;
    }
    store_failure_encode(failure_seal(keyring_sealer(keyring), arena, chain), &text);
    cr_assert_null(strstr(str_c(&text), SECRET));
    cr_assert_eq(store_failure_decode(arena, text.ptr, text.len, &read, &err), 0, "%s", err.text);
    cr_assert_eq(failure_open(keyring_sealer(keyring), arena, read, &opened, &err), 0, "%s",
                 err.text);
    store_failure_encode(opened, &back);
    str_reset(&text);
    store_failure_encode(chain, &text);
    cr_assert_str_eq(str_c(&back), str_c(&text));
}

/* --- what cannot be opened ---------------------------------------------------------------------
 */

static const char *why_not(const struct sealer *sealer, struct arena *arena,
                           const struct event *event, struct err *err)
{
    struct event opened = {.id = -1};
    cr_assert_lt(event_open(sealer, arena, event, &opened, err), 0);
    cr_assert_eq(opened.id, -1);
    cr_assert(!strstr(err->text, SECRET));
    return err->name;
}

Test(sealing, what_cannot_be_opened_says_where)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    autokeyring struct keyring *other = ring(
        "{\"active\":\"b\",\"keys\":{\"b\":\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\"}}");
    struct err err = {0};
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    event->id = 1;
    ev_workflow_execution_started(event)->memo = plant_map(arena);
    struct event sealed = event_seal(keyring_sealer(keyring), arena, event);
    cr_assert_str_eq(why_not(keyring_sealer(other), arena, &sealed, &err), "UnknownSealingKey");
    cr_assert(strstr(err.text, "event 1: memo: k: sealed with the key \"a\""), "%s", err.text);
    struct payload *p = &ev_workflow_execution_started(&sealed)->memo->items[0].payload;
    p->len--;
    cr_assert_str_eq(why_not(keyring_sealer(keyring), arena, &sealed, &err), "BrokenSeal");
    p->len = 0;
    p->data = NULL;
    cr_assert_str_eq(why_not(keyring_sealer(keyring), arena, &sealed, &err), "BrokenSeal");
    /* Sealed by somebody with the key, and no payload. */
    autostr struct str bytes = {0};
    keyring_seal(keyring, "\xff\xff", 2, &bytes);
    p->data = bytes.ptr;
    p->len = bytes.len;
    cr_assert_str_eq(why_not(keyring_sealer(keyring), arena, &sealed, &err), "BadHistory");
}

Test(sealing, an_empty_payload_is_sealed_too)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = ring(RING("a"));
    struct payload empty = {0}, *opened = NULL;
    struct payload *sealed = payload_seal(keyring_sealer(keyring), arena, &empty);
    cr_assert(payload_is_sealed(sealed, NULL));
    cr_assert_eq(payload_open(keyring_sealer(keyring), arena, sealed, &opened, NULL), 0);
    cr_assert_null(opened->encoding);
    cr_assert_eq(opened->len, 0);
}
