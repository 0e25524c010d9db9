/*
 * clock.c - see clock.h. Tables clock (one row) and clock_jump; moves deadlines of the others.
 * Tests: tests/unit/test_journal_clock.c
 */
#include "journal/clock.h"

#include <string.h>

#include "base/str.h"
#include "journal/db.h"

int64_t clock_moved_ns(const struct clock_anchor *anchor, const struct clock_reading *now,
                       bool *ret_is_boot)
{
    *ret_is_boot = !str_eq(anchor->boot_id, now->boot_id) || now->boot_ns < anchor->boot_ns;
    int64_t passed_ns = now->wall_ns - anchor->wall_ns;
    if (*ret_is_boot) {
        return passed_ns < 0 ? passed_ns : 0;
    }
    int64_t moved_ns = passed_ns - (now->boot_ns - anchor->boot_ns);
    return moved_ns < CLOCK_STEP_NS && moved_ns > -CLOCK_STEP_NS ? 0 : moved_ns;
}

int clock_anchor_get(struct db *db, struct clock_anchor *ret, struct err *err)
{
    static const char SQL[] = "SELECT boot_id, boot_ns, wall_ns FROM clock";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc <= 0) {
        return rc < 0 ? rc : 1;
    }
    const char *boot_id = (const char *)sqlite3_column_text(q.stmt, 0);
    str_copy(ret->boot_id, sizeof(ret->boot_id), boot_id ? boot_id : "");
    ret->boot_ns = row_i64(&q, 1);
    ret->wall_ns = row_i64(&q, 2);
    return 0;
}

static void put_anchor(struct txn *txn, const struct clock_reading *now)
{
    static const char SQL[] = "INSERT INTO clock (id, boot_id, boot_ns, wall_ns) "
                              "VALUES (1, ?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET "
                              "boot_id = ?1, boot_ns = ?2, wall_ns = ?3";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, now->boot_id);
    bind_i64(stmt, 2, now->boot_ns);
    bind_i64(stmt, 3, now->wall_ns);
    txn_run(txn, stmt);
}

static void put_jump(struct txn *txn, const struct clock_jump_row *row)
{
    static const char SQL[] =
        "INSERT INTO clock_jump (at_ns, kind, size_ns, moved_ns) VALUES (?1, ?2, ?3, ?4)";
    static const char OLD[] = "DELETE FROM clock_jump WHERE id <= "
                              "(SELECT max(id) FROM clock_jump) - ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->at_ns);
    bind_i64(stmt, 2, row->kind);
    bind_i64(stmt, 3, row->size_ns);
    bind_i64(stmt, 4, row->moved_ns);
    txn_run(txn, stmt);
    stmt = txn_stmt(txn, OLD);
    bind_i64(stmt, 1, CLOCK_JUMPS_KEPT);
    txn_run(txn, stmt);
}

/* What stands near the end of time stays there. */
#define MOVE(column)                                                                               \
    column " = iif(abs(" column ") < 4611686018427387904, " column " + ?1, " column ")"

static void move_deadlines(struct txn *txn, int64_t by_ns)
{
    static const char TIMERS[] = "UPDATE timer SET " MOVE("due_ns");
    static const char ACTIVITIES[] =
        "UPDATE activity SET " MOVE("scheduled_ns") ", " MOVE("started_ns") ", " MOVE(
            "next_attempt_ns") ", " MOVE("deadline_ns") ", " MOVE("heartbeat_ns") ", " MOVE("queued"
                                                                                            "_ns");
    static const char RUNS[] = "UPDATE execution SET " MOVE("run_deadline_ns") ", " MOVE(
        "expires_ns") ", "
                      "first_task_ns = iif(first_task_by_wall, first_task_ns, first_task_ns + ?1) "
                      "WHERE status = 1 AND (run_deadline_ns IS NOT NULL OR expires_ns IS NOT NULL "
                      "OR first_task_ns IS NOT NULL)";
    static const char QUEUES[] = "UPDATE task_queue SET " MOVE("refilled_ns");
    static const char QUESTIONS[] = "UPDATE question SET " MOVE("expires_ns");
    static const char *const all[] = {TIMERS, ACTIVITIES, RUNS, QUEUES, QUESTIONS};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        sqlite3_stmt *stmt = txn_stmt(txn, all[i]);
        bind_i64(stmt, 1, by_ns);
        txn_run(txn, stmt);
    }
}

void clock_settle(struct txn *txn, const struct clock_reading *now)
{
    struct clock_anchor anchor;
    struct err err = {0};
    bool is_boot;
    int rc = clock_anchor_get(txn_db(txn), &anchor, &err);
    if (rc < 0) {
        txn_fail(txn, &err);
    }
    if (rc != 0) {
        if (rc > 0) {
            put_anchor(txn, now);
        }
        return;
    }
    int64_t moved_ns = clock_moved_ns(&anchor, now, &is_boot);
    if (moved_ns) {
        move_deadlines(txn, moved_ns);
    }
    if (is_boot || moved_ns) {
        put_jump(txn, &(struct clock_jump_row){.at_ns = now->wall_ns,
                                               .kind = is_boot ? CLOCK_JUMP_BOOT : CLOCK_JUMP_SET,
                                               .size_ns = is_boot ? now->wall_ns - anchor.wall_ns
                                                                  : moved_ns,
                                               .moved_ns = moved_ns});
    }
    if (is_boot || moved_ns || now->boot_ns - anchor.boot_ns >= CLOCK_ANCHOR_NS) {
        put_anchor(txn, now);
    }
}

void clock_note_suspend(struct txn *txn, int64_t at_ns, int64_t size_ns)
{
    put_jump(txn, &(struct clock_jump_row){
                      .at_ns = at_ns, .kind = CLOCK_JUMP_SUSPEND, .size_ns = size_ns});
}

static void read_jump(const struct query *q, struct arena *arena is_unused,
                      struct clock_jump_row *ret)
{
    *ret = (struct clock_jump_row){.at_ns = row_i64(q, 0),
                                   .kind = (enum clock_jump_kind)row_i64(q, 1),
                                   .size_ns = row_i64(q, 2),
                                   .moved_ns = row_i64(q, 3)};
}

int clock_jump_list(struct db *db, struct arena *arena, int64_t since_ns, int limit,
                    struct clock_jump_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT at_ns, kind, size_ns, moved_ns FROM clock_jump "
                              "WHERE at_ns >= ?1 ORDER BY id DESC LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, since_ns);
    bind_i64(q.stmt, 2, limit);
    return query_list(&q, arena, ret, read_jump);
}
