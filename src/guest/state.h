/*
 * state.h - everything the daemon knows, in one struct that is handed around.
 *
 * Owns: the resolved options, the variables set by /init, the process table's head, the activity
 * clock. Must not: be global. Thread rule: the daemon's one thread.
 */
#ifndef GUEST_STATE_H
#define GUEST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "guest/guest.h"
#include "guest/wire.h"

struct process;

struct guest {
    int loop_fd;
    char *home;
    char *workdir;
    char *user;
    char *path;
    char *token; /* X-Access-Token wanted; NULL: none */
    char **vars; /* "NAME=value" from /init */
    size_t var_count;
    size_t var_cap;
    size_t head_bytes;
    size_t tail_bytes;
    size_t max_processes;
    struct process *processes; /* newest first */
    bool strays;               /* a supervisor was killed: look for what it left */
    size_t requests;           /* in flight, streams included */
    int64_t active_mono_ns;    /* the last sign of a client or process */
    bool closing;              /* streams end, nothing new starts */
};

/* Fill from the options, with every default applied. */
void guest_state_init(struct guest *guest, const struct guest_options *options);
void guest_state_free(struct guest *guest);
void guest_touch(struct guest *guest); /* somebody talked */

/* May a client call itself `name`? All accepted names mean the one user there is. */
bool guest_user_known(const struct guest *guest, const char *name);
/* Set one variable for processes to come; false when the name cannot be one. */
bool guest_set_var(struct guest *guest, const char *name, const char *value);
bool guest_var_name_ok(const char *name);
/* Absolute, lexically clean form of a path as clients write them ("", "~", "~/x", "x", "/x").
 * Caller frees *ret. */
int guest_path(const struct guest *guest, const char *text, char **ret, struct wire_error *error);

#endif
