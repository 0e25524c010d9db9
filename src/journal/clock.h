/*
 * clock.h - what the wall clock does while runs wait: tables clock and clock_jump.
 *
 * Owns: the anchor (which boot of which machine, and what its clocks said when somebody wrote last)
 * and the record of jumps. Deadlines in the journal are instants of the wall clock, and they must
 * not come nearer because somebody sets it. CLOCK_BOOTTIME tells how much time really passed,
 * through suspend too: when the wall clock has moved against it, every deadline that stands for a
 * duration (timers, time-outs, back-offs, delays) is moved along, in the transaction of whoever
 * notices first. Cron and schedules go by the wall and stay. So timers never fire early, and a
 * clock set back does not hold them up. new boot (or another machine): nothing but the wall clock
 * knows how long it took; deadlines stay. If it says less than the anchor it is wrong, and counts
 * as no time at all. the same boot, BOOTTIME behind the anchor (a time namespace): the same as a
 * new boot Must not: decide when something is due. Steps below CLOCK_STEP_NS are left alone.
 */
#ifndef JOURNAL_CLOCK_H
#define JOURNAL_CLOCK_H

#include "base/clock.h"
#include "journal/store.h"

#define CLOCK_STEP_NS (50 * NS_PER_MS)  /* smaller ones cannot be told from a slow reading */
#define CLOCK_SUSPEND_NS NS_PER_S       /* shorter sleeps are not recorded */
#define CLOCK_ANCHOR_NS (60 * NS_PER_S) /* an older anchor is renewed with the next commit */
#define CLOCK_JUMPS_KEPT 1000

enum clock_jump_kind {
    CLOCK_JUMP_SET = 1,     /* the wall clock moved against BOOTTIME: set, or the machine paused */
    CLOCK_JUMP_SUSPEND = 2, /* the machine slept; nothing had to be moved */
    CLOCK_JUMP_BOOT = 3, /* a new boot, or another machine; size: since the anchor, by the wall */
};

struct clock_anchor {
    char boot_id[CLOCK_BOOT_ID_SIZE];
    int64_t boot_ns;
    int64_t wall_ns;
};

struct clock_jump_row {
    int64_t at_ns; /* wall, after the jump */
    enum clock_jump_kind kind;
    int64_t size_ns;  /* of SET: > 0 forward */
    int64_t moved_ns; /* by so much deadlines were moved; 0: not */
};
struct clock_jump_list {
    struct clock_jump_row *rows;
    size_t count;
};

/* By how much deadlines that were written under the anchor must be moved now; pure. *ret_is_boot:
 * the anchor is of another boot. */
int64_t clock_moved_ns(const struct clock_anchor *anchor, const struct clock_reading *now,
                       bool *ret_is_boot);

/* First thing in a transaction that writes or reads deadlines: moves them if the wall clock has
 * moved, and keeps the anchor. */
void clock_settle(struct txn *txn, const struct clock_reading *now);
void clock_note_suspend(struct txn *txn, int64_t at_ns, int64_t size_ns);

int clock_anchor_get(struct db *db, struct clock_anchor *ret, struct err *err); /* 1: none yet */
/* Newest first; since_ns: wall. */
int clock_jump_list(struct db *db, struct arena *arena, int64_t since_ns, int limit,
                    struct clock_jump_list *ret, struct err *err);

#endif
