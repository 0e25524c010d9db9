/*
 * sealed.c - see sealed.h. Table sealing_key. Tests: tests/unit/test_journal_sealed.c
 */
#include "journal/sealed.h"

#include <string.h>

#include "base/digest.h"
#include "journal/db.h"

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

/* Appends the stored form. */
static void put(const struct sealer *sealer, const char *text, struct str *out)
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
    put(sealer, text, &out);
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

/* --- columns -----------------------------------------------------------------------------------
 */

void bind_sealed(struct txn *txn, sqlite3_stmt *stmt, int index, const char *text)
{
    autostr struct str out = {0};
    const struct sealer *sealer = db_sealer(txn_db(txn));
    if (!text || (!sealer && *text != prefix[0])) {
        bind_text(stmt, index, text);
        return;
    }
    put(sealer, text, &out);
    sqlite3_bind_text64(stmt, index, str_c(&out), out.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

const char *row_sealed(const struct query *q, struct arena *arena, int column)
{
    const char *text = row_text(q, arena, column);
    const char *opened = text;
    struct err why = {0};
    if (!text || *text != prefix[0] ||
        sealed_open(q->db->sealer, arena, text, &opened, &why) == 0) {
        return opened;
    }
    if (q->db->txn) {
        txn_fail(q->db->txn, &why);
        return NULL;
    }
    return text;
}

/* --- keys --------------------------------------------------------------------------------------
 */

bool sealing_key_put(struct txn *txn, const struct sealing_key_row *row)
{
    static const char SQL[] = "INSERT INTO sealing_key (key_id, proof, first_used_ns) "
                              "VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, row->key_id);
    bind_text(stmt, 2, row->proof);
    bind_i64(stmt, 3, row->first_used_ns);
    return txn_run(txn, stmt) > 0;
}

bool sealing_key_delete(struct txn *txn, const char *key_id)
{
    static const char SQL[] = "DELETE FROM sealing_key WHERE key_id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, key_id);
    return txn_run(txn, stmt) > 0;
}

static void read_row(const struct query *q, struct arena *arena, struct sealing_key_row *ret)
{
    *ret = (struct sealing_key_row){.key_id = row_text(q, arena, 0),
                                    .proof = row_text(q, arena, 1),
                                    .first_used_ns = row_i64(q, 2)};
}

int sealing_key_list(struct db *db, struct arena *arena, struct sealing_key_list *ret,
                     struct err *err)
{
    static const char SQL[] =
        "SELECT key_id, proof, first_used_ns FROM sealing_key ORDER BY first_used_ns, key_id";
    struct query q autoquery = query_begin(db, SQL, err);
    return query_list(&q, arena, ret, read_row);
}
