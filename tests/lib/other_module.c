/*
 * other_module.c - a module for servers that is of another build than any program.
 *
 * Owns: the symbol that engine/remote.c asks for, with a version that nobody has. Nothing of it is
 * ever called.
 */
#include <string.h>

#include "activity/attempt.h"
#include "engine/remote.h"
#include "exec/run.h"
#include "history/event.h"

extern struct remote_module dur_remote_module;

DUR_API struct remote_module dur_remote_module = {
    .build = {"0.0.0-other", REMOTE_BUILD_SIZES},
};

/* Makes this file need the C library, as every real module does. */
DUR_API size_t other_module_needs(const char *text);
DUR_API size_t other_module_needs(const char *text)
{
    return strlen(text);
}
