/*
 * keys.c - the keyring of an engine on a store: what opens it, and who may not go on without it.
 *
 * Owns: the agreement between a store and keyrings. The store remembers which keys sealed something
 * in it, with a proof of each (journal/sealed.h):
 *   - a keyring whose key is another than the one of that id is refused when it is opened;
 *   - a key is entered when an engine that may write is opened with it as the active one, and not
 *     while another engine serves that would not know it;
 *   - whoever has no keyring may look, and writes nothing into a store that has sealed payloads;
 *   - to serve, all of its keys are needed (worker/recover.c).
 * Must not: know a key, only ids. Tests: tests/unit/test_engine_keyring.c
 */
#include <string.h>

#include "base/json.h"
#include "engine/engine.h"
#include "history/sealing.h"
#include "journal/sealed.h"

#define PROOF "\"proof\""

/* --- opening -----------------------------------------------------------------------------------
 */

static int check_proofs(dur_engine *engine, struct arena *arena,
                        const struct sealing_key_list *list, bool *ret_has_active)
{
    struct err err = {0};
    const char *opened;
    *ret_has_active = false;
    for (size_t i = 0; i < list->count; i++) {
        const char *id = list->rows[i].key_id;
        if (!keyring_has(engine->keyring, id)) {
            continue;
        }
        *ret_has_active |= str_eq(id, keyring_active(engine->keyring));
        if (sealed_open(keyring_sealer(engine->keyring), arena, list->rows[i].proof, &opened,
                        &err) < 0) {
            return engine_refuse(engine, DUR_INVALID,
                                 "the key \"%s\" of the keyring is not the one that sealed "
                                 "payloads of %s: another has that id",
                                 id, engine->path);
        }
    }
    return DUR_OK;
}

/* Who begins to serve takes the ownership lock and then looks for entries in a write transaction,
 * as this is one: either it sees the entry, or its lock is seen here. So no engine serves a store
 * with keys that it does not know. */
static int enter(dur_engine *engine, struct arena *arena)
{
    struct err err = {0};
    struct lock_holder holder = {0};
    const char *id = keyring_active(engine->keyring);
    struct sealing_key_row row = {.key_id = id,
                                  .proof =
                                      sealed_text(keyring_sealer(engine->keyring), arena, PROOF),
                                  .first_used_ns = engine_now_ns(engine)};
    struct txn *txn = txn_begin(engine->store);
    int rc = sealing_key_put(txn, &row) ? lock_query(engine->path, &holder, &err) : 1;
    if (rc <= 0) {
        txn_rollback(txn);
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_BUSY,
                                      "the engine that serves %s (process %lld) does not know the "
                                      "key \"%s\": start it with this keyring first",
                                      engine->path, (long long)holder.pid, id);
    }
    return txn_commit(txn, &err) < 0 ? engine_fail(engine, &err) : DUR_OK;
}

int keys_agree(dur_engine *engine)
{
    struct err err = {0};
    struct sealing_key_list list;
    bool has_active = false;
    autoarena struct arena *arena = arena_new();
    if (!engine->keyring) {
        return DUR_OK;
    }
    if (sealing_key_list(store_db(engine->store), arena, &list, &err) < 0) {
        return engine_fail(engine, &err);
    }
    int rc = check_proofs(engine, arena, &list, &has_active);
    return rc || has_active || engine->options.read_only ? rc : enter(engine, arena);
}

/* --- without a keyring -------------------------------------------------------------------------
 */

int keys_ready(dur_engine *engine)
{
    struct err err = {0};
    struct sealing_key_list list;
    if (engine->keyring) {
        return DUR_OK;
    }
    autoarena struct arena *arena = arena_new();
    if (sealing_key_list(store_db(engine->store), arena, &list, &err) < 0) {
        return engine_fail(engine, &err);
    }
    return list.count == 0 ? DUR_OK
                           : engine_refuse(engine, DUR_INVALID,
                                           "payloads of %s are sealed with the key \"%s\": open it "
                                           "with a keyring that holds it",
                                           engine->path, list.rows[list.count - 1].key_id);
}

int keys_refuse(dur_engine *engine, const char *what, const char *id, const char *key_id)
{
    return engine_refuse(engine, DUR_INVALID,
                         "%s %s is sealed with the key \"%s\": open the store with a keyring that "
                         "holds it",
                         what, id, key_id);
}

const char *keys_shown(struct arena *arena, const char *text)
{
    const char *key_id = sealed_key(arena, text);
    return key_id ? arena_printf(arena, "(sealed with the key %s)", key_id) : text;
}

const char *keys_shown_json(struct arena *arena, const char *text, const char *member)
{
    const char *key_id = sealed_key(arena, text);
    autostr struct str json = {0};
    if (!key_id) {
        return text;
    }
    struct json_out w = json_writer(&json, 0);
    json_begin_object(&w);
    json_kv_str(&w, member, keys_shown(arena, text));
    json_end_object(&w);
    return arena_strdup(arena, str_c(&json));
}

/* --- histories from elsewhere ------------------------------------------------------------------
 */

/* Opens nothing, so that whatever is sealed is told. */
static int refuse_to_open(void *user, const char *key_id, const void *bytes, size_t len,
                          struct str *out, struct err *err)
{
    (void)user;
    (void)bytes;
    (void)len;
    (void)out;
    return err_set(err, ERR_PERMANENT, "UnknownSealingKey",
                   "sealed with the key \"%.64s\": open the engine with a keyring that holds it",
                   key_id);
}

int keys_open_event(dur_engine *engine, struct arena *arena, struct event *event, struct err *err)
{
    static const struct sealer nobody = {.open = refuse_to_open};
    const struct sealer *sealer = engine->keyring ? keyring_sealer(engine->keyring) : &nobody;
    return event_open(sealer, arena, event, event, err);
}

bool keys_in_bytes(const void *bytes, size_t len)
{
    static const char plain[] = SEALED_ENCODING;
    static const char base64[] = "YmluYXJ5L2VuY3J5cHRlZA"; /* the same, without padding */
    return memmem(bytes, len, plain, sizeof(plain) - 1) ||
           memmem(bytes, len, base64, sizeof(base64) - 1);
}
