/*
 * generic.h - driving any command-line agent: its command, its environment, its provisioning.
 *
 * Owns: argv building with placeholders, where the prompt goes, what is pushed into a sandbox for
 * the agent and the order of it. Must not: know runs, evidence or configuration files: it gets
 * plain values. The prompt never appears on a command line in mode "stdin_file"; secrets never
 * appear on one at all.
 */
#ifndef HARNESS_GENERIC_H
#define HARNESS_GENERIC_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
#include "sandbox/envd.h"

#define HARNESS_WORK_DIR "/workspace"
#define HARNESS_REPOSITORY_DIR "/workspace/repository"
#define HARNESS_META_DIR "/workspace/.factory"
#define HARNESS_PROMPT_FILE "/workspace/.factory/agent-prompt.txt"
#define HARNESS_BLOCKED_FILE "/workspace/.factory/blocked.json"
#define HARNESS_BIN_DIR "/workspace/.factory/bin"

struct harness {
    const char *name;
    const char *executable;
    const char *const *args;
    const char *model_flag;    /* "" none */
    const char *model;         /* "" none */
    const char *prompt_mode;   /* "stdin_file" or "argv" */
    const char *binary;        /* host path, "" none */
    const char *binary_sha256; /* "" not pinned */
    const char *const *packages;
    const char *const *pass_env;
    const char *const *provider_files; /* pairs destination, host path */
};

/* argv[0] is the executable (the pushed binary when there is one); placeholders are whole
 * arguments:
 * {{model_args}} becomes model_flag and model, or vanishes when either is empty. NULL-terminated,
 * in arena. In prompt mode argv the prompt is the last argument. */
const char *const *harness_argv(struct arena *arena, const struct harness *harness,
                                const char *prompt);
/* The command for people and evidence: argv joined by blanks, " < file" behind it; the prompt
 * itself is shown as "PROMPT". */
const char *harness_command_line(struct arena *arena, const struct harness *harness);
/* "NAME=value" of every pass_env variable that is set and not empty on this host; their values are
 * registered with base/redact. NULL-terminated, in arena. */
const char *const *harness_env(struct arena *arena, const struct harness *harness);
/* Register the contents of provider_files (whole; the string leaves of JSON; of other text its
 * lines and the values behind '=' and ':') and the values of pass_env as secrets, before anything
 * of the run is written. A file that cannot be read: permanent "ProviderFile", after the others
 * were registered. */
int harness_register_secrets(const struct harness *harness, struct err *err);

/* Are these Debian packages installed inside? 0, or permanent "PackagesMissing" naming them and
 * what to do. The local provider's system is read-only: the operator installs them on the host. */
int harness_check_packages(struct envd *envd, const char *const *packages,
                           const atomic_bool *cancel, struct err *err);
/* Packages, binary (digest checked before it is pushed), provider files. *ret_version: first line
 * of
 * "<executable> --version", best effort, in arena, or NULL. */
int harness_provision(struct envd *envd, const struct harness *harness, struct arena *arena,
                      const char **ret_version, const atomic_bool *cancel, struct err *err);

#endif
