/*
 * remote.c - engines whose runs live on a server: the module that knows how, and dur_connect().
 *
 * Owns: finding and loading the module (once per process; it stays loaded, since its threads may
 * outlive an engine by a moment), the proof that it is of this build, and the making of a connected
 * engine. Must not: know what travels to the server.
 * Tests: tests/unit/test_engine_remote.c
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "activity/attempt.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/remote.h"
#include "exec/run.h"

#define MODULE_FILE "libdurable-temporal.so"
#define MODULE_NEEDS "libgrpc29 and libprotobuf-c1"

static const size_t our_sizes[REMOTE_BUILD_PARTS] = REMOTE_BUILD_SIZES;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const struct remote_module *loaded;
static atomic_int loaded_by; /* the process; its threads and locks are not there after a fork() */

static int explain(struct err *err, const char *why)
{
    if (!why || strncmp(why, MODULE_FILE ":", strlen(MODULE_FILE ":")) == 0) {
        return err_set(
            err, ERR_PERMANENT, "NoModule",
            "%s is not installed: it comes with the package libdurable-temporal, or with "
            "a build that was configured --with-temporal",
            MODULE_FILE);
    }
    return err_set(err, ERR_PERMANENT, "NoModule",
                   "%s cannot be loaded (%s); it needs the packages %s", MODULE_FILE, why,
                   MODULE_NEEDS);
}

/* Where the linker looks, then where we install it. */
static void *open_file(struct err *err)
{
    void *file = dlopen(MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        const char *said = dlerror();
        autofree char *why = mem_strdup(said ? said : "");
        bool is_there = strncmp(why, MODULE_FILE ":", strlen(MODULE_FILE ":")) != 0;
        if (!is_there && (file = dlopen(MODULE_DIR "/" MODULE_FILE, RTLD_NOW | RTLD_LOCAL))) {
            return file;
        }
        said = is_there ? why : dlerror();
        if (said && strncmp(said, MODULE_DIR "/" MODULE_FILE ":",
                            strlen(MODULE_DIR "/" MODULE_FILE ":")) == 0) {
            said = NULL; /* it is not there either */
        }
        explain(err, said);
    }
    return file;
}

static int load(struct err *err)
{
    void *file = open_file(err);
    if (!file) {
        return -1;
    }
    const struct remote_module *module = dlsym(file, REMOTE_SYMBOL);
    if (!module || !str_eq(module->build.version, dur_version()) ||
        memcmp(module->build.sizes, our_sizes, sizeof(our_sizes)) != 0) {
        err_set(err, ERR_PERMANENT, "NoModule",
                "%s is of another version (%s) than this program (%s): install both from one build",
                MODULE_FILE, module ? module->build.version : "unknown", dur_version());
        dlclose(file);
        return -1;
    }
    loaded = module;
    atomic_store(&loaded_by, (int)getpid());
    return 0;
}

int remote_load(const struct remote_module **ret, struct err *err)
{
    int by = atomic_load(&loaded_by);
    if (by && by != (int)getpid()) { /* before any lock: a thread that is gone may hold it */
        return err_set(err, ERR_PERMANENT, "Forked",
                       "process %d, which forked this one, has connected before: a child has to "
                       "exec a program to connect",
                       by);
    }
    pthread_mutex_lock(&mutex);
    int rc = loaded ? 0 : load(err);
    *ret = loaded;
    pthread_mutex_unlock(&mutex);
    return rc;
}

static void on_log(void *user, int level, const char *line)
{
    const dur_engine *engine = user;
    if (engine->options.on_log) {
        engine->options.on_log(engine->options.on_log_user, level, line);
    } else {
        log_line((enum log_level)level, "engine", "%s", line);
    }
}

int engine_connect(dur_engine *engine, const struct remote_module *module, const char *target,
                   const dur_connect_options *options)
{
    struct err err = {0};
    if (!target || !*target) {
        return engine_refuse(engine, DUR_INVALID, "a server's address is needed, as host:port");
    }
    engine->path = mem_strdup(target);
    engine->identity = engine_identity(options->identity);
    engine->options.on_log = options->on_log;
    engine->options.on_log_user = options->on_log_user;
    engine->options.max_cached_runs = options->max_cached_runs;
    engine->options.idle_exit_ms = options->idle_exit_ms;
    engine->options.stop_grace_ms = options->stop_grace_ms;
    engine_fill_defaults(&engine->options);
    const struct remote_open open = {.options = options,
                                     .target = target,
                                     .identity = engine->identity,
                                     .log = {.line = on_log, .user = engine}};
    int rc = module->open(&open, &engine->remote, &err);
    if (rc != DUR_OK) {
        return engine_refuse(engine, rc, "%s", err.text);
    }
    engine->module = module;
    return DUR_OK;
}

int dur_connect_at(dur_engine **ret, const char *target, const dur_connect_options *options,
                   size_t options_size)
{
    struct err err = {0};
    const struct remote_module *module;
    dur_connect_options o = {0};
    int rc = engine_new(ret);
    if (rc != DUR_OK) {
        return rc;
    }
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    if (remote_load(&module, &err) < 0) {
        return engine_refuse(*ret, DUR_INVALID, "%s", err.text);
    }
    return engine_connect(*ret, module, target, &o);
}
