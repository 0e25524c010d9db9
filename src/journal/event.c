/*
 * event.c - see event.h. Table event_batch. Long attributes move to blob and come back here.
 *
 * The text of a batch: [[TYPE,NS,ATTRIBUTES],[TYPE,NS,null],[TYPE,NS,null,BLOB]], without white
 * space; NS counts from the row's time_ns. It is cut by counting brackets outside strings.
 * Must not: update or delete (triggers refuse it).
 * Tests: tests/unit/test_journal_event.c, tests/fuzz/fuzz_batch.c
 */
#include "journal/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "journal/blob.h"
#include "journal/db.h"

/* One row is not more than so many events and about so much text: reading a few events of a long
 * history must not parse all that one transaction gave it. */
#define BATCH_EVENTS 256
#define BATCH_BYTES ((size_t)256 * 1024)

/* --- writing -----------------------------------------------------------------------------------
 */

static void add_event(struct txn *txn, int64_t execution, const struct event_row *row,
                      int64_t since_ns, struct str *text)
{
    bool is_long = row->attributes_len > EVENT_INLINE_BYTES;
    str_addf(text, "%c[%d,%lld,", text->len ? ',' : '[', row->type,
             (long long)(row->time_ns - since_ns));
    if (row->attributes_len > 0 && !is_long) {
        str_addn(text, row->attributes, row->attributes_len);
    } else {
        str_add(text, "null");
    }
    if (is_long) {
        str_addf(text, ",%lld",
                 (long long)blob_put(txn, execution, row->attributes, row->attributes_len, NULL));
    }
    str_addc(text, ']');
}

static int64_t bytes_of(const struct event_row *rows, size_t count)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += (int64_t)rows[i].attributes_len + EVENT_ROW_BYTES;
    }
    return bytes;
}

/* As many of the rows as make one batch; returns how many. */
static size_t append_batch(struct txn *txn, int64_t execution, const struct event_row *rows,
                           size_t count, int64_t history_bytes)
{
    static const char SQL[] = "INSERT INTO event_batch (execution, first_event_id, last_event_id, "
                              "history_bytes, time_ns, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    autostr struct str text = {0};
    size_t taken = 0;
    while (taken < count && taken < BATCH_EVENTS && text.len < BATCH_BYTES) {
        add_event(txn, execution, &rows[taken++], rows[0].time_ns, &text);
    }
    str_addc(&text, ']');
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, rows[0].event_id);
    bind_i64(stmt, 3, rows[0].event_id + (int64_t)taken - 1);
    bind_i64(stmt, 4, history_bytes - bytes_of(rows + taken, count - taken));
    bind_i64(stmt, 5, rows[0].time_ns);
    sqlite3_bind_text64(stmt, 6, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
    txn_run(txn, stmt);
    return taken;
}

void event_append(struct txn *txn, int64_t execution, const struct event_row *rows, size_t count,
                  int64_t history_bytes)
{
    while (count > 0 && !txn_failed(txn)) {
        size_t taken = append_batch(txn, execution, rows, count, history_bytes);
        rows += taken;
        count -= taken;
    }
}

/* --- the text of a batch -----------------------------------------------------------------------
 */

/* A number and what must follow it. */
static bool take_number(char **text, char follower, int64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoll(*text, &end, 10);
    if (end == *text || errno || (follower && *end != follower)) {
        return false;
    }
    *text = end + (follower ? 1 : 0);
    return true;
}

/* Behind the JSON value that begins here; NULL when it does not end. */
static char *skip_value(char *text)
{
    int depth = 0;
    for (;; text++) {
        text += strcspn(text, "\"[]{},");
        switch (*text) {
        case '\0':
            return NULL;
        case '"':
            for (text++; *text != '"'; text++) {
                text += strcspn(text, "\"\\");
                if (*text == '"') {
                    break;
                }
                if (!*text || !*++text) {
                    return NULL;
                }
            }
            break;
        case '[':
        case '{':
            depth++;
            break;
        case ',':
            if (depth == 0) {
                return text;
            }
            break;
        default:
            if (depth == 0) { /* the end of the event */
                return text;
            }
            depth--;
        }
    }
}

int event_batch_next(char **text, int64_t time_ns, struct event_row *row, int64_t *ret_blob)
{
    char *at = *text;
    int64_t type;
    int64_t since;
    if (*at == ']') {
        return at[1] ? -1 : 0;
    }
    if ((*at != '[' && *at != ',') || at[1] != '[') {
        return -1;
    }
    at += 2;
    if (!take_number(&at, ',', &type) || !take_number(&at, ',', &since) || type < 0 ||
        type > INT32_MAX || __builtin_add_overflow(time_ns, since, &since)) {
        return -1;
    }
    char *end = skip_value(at);
    if (!end || end == at) {
        return -1;
    }
    bool has_blob = *end == ',';
    *end++ = '\0';
    bool has_text = !str_eq(at, "null");
    *row = (struct event_row){.type = (int)type,
                              .time_ns = since,
                              .attributes = has_text ? at : NULL,
                              .attributes_len = has_text ? (size_t)(end - 1 - at) : 0};
    *ret_blob = 0;
    if (has_blob && (!take_number(&end, ']', ret_blob) || *ret_blob <= 0)) {
        return -1;
    }
    *text = end;
    return 1;
}

/* --- reading -----------------------------------------------------------------------------------
 */

struct batch {
    int64_t first_id;
    int64_t last_id;
    int64_t time_ns;
    char *text;
};

/* The row of a query for first_event_id, last_event_id, time_ns, events. */
static struct batch read_batch(const struct query *q, struct arena *arena)
{
    return (struct batch){.first_id = row_i64(q, 0),
                          .last_id = row_i64(q, 1),
                          .time_ns = row_i64(q, 2),
                          .text = row_text(q, arena, 3)};
}

static int corrupt(const struct batch *batch, struct err *err)
{
    return err_set(err, ERR_PERMANENT, "StoreCorrupt", "events %lld to %lld cannot be read",
                   (long long)batch->first_id, (long long)batch->last_id);
}

/* Attributes that were kept elsewhere. */
static int fetch(struct db *db, struct arena *arena, int64_t blob, struct event_row *row,
                 struct err *err)
{
    char *text = NULL;
    int rc = blob_get(db, arena, blob, &text, &row->attributes_len, err);
    row->attributes = text;
    return rc <= 0 ? rc
                   : err_set(err, ERR_PERMANENT, "StoreCorrupt",
                             "attributes of event %lld are missing", (long long)row->event_id);
}

/* Adds the events of a batch from from_id on, while there are less than limit. */
static int add_events(struct db *db, struct arena *arena, const struct batch *batch,
                      int64_t from_id, size_t limit, struct event_list *list, size_t *cap,
                      struct err *err)
{
    char *text = batch->text;
    int64_t id = batch->first_id;
    struct event_row row;
    int64_t blob;
    int rc;
    while ((rc = event_batch_next(&text, batch->time_ns, &row, &blob)) > 0) {
        row.event_id = id++;
        if (row.event_id < from_id || list->count == limit) {
            continue;
        }
        if (blob && fetch(db, arena, blob, &row, err) < 0) {
            return -1;
        }
        arena_grow(arena, list->rows, list->count, cap);
        list->rows[list->count++] = row;
    }
    return rc == 0 && id == batch->last_id + 1 ? 0 : corrupt(batch, err);
}

int event_read(struct db *db, struct arena *arena, int64_t execution, int64_t from_id, int limit,
               struct event_list *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT first_event_id, last_event_id, time_ns, events FROM event_batch "
        "WHERE execution = ?1 AND first_event_id >= ifnull((SELECT max(first_event_id) "
        "FROM event_batch WHERE execution = ?1 AND first_event_id <= ?2), 0) "
        "AND last_event_id >= ?2 ORDER BY first_event_id";
    struct query q autoquery = query_begin(db, SQL, err);
    size_t most = limit > 0 ? (size_t)limit : SIZE_MAX;
    size_t cap = 0;
    int rc = 1;
    *ret = (struct event_list){0};
    bind_i64(q.stmt, 1, execution);
    bind_i64(q.stmt, 2, from_id);
    while (ret->count < most && (rc = query_next(&q)) > 0) {
        struct batch batch = read_batch(&q, arena);
        if (add_events(db, arena, &batch, from_id, most, ret, &cap, err) < 0) {
            return -1;
        }
    }
    return rc < 0 ? rc : 0;
}

int event_count(struct db *db, int64_t execution, int64_t *ret, struct err *err)
{
    static const char SQL[] = "SELECT ifnull(sum(last_event_id - first_event_id + 1), 0) "
                              "FROM event_batch WHERE execution = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret = row_i64(&q, 0);
        rc = 0;
    }
    return rc;
}

/* The last event of such a type in a batch. 1: there is none. */
static int last_in(const struct batch *batch, int first_type, int last_type, int64_t *ret_id,
                   int *ret_type, struct err *err)
{
    char *text = batch->text;
    int64_t id = batch->first_id;
    int64_t blob;
    int found = 1;
    struct event_row row;
    int rc;
    while ((rc = event_batch_next(&text, batch->time_ns, &row, &blob)) > 0) {
        if (row.type >= first_type && row.type <= last_type) {
            *ret_id = id;
            *ret_type = row.type;
            found = 0;
        }
        id++;
    }
    return rc < 0 ? corrupt(batch, err) : found;
}

int event_last(struct db *db, int64_t execution, int first_type, int last_type, int64_t *ret_id,
               int *ret_type, struct err *err)
{
    static const char SQL[] =
        "SELECT first_event_id, last_event_id, time_ns, events FROM event_batch "
        "WHERE execution = ?1 ORDER BY first_event_id DESC";
    struct query q autoquery = query_begin(db, SQL, err);
    autoarena struct arena *arena = arena_new();
    int rc;
    bind_i64(q.stmt, 1, execution);
    while ((rc = query_next(&q)) > 0) {
        struct batch batch = read_batch(&q, arena);
        rc = last_in(&batch, first_type, last_type, ret_id, ret_type, err);
        if (rc <= 0) {
            return rc;
        }
        arena_reset(arena);
    }
    return rc < 0 ? rc : 1;
}
