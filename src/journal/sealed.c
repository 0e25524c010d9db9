/*
 * sealed.c - see sealed.h. Table sealing_key. Tests: tests/unit/test_journal_sealed.c
 */
#include "journal/sealed.h"

#include <string.h>

#include "journal/db.h"

/* --- columns -----------------------------------------------------------------------------------
 */

void bind_sealed(struct txn *txn, sqlite3_stmt *stmt, int index, const char *text)
{
    autostr struct str out = {0};
    const struct sealer *sealer = db_sealer(txn_db(txn));
    if (!text || (!sealer && !sealed_maybe(text))) {
        bind_text(stmt, index, text);
        return;
    }
    sealed_put(sealer, text, &out);
    bind_copy(stmt, index, str_c(&out), out.len);
}

const char *row_sealed(const struct query *q, struct arena *arena, int column)
{
    const char *text = row_text(q, arena, column);
    const char *opened = text;
    struct err why = {0};
    if (!text || !sealed_maybe(text) ||
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
