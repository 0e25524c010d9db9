/*
 * config.h - what the operator configured: the whole of factory.ini, checked once.
 *
 * Owns: the sections and keys, their defaults, limits and meanings, and the configuration's digest.
 * Must not: touch the sandbox, the repository or the store. A loaded configuration is read-only and
 * may be shared by threads.
 *
 * Where it comes from: --config PATH, else $FACTORY_CONFIG, else ./factory.ini, else the built-in
 * defaults (nothing is selectable then: no agent, no verification profile). A file is overlaid on
 * the defaults; unknown sections and keys are errors that name file, line and the nearest known
 * name; FACTORY_DATA_DIR wins over [storage] data_dir. All problems are reported, not only the
 * first. Names of agents and profiles are lower-cased; paths of host files count from the file's
 * directory.
 */
#ifndef FACTORY_CONFIG_H
#define FACTORY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define CONFIG_FILE_NAME "factory.ini"
#define CONFIG_NAME_BYTES_MAX 64 /* names of agents, profiles, steps: letters, digits, . _ - */

/* [harnesses.NAME]: an agent that runs may name. */
struct harness_config {
    const char *name; /* lower-cased: the canonical name */
    int line;
    const char *type;                  /* "generic" */
    const char *executable;            /* argv[0] inside the sandbox */
    const char *const *args;           /* NULL-terminated; placeholders as whole words */
    const char *model_flag;            /* "" none */
    const char *model;                 /* default model, "" none */
    int64_t timeout_ms;                /* 0: limits.agent_timeout */
    const char *prompt_mode;           /* "stdin_file" or "argv" */
    const char *binary;                /* host path pushed into the sandbox, "" none */
    const char *binary_sha256;         /* "" not pinned */
    const char *const *packages;       /* apt packages */
    const char *const *pass_env;       /* names of host variables */
    const char *const *provider_files; /* pairs: absolute destination, host path; NULL-terminated */
};

/* [verification.PROFILE.STEP]: one gate, in file order. */
struct gate_config {
    const char *id;
    const char *const *argv;
    bool mandatory;
    int64_t timeout_ms; /* 0: none but the profile's */
    const char *dir;    /* relative to the repository, "" its top */
    const char *description;
};

/* [verification.PROFILE] */
struct profile_config {
    const char *name;
    int line;
    bool fresh_sandbox;           /* sandbox = fresh (default) | agent */
    const char *const *protected; /* patterns restored from the baseline before the gates */
    bool allow_gate_changes;      /* a changed protected path is recorded, not a stop */
    bool stop_on_failure;
    const struct gate_config *gates;
    size_t gate_count;
};

struct config {
    struct arena *arena;
    const char *path;              /* absolute name of its file, "" for the built-in defaults */
    const char *text;              /* the file as it was read */
    char digest[SHA256_HEX_BYTES]; /* of the canonical JSON form, secrets are never in it */

    /* [engine] */
    const char *engine_kind;     /* "sqlite" or "temporal" */
    int64_t idle_exit_ms;        /* a self-started engine leaves after so long with nothing open */
    int64_t keep_runs_ms;        /* closed runs stay for so long; 0: for ever */
    int64_t keep_runs_max;       /* and so many of them; 0: all */
    const char *payload_keyring; /* file of the keys that payloads are sealed with, "": none */
    /* the rest: of kind = temporal */
    const char *host_port, *name_space;
    const char *task_queue;      /* "factory": queues on the server are called "factory-control" */
    const char *identity_prefix; /* of a worker: "PREFIX@HOST:PID" */
    bool tls;
    const char *server_name, *ca_file, *cert_file, *key_file; /* "": none; files absolute */
    const char *api_key_env;                                  /* a variable's name, "": none */
    const char *engine_problem; /* of a lenient reading: why the server cannot be reached; NULL */
    /* [storage] */
    const char *data_dir; /* absolute */
    int64_t min_free_mib, max_db_mib, reserve_mib;
    /* [limits] */
    int64_t agent_timeout_ms, verification_timeout_ms, total_timeout_ms;
    int64_t sandbox_idle_timeout_ms, worker_stop_timeout_ms;
    int64_t command_output_bytes, artifact_bytes;
    int64_t worker_concurrency; /* agents at once */
    int64_t cpu_milli, memory_mib, disk_mib, processes;
    /* [sandbox] */
    const char *provider; /* "local" */
    const char *const *base_packages;
    const char *setup_script; /* "" none */
    bool allow_internet;
    const char *const *allow_out;
    const char *const *deny_out;
    /* [local] */
    const char *bwrap;        /* program */
    const char *run_as;       /* as root: the host user that sandboxes run as */
    const char *const *binds; /* pairs source, target; NULL-terminated */
    bool limits_best_effort;
    bool allow_host_network;
    /* [repositories] */
    const char *const *allowed; /* URL prefixes */
    const char *ssh_key_file, *ssh_user, *http_user, *http_password_env, *netrc_file;
    int64_t fetch_timeout_ms;
    /* [harnesses.*], [verification.*]: in file order */
    const struct harness_config *harnesses;
    size_t harness_count;
    const struct profile_config *profiles;
    size_t profile_count;
};

/* Where it would be read from, by the head comment's rule; NULL: nowhere, the defaults. Borrowed.
 */
const char *config_find(const char *path);
/* path NULL: look where the head comment says. Returns the number of problems, 0 with *ret.
 * problems gets one after the other, each "FILE:LINE: [section] key: what is wrong", perhaps with a
 * second line "  write: ...". */
int config_check(const char *path, struct config **ret, struct str *problems);
/* The same with an error value, name "BadConfig": on one line, as many problems as it holds. */
int config_load(const char *path, struct config **ret, struct err *err);
/* For commands that only need to find runs (status, cancel ...). 0: as config_load. 1: the file
 * does not validate (problem says why); *ret has the defaults, and of the file the data_dir that it
 * seems to name and, when its kind seems to be temporal, the keys of [engine]. <0: there is no such
 * file, or it does not say how to reach its server. */
int config_load_lenient(const char *path, struct config **ret, struct err *problem);
/* config_load from memory; name is for messages. */
int config_parse(const char *name, const char *text, size_t len, struct config **ret,
                 struct err *err);
/* The configuration that a request carries ({"name","text","setup_script","data_dir"}): files that
 * it names are not read again. */
int config_parse_pinned(const struct json *pinned, struct config **ret, struct err *err);
struct config *config_free(struct config *config); /* NULL fine; returns NULL */
static inline void config_cleanup_(struct config **config)
{
    *config = config_free(*config);
}
#define autoconfig cleanup_with(config_cleanup_)

/* Runs live on a Temporal server; the data_dir has the ledger, evidence and sandboxes all the same.
 */
bool config_is_remote(const struct config *config);
/* "HOST:PORT" names this very host (loopback). */
bool config_target_is_here(const char *target);

/* By name, any case of letters. NULL when there is none; then err (may be NULL) lists the declared
 * names and the nearest. name NULL or "": the first declared. */
const struct harness_config *config_harness(const struct config *config, const char *name,
                                            struct err *err);
const struct profile_config *config_profile(const struct config *config, const char *name,
                                            struct err *err);

/* Canonical JSON of everything that a run depends on (the snapshot that a run pins). */
void config_print(struct json_out *out, const struct config *config);

/* Every key there is, for documentation checks: "[section] key" lines. */
void config_list_keys(struct str *out);

/* Where things live below data_dir; caller frees. */
char *config_database_path(const struct config *config); /* data_dir/factory.db */
char *config_runs_dir(const struct config *config);      /* data_dir/runs */
char *config_sandboxes_dir(const struct config *config); /* data_dir/sandboxes */
char *config_mirrors_dir(const struct config *config);   /* data_dir/mirrors */

#endif
