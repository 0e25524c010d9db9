/*
 * test_async.c - activities on a real server that are completed by token, and the tokens.
 * Run by t8300-activities.sh, which starts the server.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "exec/failure_info.h"
#include "temporal/complete.h"
#include "temporal/slot.h"
#include "tests/temporal/hand.h"

#define TEST(name) Test(async, name, .timeout = 40)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *token_given;
static const char *details_found;
static atomic_int calls;

/* Leaves its token and details, and is not there any more. */
static int later(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    pthread_mutex_lock(&mutex);
    free(token_given);
    token_given = mem_strdup(dur_activity_token(act));
    details_found = dur_heartbeat_details(act) ? mem_strdup(dur_heartbeat_details(act)) : NULL;
    pthread_mutex_unlock(&mutex);
    dur_heartbeat_sync(act, "{\"at\":1}");
    dur_heartbeat(act, "{\"at\":2}");
    if (dur_json_int(input, "/slow", 0)) {
        atomic_fetch_add(&calls, 1);
        clock_sleep_ms(dur_json_int(input, "/slow", 0));
    }
    atomic_fetch_add(&calls, 1);
    return DUR_PENDING;
}

static void wake(void *user)
{
    (void)user;
}

struct fixture {
    struct hand h;
    struct registry registry;
    struct remote_lane lane;
    struct remote_worker spec;
    struct slots *slots;
};

/* A run that waits for one such activity. Its token. */
static const char *begin(struct fixture *f, struct hand_activity a)
{
    *f = (struct fixture){0};
    hand_begin(&f->h, "async");
    cr_assert_eq(registry_add_activity(&f->registry, "Later", later, NULL), DUR_OK);
    f->lane = (struct remote_lane){.task_queue = f->h.queue, .slots = 1};
    f->spec = (struct remote_worker){.registry = &f->registry, .lanes = &f->lane, .lane_count = 1};
    f->slots = slots_begin(f->h.remote, &f->spec, wake, NULL);
    a.type = "Later";
    a.start_to_close_ms = a.start_to_close_ms ? a.start_to_close_ms : 60000;
    hand_schedule(&f->h, &a, 1);
    while (!atomic_load(&calls)) {
        clock_sleep_ms(2);
    }
    pthread_mutex_lock(&mutex);
    const char *token = arena_strdup(f->h.arena, token_given);
    pthread_mutex_unlock(&mutex);
    return token;
}

static void end(struct fixture *f)
{
    slots_end(f->slots);
    registry_free(&f->registry);
    hand_terminate(&f->h);
    hand_end(&f->h);
}

static int complete(struct fixture *f, const char *token, const char *result)
{
    struct err err = {0};
    struct remote_end how = {.how = REMOTE_COMPLETED, .result = result};
    int rc = complete_end(f->h.remote, token, &how, &err);
    cr_expect(rc == DUR_OK || err.text[0], "a refusal says why");
    return rc;
}

/* What the server has of it now. */
static const char *details_of(struct fixture *f)
{
    const Pb__PendingActivityInfo *pending = hand_pending(&f->h);
    const char *details = NULL;
    cr_assert_not_null(pending);
    cr_assert_eq(
        value_read_json(f->h.remote, f->h.arena, pending->heartbeat_details, &details, NULL), 0);
    return details;
}

/* The callback's thread flushes the details before it goes: until the server has them. */
static void until_details(struct fixture *f, const char *wanted)
{
    while (!str_eq(details_of(f), wanted)) {
        clock_sleep_ms(10);
    }
}

TEST(the_token_of_the_attempt)
{
    struct fixture f;
    const char *token = begin(&f, (struct hand_activity){0});
    until_details(&f, "{\"at\":2}"); /* the last one was throttled */
    cr_expect_eq(complete(&f, token, "{\"by\":\"token\"}"), DUR_OK);
    cr_expect_str_eq(hand_result(&f.h, hand_closed(&f.h)), "{\"by\":\"token\"}");
    cr_expect_eq(complete(&f, token, "1"), DUR_NOT_FOUND);
    cr_expect_eq(complete(&f, "nonsense", "1"), DUR_INVALID);
    cr_expect_eq(complete(&f, NULL, "1"), DUR_INVALID);
    end(&f);
}

TEST(the_task_token_alone)
{
    struct fixture f;
    const char *token = begin(&f, (struct hand_activity){0});
    size_t len = strcspn(token, ".");
    const char *bare = arena_strndup(f.h.arena, token + 1, len - 1);
    cr_expect_eq(complete(&f, bare, "7"), DUR_OK);
    cr_expect_str_eq(hand_result(&f.h, hand_closed(&f.h)), "7");
    cr_expect_eq(complete(&f, "aGFsbG8=", "1"), DUR_INVALID, "no token of that server");
    end(&f);
}

TEST(a_token_by_the_ids)
{
    struct fixture f;
    struct err err = {0};
    char *token = NULL;
    begin(&f, (struct hand_activity){0});
    cr_expect_eq(complete_token_of(f.h.remote, f.h.workflow_id, "2", &token, &err), DUR_NOT_FOUND);
    cr_expect_eq(complete_token_of(f.h.remote, "nobody", "1", &token, &err), DUR_NOT_FOUND);
    cr_assert_eq(complete_token_of(f.h.remote, f.h.workflow_id, "1", &token, &err), DUR_OK, "%s",
                 err.text);
    cr_expect_eq(complete(&f, token, NULL), DUR_OK);
    cr_expect_str_eq(hand_result(&f.h, hand_closed(&f.h)), "null");
    cr_expect_eq(complete(&f, token, NULL), DUR_NOT_FOUND);
    cr_expect_eq(complete_token_of(f.h.remote, f.h.workflow_id, "1", &token, &err), DUR_NOT_FOUND);
    free(token);
    end(&f);
}

TEST(failures_and_the_token_of_another_attempt)
{
    struct fixture f;
    struct err err = {0};
    char *by_ids = NULL;
    const char *first = begin(&f, (struct hand_activity){.attempts = 2, .initial_ms = 2000});
    struct remote_end how = {
        .how = REMOTE_FAILED, .kind = DUR_TRANSIENT, .type = "Busy", .message = "not now"};
    until_details(&f, "{\"at\":2}");
    cr_assert_eq(complete_token_of(f.h.remote, f.h.workflow_id, "1", &by_ids, &err), DUR_OK);
    cr_expect_eq(complete_end(f.h.remote, first, &how, &err), DUR_OK, "%s", err.text);
    char *none = NULL;
    cr_expect_eq(complete_token_of(f.h.remote, f.h.workflow_id, "1", &none, &err), DUR_BUSY);
    while (atomic_load(&calls) < 2) {
        clock_sleep_ms(2);
    }
    cr_expect_str_eq(details_found, "{\"at\":2}");
    cr_expect_eq(complete(&f, first, "1"), DUR_NOT_FOUND);
    cr_expect_eq(complete(&f, by_ids, "1"), DUR_NOT_FOUND, "it names the first attempt");
    how.kind = DUR_AMBIGUOUS;
    cr_expect_eq(complete_end(f.h.remote, token_given, &how, &err), DUR_OK, "%s", err.text);
    const struct event *event = hand_closed(&f.h);
    cr_assert_eq((int)event->type, (int)EVENT_ACTIVITY_TASK_FAILED);
    const struct failure *failure = ev_activity_task_failed(event)->failure;
    cr_expect_eq(failure_dur_kind(failure), DUR_AMBIGUOUS);
    cr_expect_str_eq(failure->message, "not now");
    cr_expect_str_eq(failure_type(failure), "Busy");
    free(by_ids);
    end(&f);
}

TEST(signs_of_life_from_outside)
{
    struct fixture f;
    struct err err = {0};
    char *by_ids = NULL;
    const char *token = begin(&f, (struct hand_activity){.heartbeat_ms = 2000});
    until_details(&f, "{\"at\":2}");
    cr_expect_eq(complete_beat(f.h.remote, token, NULL, &err), DUR_OK, "%s", err.text);
    cr_expect_str_eq(details_of(&f), "{\"at\":2}", "no details: unchanged");
    cr_expect_eq(complete_beat(f.h.remote, token, "{\"at\":3}", &err), DUR_OK);
    cr_expect_str_eq(details_of(&f), "{\"at\":3}");
    cr_assert_eq(complete_token_of(f.h.remote, f.h.workflow_id, "1", &by_ids, &err), DUR_OK);
    cr_expect_eq(complete_beat(f.h.remote, by_ids, NULL, &err), DUR_OK, "%s", err.text);
    cr_expect_str_eq(details_of(&f), "{\"at\":3}");
    cr_expect_eq(complete_beat(f.h.remote, by_ids, "4", &err), DUR_OK);
    cr_expect_str_eq(details_of(&f), "4");
    cr_expect_eq(complete_beat(f.h.remote, "?", "4", &err), DUR_INVALID);
    hand_cancel(&f.h, "1");
    cr_expect_eq(complete_beat(f.h.remote, token, NULL, &err), DUR_CANCELLED);
    cr_expect_eq(complete_beat(f.h.remote, by_ids, "5", &err), DUR_CANCELLED);
    struct remote_end how = {.how = REMOTE_CANCELLED};
    cr_expect_eq(complete_end(f.h.remote, token, &how, &err), DUR_OK, "%s", err.text);
    cr_expect_eq((int)hand_closed(&f.h)->type, (int)EVENT_ACTIVITY_TASK_CANCELED);
    cr_expect_eq(complete_beat(f.h.remote, token, "6", &err), DUR_NOT_FOUND);
    cr_expect_eq(complete_beat(f.h.remote, token, NULL, &err), DUR_NOT_FOUND);
    free(by_ids);
    end(&f);
}

TEST(nobody_asked_it_to_stop)
{
    struct fixture f;
    struct err err = {0};
    char *by_ids = NULL;
    const char *token = begin(&f, (struct hand_activity){0});
    struct remote_end how = {.how = REMOTE_CANCELLED};
    cr_expect_eq(complete_end(f.h.remote, token, &how, &err), DUR_INVALID, "%s", err.text);
    cr_assert_eq(complete_token_of(f.h.remote, f.h.workflow_id, "1", &by_ids, &err), DUR_OK);
    cr_expect_eq(complete_end(f.h.remote, by_ids, &how, &err), DUR_INVALID, "%s", err.text);
    cr_expect_eq(complete(&f, by_ids, "1"), DUR_OK);
    free(by_ids);
    end(&f);
}

TEST(time_goes_on)
{
    struct fixture f;
    const char *token = begin(&f, (struct hand_activity){.start_to_close_ms = 1500, .attempts = 1});
    const struct event *event = hand_closed(&f.h);
    cr_expect_eq((int)event->type, (int)EVENT_ACTIVITY_TASK_TIMED_OUT);
    cr_expect_eq(complete(&f, token, "1"), DUR_NOT_FOUND);
    end(&f);
}

/* Who is given the token may be quicker than the callback. */
TEST(completed_before_the_callback_returns)
{
    struct fixture f;
    const char *token = begin(&f, (struct hand_activity){.input = "{\"slow\":300}"});
    cr_expect_eq(complete(&f, token, "1"), DUR_OK);
    cr_expect_str_eq(hand_result(&f.h, hand_closed(&f.h)), "1");
    end(&f);
}
