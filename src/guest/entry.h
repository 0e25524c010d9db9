/*
 * entry.h - one file as envd's EntryInfo.
 *
 * Owns: the JSON of {"name","type","path","size","mode","permissions","owner","group",
 * "modifiedTime","symlinkTarget"}. `st` is from lstat. Bytes of a name that are no UTF-8 are told
 * as U+FFFD: such a file is seen but cannot be named back through JSON.
 */
#ifndef GUEST_ENTRY_H
#define GUEST_ENTRY_H

#include <sys/stat.h>

#include "base/json.h"
#include "guest/state.h"

void entry_put(struct json_out *w, const struct guest *guest, const char *path,
               const struct stat *st);

#endif
