/*
 * sealed_text.c - see sealed_text.h.
 * Tests: tests/unit/test_journal_sealed.c, tests/unit/test_factory_ledger.c
 */
#include "base/sealed_text.h"

#include <string.h>

#include "base/digest.h"

static const char prefix[] = "\"$sealed:";

/* Where the key's id is in a sealed text, and its length; NULL: it is not sealed. */
static const char *find_key(const char *text, size_t *ret_len)
{
    if (!text || strncmp(text, prefix, sizeof(prefix) - 1) != 0) {
        return NULL;
    }
    const char *key = text + sizeof(prefix) - 1;
    const char *end = strchr(key, ':');
    if (!end) {
        return NULL;
    }
    *ret_len = (size_t)(end - key);
    return key;
}

const char *sealed_key(struct arena *arena, const char *text)
{
    size_t len = 0;
    const char *key = find_key(text, &len);
    return key ? arena_strndup(arena, key, len) : NULL;
}

void sealed_put(const struct sealer *sealer, const char *text, struct str *out)
{
    autostr struct str sealed = {0};
    if (!sealer) { /* a plain one must not look sealed: the same JSON, spelt otherwise */
        bool looks_sealed = strncmp(text, prefix, sizeof(prefix) - 1) == 0;
        str_add(out, looks_sealed ? "\"\\u0024" : "");
        str_add(out, looks_sealed ? text + 2 : text);
        return;
    }
    const char *key_id = sealer->seal(sealer->user, text, strlen(text), &sealed);
    str_addf(out, "%s%s:", prefix, key_id);
    base64_encode(out, sealed.ptr, sealed.len);
    str_addc(out, '"');
}

const char *sealed_text(const struct sealer *sealer, struct arena *arena, const char *text)
{
    autostr struct str out = {0};
    if (!text) {
        return NULL;
    }
    sealed_put(sealer, text, &out);
    return arena_dup(arena, out.ptr, out.len);
}

int sealed_open(const struct sealer *sealer, struct arena *arena, const char *stored,
                const char **ret, struct err *err)
{
    autostr struct str bytes = {0}, plain = {0};
    size_t key_len = 0, len = stored ? strlen(stored) : 0;
    const char *key = find_key(stored, &key_len);
    if (!key) {
        *ret = stored;
        return 0;
    }
    const char *key_id = arena_strndup(arena, key, key_len);
    if (!sealer) {
        return err_set(err, ERR_PERMANENT, "UnknownSealingKey",
                       "sealed with the key \"%.64s\": a keyring is needed", key_id);
    }
    const char *base64 = key + key_len + 1;
    if (stored[len - 1] != '"' ||
        !base64_decode(&bytes, base64, (size_t)(stored + len - 1 - base64))) {
        return err_set(err, ERR_PERMANENT, "BrokenSeal", "what is sealed is cut");
    }
    if (sealer->open(sealer->user, key_id, str_c(&bytes), bytes.len, &plain, err) < 0) {
        return -1;
    }
    *ret = arena_dup(arena, plain.ptr, plain.len);
    return 0;
}
