/*
 * jump.c - the wall clock is set, or the machine sleeps, while runs wait (host.h, journal/clock.h).
 *
 * Owns: noticing it, and moving the deadlines that are in memory, by what the clock moved since
 * they were read; those in the journal move in the same turn. Schedules and cron stay where they
 * are and are looked at again. Time-outs of running attempts are monotonic and know nothing of it:
 * time in which the machine slept is not held against an attempt that slept with it. Must not:
 * decide what is due. Tests: tests/unit/test_engine_clock.c
 */
#include <stdlib.h>

#include "journal/clock.h"
#include "worker/host.h"

static int64_t offset_of(const struct clock_reading *now)
{
    return now->wall_ns - now->boot_ns;
}

void jump_begin(struct host *host, const struct clock_reading *now)
{
    host->clock_offset_ns = offset_of(now);
    host->asleep_ns = now->boot_ns - now->mono_ns;
    host->anchored_ns = now->boot_ns;
    host->clock_moved = false;
    host->slept_ns = 0;
}

static void move(int64_t *at_ns, int64_t by_ns)
{
    if (*at_ns > 0 && *at_ns < INT64_MAX / 2) {
        *at_ns += by_ns;
    }
}

static void move_live(struct live *live, int64_t by_ns)
{
    move(&live->run_deadline_ns, by_ns);
    move(&live->expires_ns, by_ns);
    if (!live->first_task_by_wall) {
        move(&live->first_task_ns, by_ns);
    }
    for (struct open_timer *timer = live->timers; timer; timer = timer->next) {
        move(&timer->due_ns, by_ns);
    }
    for (struct pending *p = live->pending; p; p = p->next) {
        move(&p->scheduled_ns, by_ns);
        move(&p->queued_ns, by_ns);
        move(&p->started_ns, by_ns);
        move(&p->beat_ns, by_ns);
    }
    local_move(live, by_ns);
}

/* Entries of schedules go by the calendar; so do some of first tasks, which are looked up. */
static void move_heap(struct host *host, int64_t by_ns)
{
    struct due *items = host->wall.items;
    size_t count = host->wall.count;
    host->wall = (struct heap){0};
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == DUE_FIRST_TASK) { /* as early as it may be: the run knows better */
            items[i].at_ns = by_ns < 0 ? items[i].at_ns + by_ns : items[i].at_ns;
        } else if (items[i].kind != DUE_SCHEDULE) {
            move(&items[i].at_ns, by_ns);
        }
        heap_push(&host->wall, &items[i]);
    }
    free(items);
}

static void move_memory(struct host *host, int64_t by_ns)
{
    for (struct live *live = host->oldest; live; live = live->newer) {
        move_live(live, by_ns);
    }
    for (struct line *line = host->lines; line; line = line->next) {
        move(&line->armed_ns, by_ns);
    }
    move_heap(host, by_ns);
    host->look = host->look_schedules = true;
}

bool jump_notice(struct host *host, const struct clock_reading *now)
{
    int64_t moved_ns = offset_of(now) - host->clock_offset_ns;
    int64_t slept_ns = now->boot_ns - now->mono_ns - host->asleep_ns;
    if (moved_ns >= CLOCK_STEP_NS || moved_ns <= -CLOCK_STEP_NS) {
        host_log(host, HOST_LOG_WARN,
                 "the clock was set %s by %lld ms: timers and time-outs go on by the time that "
                 "really passes",
                 moved_ns > 0 ? "forward" : "back",
                 (long long)((moved_ns > 0 ? moved_ns : -moved_ns) / NS_PER_MS));
        move_memory(host, moved_ns);
        host->clock_offset_ns = offset_of(now);
        host->clock_moved = true;
    }
    if (slept_ns >= CLOCK_SUSPEND_NS) {
        host_log(host, HOST_LOG_INFO, "the machine slept for %lld ms",
                 (long long)(slept_ns / NS_PER_MS));
        host->slept_ns += slept_ns;
        host->look = true;
    }
    host->asleep_ns = now->boot_ns - now->mono_ns;
    return host->clock_moved || host->slept_ns > 0;
}

void jump_settle(struct host *host, const struct clock_reading *now)
{
    if (host->clock_moved || now->boot_ns - host->anchored_ns >= CLOCK_ANCHOR_NS) {
        clock_settle(host->txn, now);
    }
    if (host->slept_ns > 0) {
        clock_note_suspend(host->txn, now->wall_ns, host->slept_ns);
    }
}

void jump_settled(struct host *host, const struct clock_reading *now)
{
    if (host->clock_moved || now->boot_ns - host->anchored_ns >= CLOCK_ANCHOR_NS) {
        host->anchored_ns = now->boot_ns;
    }
    host->clock_moved = false;
    host->slept_ns = 0;
}
