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
#include "temporal/remote.h"

extern const struct remote_module dur_remote_module;

DUR_API const struct remote_module dur_remote_module = {
    .build = {PACKAGE_VERSION, REMOTE_BUILD_SIZES},
    .open = remote_open,
    .close = remote_close,
    .info = remote_look,
    .pollers = remote_who_polls,
};
