/*
 * module.c - the one symbol of libdurable-temporal.so: the table of engine/remote.h.
 *
 * Owns: which function answers which entry. Must not: do anything itself.
 * Tests: tests/temporal/t8100-transport.sh.
 */
#include "activity/attempt.h"
#include "engine/remote.h"
#include "exec/run.h"
#include "history/event.h"
#include "temporal/client.h"
#include "temporal/complete.h"
#include "temporal/remote.h"
#include "temporal/serving.h"

extern const struct remote_module dur_remote_module;

DUR_API const struct remote_module dur_remote_module = {
    .build = {PACKAGE_VERSION, REMOTE_BUILD_SIZES},
    .open = remote_open,
    .interrupt = remote_interrupt,
    .close = remote_close,
    .info = remote_look,
    .pollers = remote_who_polls,
    .start = client_start,
    .signal = client_signal,
    .cancel = client_cancel,
    .terminate = client_terminate,
    .pause = client_pause,
    .resume = client_resume,
    .reset = client_reset,
    .complete = complete_end,
    .complete_heartbeat = complete_beat,
    .token_of = complete_token_of,
    .describe = client_describe,
    .activities = client_activities,
    .list = client_list,
    .result = client_result,
    .query = client_query,
    .update = client_update,
    .update_result = client_update_result,
    .history = client_history,
    .serving_begin = serving_begin,
    .serving_fd = serving_fd,
    .serving_pass = serving_pass,
    .serving_end = serving_end,
};
