/*
 * state.c - see state.h.
 * Tests: tests/unit/test_guest_path.c, tests/unit/test_guest_files.c
 */
#include "guest/state.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_DEFAULT ((size_t)1 << 20)
#define TAIL_MIN ((size_t)64 << 10) /* two reads: a reader that keeps up must fit (process.c) */
#define PROCESSES_DEFAULT 512
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static char *first_of(const char *a, const char *b, const char *c)
{
    return mem_strdup(a && *a ? a : b && *b ? b : c);
}

void guest_state_init(struct guest *guest, const struct guest_options *options)
{
    const struct passwd *entry = options->user ? NULL : getpwuid(geteuid());
    *guest = (struct guest){.loop_fd = -1};
    guest->user = first_of(options->user, entry ? entry->pw_name : NULL, "user");
    guest->home = first_of(options->home, getenv("HOME"), "/");
    guest->workdir = first_of(options->workdir, guest->home, "/");
    guest->path = first_of(options->path, getenv("PATH"), PATH_DEFAULT);
    guest->head_bytes = options->output_head_bytes ? options->output_head_bytes : OUTPUT_DEFAULT;
    guest->tail_bytes = options->output_tail_bytes ? options->output_tail_bytes : OUTPUT_DEFAULT;
    guest->tail_bytes = guest->tail_bytes > TAIL_MIN ? guest->tail_bytes : TAIL_MIN;
    guest->max_processes = options->max_processes ? options->max_processes : PROCESSES_DEFAULT;
    guest_touch(guest);
}

void guest_state_free(struct guest *guest)
{
    for (size_t i = 0; i < guest->var_count; i++) {
        free(guest->vars[i]);
    }
    free(guest->vars);
    free(guest->home);
    free(guest->workdir);
    free(guest->user);
    free(guest->path);
    free(guest->token);
    *guest = (struct guest){.loop_fd = -1};
}

void guest_touch(struct guest *guest)
{
    guest->active_mono_ns = clock_mono_ns();
}

bool guest_user_known(const struct guest *guest, const char *name)
{
    return str_eq(name, guest->user) || str_eq(name, "root") || str_eq(name, "user");
}

bool guest_var_name_ok(const char *name)
{
    return *name != '\0' && strchr(name, '=') == NULL;
}

bool guest_set_var(struct guest *guest, const char *name, const char *value)
{
    if (!guest_var_name_ok(name)) {
        return false;
    }
    size_t len = strlen(name);
    char *text = mem_printf("%s=%s", name, value);
    for (size_t i = 0; i < guest->var_count; i++) {
        if (strncmp(guest->vars[i], text, len + 1) == 0) {
            free(guest->vars[i]);
            guest->vars[i] = text;
            return true;
        }
    }
    mem_reserve(guest->vars, &guest->var_cap, guest->var_count + 1);
    guest->vars[guest->var_count++] = text;
    return true;
}

/* Resolve "", "." and ".." by text alone; `path` is absolute. */
static char *clean(const char *path)
{
    struct str out = {0};
    while (*path) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (len == 2 && path[0] == '.' && path[1] == '.') {
            while (out.len > 0 && out.ptr[out.len - 1] != '/') {
                str_cut(&out, out.len - 1);
            }
            if (out.len > 0) {
                str_cut(&out, out.len - 1);
            }
        } else if (len > 0 && !(len == 1 && path[0] == '.')) {
            str_addc(&out, '/');
            str_addn(&out, path, len);
        }
        path += len;
    }
    if (out.len == 0) {
        str_addc(&out, '/');
    }
    return str_take(&out);
}

int guest_path(const struct guest *guest, const char *text, char **ret, struct wire_error *error)
{
    autostr struct str full = {0};
    if (*text == '\0') {
        str_add(&full, guest->workdir);
    } else if (*text == '~') {
        if (text[1] != '\0' && text[1] != '/') {
            return wire_fail(error, WIRE_INVALID_ARGUMENT,
                             "path '%.256s' names another user's home", text);
        }
        str_add(&full, guest->home);
        str_add(&full, text + 1);
    } else if (*text == '/') {
        str_add(&full, text);
    } else {
        str_add(&full, guest->home);
        str_addc(&full, '/');
        str_add(&full, text);
    }
    if (full.len >= PATH_MAX) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "path is longer than %d bytes",
                         PATH_MAX - 1);
    }
    *ret = clean(full.ptr);
    return 0;
}
