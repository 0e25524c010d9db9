/*
 * test_exec_mismatch.c - code that no longer fits its history: every kind, and the report's text.
 *
 * Goldens: mismatch-NAME.txt in tests/golden; UPDATE_GOLDEN=1 rewrites them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_mismatch, name, .timeout = 30)

/* What the workflow does, letter by letter:
 * a A b   activities Alpha (id counter), Alpha with id "mine", Beta;  t timer;  s side effect;
 * m memo; w wait for all;  x cancel all;  c complete;  f fail;  - nothing */
static int effect(void *arg, const char **result)
{
    (void)arg;
    *result = "1";
    return DUR_OK;
}

static int script(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *const *text = user;
    dur_future *f[32];
    size_t count = 0;

    for (const char *p = *text; *p; p++) {
        int rc = DUR_OK;
        switch (*p) {
        case 'a':
            f[count++] = dur_start_activity(ctx, "Alpha", input, NULL);
            break;
        case 'A':
            f[count++] = dur_start_activity(ctx, "Alpha", input,
                                            &(dur_activity_options){.activity_id = "mine"});
            break;
        case 'b':
            f[count++] = dur_start_activity(ctx, "Beta", input, NULL);
            break;
        case 't':
            f[count++] = dur_timer(ctx, 1000);
            break;
        case 's':
            rc = dur_side_effect(ctx, effect, NULL, NULL);
            break;
        case 'm':
            rc = dur_upsert_memo(ctx, "{\"k\":1}");
            break;
        case 'w':
            for (size_t i = 0; i < count && rc == DUR_OK; i++) {
                rc = dur_await(ctx, f[i], NULL);
            }
            break;
        case 'x':
            for (size_t i = 0; i < count; i++) {
                dur_cancel_future(ctx, f[i]);
            }
            break;
        case 'p':
            rc = dur_receive(ctx, "on", -1, NULL);
            break;
        case 'f':
            return dur_fail_run(ctx, "Failed", "as told");
        default:
            break;
        }
        if (rc) {
            return rc;
        }
    }
    *result = "\"done\"";
    return DUR_OK;
}

static void expect_golden(const char *name, const char *report)
{
    autofree char *dir = fs_dirname(__FILE__);
    autofree char *path = mem_printf("%s/../golden/mismatch-%s.txt", dir, name);
    autostr struct str want = {0};

    if (getenv("UPDATE_GOLDEN")) {
        cr_assert_eq(fs_write_file(path, report, strlen(report), 0644, NULL), 0);
    }
    cr_assert_eq(fs_read_file(path, 1 << 20, &want, NULL), 0, "cannot read %s", path);
    cr_expect_str_eq(report, str_c(&want), "%s differs:\n%s", path, report);
}

/* Record one task with `before`, replay with `after`; the mismatch must be of that kind. */
static void expect_mismatch(const char *name, const char *before, const char *after,
                            enum mismatch_kind kind, int64_t event_id)
{
    struct host h;
    const char *text = before;

    host_init(&h, script, &text, "null");
    cr_assert_eq(host_task(&h), 0);
    text = after;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH, "%s: %s", name, h.err.text);
    cr_expect_eq(h.out.mismatch.kind, kind, "%s: kind %d", name, (int)h.out.mismatch.kind);
    cr_expect_eq(h.out.mismatch.event_id, event_id, "%s: event %lld", name,
                 (long long)h.out.mismatch.event_id);
    cr_expect_eq(h.out.cause, WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR);
    cr_expect(strstr(h.out.message, "TMPRL1100"), "%s", h.out.message);
    struct mismatch m = h.out.mismatch;
    if (m.site.file) { /* a golden must not depend on where the tree lies */
        cr_expect(strstr(h.out.report, m.site.file));
        m.site = (struct run_site){.file = fs_basename(m.site.file), .line = 7};
    }
    autostr struct str report = {0};
    mismatch_report(&report, &m);
    expect_golden(name, str_c(&report));
    host_free(&h);
}

TEST(extra_command)
{
    expect_mismatch("extra", "aw", "abw", MISMATCH_EXTRA, 4);
}

TEST(missing_command)
{
    expect_mismatch("missing", "abw", "aw", MISMATCH_MISSING, 6);
}

TEST(swapped_commands)
{
    expect_mismatch("swapped", "atw", "taw", MISMATCH_DIFFERENT, 5);
}

TEST(another_type)
{
    expect_mismatch("type", "aw", "bw", MISMATCH_DIFFERENT, 5);
}

TEST(another_id)
{
    expect_mismatch("id", "aw", "Aw", MISMATCH_DIFFERENT, 5);
}

TEST(another_end)
{
    expect_mismatch("end", "-", "f", MISMATCH_DIFFERENT, 5);
}

TEST(an_end_where_it_waited)
{
    expect_mismatch("early-end", "aw", "-", MISMATCH_DIFFERENT, 5);
}

TEST(a_side_effect_too_many)
{
    expect_mismatch("side-effect", "aw", "saw", MISMATCH_EXTRA, 4);
}

TEST(a_side_effect_too_few)
{
    expect_mismatch("side-effect-gone", "saw", "aw", MISMATCH_DIFFERENT, 5);
}

TEST(memo_against_marker)
{
    expect_mismatch("memo", "saw", "maw", MISMATCH_DIFFERENT, 5);
}

TEST(cancels_are_compared_too)
{
    struct host h;
    const char *text = "abtpxp";

    host_init(&h, script, &text, "null");
    host_task(&h);
    host_signal(&h, "on", "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "?A1 ?A2 -T1");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    text = "abtpp";
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_eq(h.out.mismatch.kind, MISMATCH_MISSING);
    cr_expect_str_eq(h.out.mismatch.expected, "ACTIVITY_TASK_CANCEL_REQUESTED of event 5");
    host_free(&h);
}

TEST(what_is_not_compared_may_change)
{
    struct host h;
    const char *text = "atw";

    host_init(&h, script, &text, "null");
    host_task(&h);
    ev_activity_task_scheduled(h.events[4])->input = payloads_json(h.arena, "[9]");
    ev_activity_task_scheduled(h.events[4])->activity_type = "some/package.Alpha";
    ev_activity_task_scheduled(h.events[4])->start_to_close_timeout = 1;
    ev_activity_task_scheduled(h.events[4])->retry_policy = NULL;
    ev_timer_started(h.events[5])->start_to_fire_timeout = 7;
    ev_workflow_task_completed(h.events[3])->sdk_metadata = NULL;
    cr_expect_eq(host_evict(&h), 0, "%s", h.out.message);
    host_free(&h);
}

TEST(a_mismatch_leaves_only_freeing)
{
    struct host h;
    const char *text = "aw";
    struct run_output out;

    host_init(&h, script, &text, "null");
    host_task(&h);
    text = "bw";
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_lt(run_replay(h.run, (const struct event *const *)h.events, h.count, &out, &h.err),
                 0);
    cr_expect_str_eq(h.err.name, "RunIsOver");
    host_free(&h);
}

TEST(long_and_hostile_names_stay_readable)
{
    struct mismatch m = {
        .kind = MISMATCH_DIFFERENT,
        .event_id = 7,
        .expected = "ACTIVITY_TASK_SCHEDULED id \"übermäßig-lange-Kennung-ohne-ein-einziges-"
                    "Leerzeichen-darin\" type \"X\"",
        .actual = "",
        .site = {.file = "a/very/long/path/to/some/source/file/of/a/user/workflow.c", .line = 1},
        .workflow_type = "Order",
        .workflow_id = "order-42",
    };
    autostr struct str out = {0};

    mismatch_report(&out, &m);
    cr_expect(utf8_valid(out.ptr, out.len));
    expect_golden("long", str_c(&out));
}
