/*
 * generic.c - see generic.h. Owns the placeholder rules and the provisioning order.
 * Tests: tests/unit/test_harness_generic.c
 */
#include "harness/generic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"

#define VERSION_TIMEOUT_MS 20000
#define PACKAGES_TIMEOUT_MS 60000
#define SECRET_FILE_BYTES_MAX (1024 * 1024)
#define LINE_BYTES_MIN 16 /* a shorter line may occur in any text */
#define VALUE_BYTES_MIN 8

static const char *binary_path(struct arena *arena, const struct harness *harness)
{
    return arena_printf(arena, "%s/%s", HARNESS_BIN_DIR, harness->name);
}

static const char *program(struct arena *arena, const struct harness *harness)
{
    return *harness->binary ? binary_path(arena, harness) : harness->executable;
}

static const char *const *build(struct arena *arena, const struct harness *h, const char *prompt)
{
    size_t count = 0, at = 0;
    while (h->args[count]) {
        count++;
    }
    const char **argv = arena_array_of(arena, const char *, 2 * count + 3);
    bool has_model = *h->model && *h->model_flag;
    argv[at++] = program(arena, h);
    for (size_t i = 0; i < count; i++) {
        const char *arg = h->args[i];
        if (str_eq(arg, "{{model_args}}")) {
            if (has_model) {
                argv[at++] = h->model_flag;
                argv[at++] = h->model;
            }
        } else if (str_eq(arg, "{{model}}")) {
            argv[at++] = h->model;
        } else if (str_eq(arg, "{{prompt_file}}")) {
            argv[at++] = HARNESS_PROMPT_FILE;
        } else if (str_eq(arg, "{{repository_dir}}")) {
            argv[at++] = HARNESS_REPOSITORY_DIR;
        } else {
            argv[at++] = arg;
        }
    }
    if (str_eq(h->prompt_mode, "argv")) {
        argv[at++] = prompt;
    }
    argv[at] = NULL;
    return argv;
}

const char *const *harness_argv(struct arena *arena, const struct harness *harness,
                                const char *prompt)
{
    return build(arena, harness, prompt);
}

const char *harness_command_line(struct arena *arena, const struct harness *harness)
{
    autostr struct str line = {0};
    const char *const *argv = build(arena, harness, "PROMPT");
    for (size_t i = 0; argv[i]; i++) {
        str_addf(&line, "%s%s", i ? " " : "", argv[i]);
    }
    if (str_eq(harness->prompt_mode, "stdin_file")) {
        str_addf(&line, " < %s", HARNESS_PROMPT_FILE);
    }
    return arena_strdup(arena, str_c(&line));
}

const char *const *harness_env(struct arena *arena, const struct harness *harness)
{
    size_t count = 0, at = 0;
    while (harness->pass_env[count]) {
        count++;
    }
    const char **env = arena_array_of(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(harness->pass_env[i]);
        if (value && *value) {
            redact_register(value, strlen(value));
            env[at++] = arena_printf(arena, "%s=%s", harness->pass_env[i], value);
        }
    }
    return env;
}

/* Of a text that is not JSON (.env, netrc, key files): every line as a whole, what stands behind
 * its first '=' or ':' without quotes, and the word behind "password". */
static void register_lines(const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        eol = eol ? eol : end;
        size_t width = (size_t)(eol - text);
        const char *value = text + strcspn(text, "=:\n");
        const char *word = memmem(text, width, "password ", 9);
        if (width >= LINE_BYTES_MIN && *text != '#') {
            redact_register(text, width);
        }
        if (value < eol) {
            size_t skip = strspn(value, "=: \t\"'");
            size_t size = strcspn(value + skip, "\"' \t\r\n");
            if (size >= VALUE_BYTES_MIN) {
                redact_register(value + skip, size);
            }
        }
        if (word) {
            word += 9 + strspn(word + 9, " \t");
            redact_register(word, strcspn(word, " \t\r\n"));
        }
        text = eol + 1;
    }
}

/* Every string leaf of a JSON document. */
static void register_leaves(const struct json *value)
{
    if (value->type == JSON_STRING) {
        redact_register(value->text, value->text_len);
    }
    if (value->type == JSON_OBJECT || value->type == JSON_ARRAY) {
        json_each (child, value) {
            register_leaves(child);
        }
    }
}

static int register_file(const char *path, struct err *err)
{
    autostr struct str text = {0};
    autoarena struct arena *arena = arena_new();
    const struct json *root;
    struct err why = {0};
    if (fs_read_file(path, SECRET_FILE_BYTES_MAX, &text, &why) < 0) {
        return err_set(err, ERR_PERMANENT, "ProviderFile", "provider file: %s", why.text);
    }
    redact_register(str_c(&text), text.len);
    if (json_parse(arena, str_c(&text), text.len, &root, NULL) == 0) {
        register_leaves(root);
    } else {
        register_lines(str_c(&text), text.len);
    }
    return 0;
}

int harness_register_secrets(const struct harness *harness, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    int rc = 0;
    harness_env(arena, harness);
    for (const char *const *pair = harness->provider_files; *pair; pair += 2) {
        if (register_file(pair[1], rc == 0 ? err : NULL) < 0) {
            rc = -1; /* the others' secrets are registered nevertheless */
        }
    }
    return rc;
}

/* --- provisioning
 * ---------------------------------------------------------------------------------- */

int harness_check_packages(struct envd *envd, const char *const *packages,
                           const atomic_bool *cancel, struct err *err)
{
    static const char script[] = "command -v dpkg-query >/dev/null || { echo no-dpkg; exit 3; }\n"
                                 "for p in \"$@\"; do\n"
                                 "  case $(dpkg-query -W -f='${Status}' \"$p\" 2>/dev/null) in\n"
                                 "    'install ok installed') ;; *) printf ' %s' \"$p\" ;;\n"
                                 "  esac\n"
                                 "done\n";
    autoresult struct envd_result result = {0};
    struct envd_command command = {
        .script = script, .script_args = packages, .timeout_ms = PACKAGES_TIMEOUT_MS};
    if (!packages[0]) {
        return 0;
    }
    int rc = envd_exec(envd, &command, cancel, &result, err);
    if (rc == ENVD_CANCELLED) {
        return err_set(err, ERR_CANCELLED, "Cancelled", "cancelled while checking packages");
    }
    if (rc < 0) {
        return rc;
    }
    if (result.exit_code == 3) {
        return err_set(err, ERR_PERMANENT, "PackagesUnknown",
                       "the sandbox has no dpkg, so its packages cannot be checked");
    }
    if (result.out.len > 0) {
        return err_set(
            err, ERR_PERMANENT, "PackagesMissing",
            "not installed in the sandbox:%s; install them on this host: apt-get install%s",
            str_c(&result.out), str_c(&result.out));
    }
    return 0;
}

static int push_file(struct envd *envd, const char *from, const char *to, const atomic_bool *cancel,
                     struct err *err)
{
    autoclose int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(err, errno, "PushFile", "cannot read %s", from);
    }
    return envd_write_fd(envd, to, fd, cancel, err);
}

static int make_executable(struct envd *envd, const char *path, const atomic_bool *cancel,
                           struct err *err)
{
    autoresult struct envd_result result = {0};
    const char *const argv[] = {"/bin/chmod", "0755", path, NULL};
    int rc = envd_exec(envd, &(struct envd_command){.argv = argv, .timeout_ms = 10000}, cancel,
                       &result, err);
    if (rc == 0 && result.exit_code != 0) {
        return err_set(err, ERR_PERMANENT, "PushFile", "chmod %s: %s", path, str_c(&result.err));
    }
    return rc < 0 ? rc : 0;
}

static int push_binary(struct envd *envd, const struct harness *h, struct arena *arena,
                       const atomic_bool *cancel, struct err *err)
{
    char sum[SHA256_HEX_BYTES];
    if (!*h->binary) {
        return 0;
    }
    if (sha256_file(h->binary, sum, NULL, err) < 0) {
        return err_wrap(err, "agent %s: binary", h->name);
    }
    if (*h->binary_sha256 && !str_eq(sum, h->binary_sha256)) {
        return err_set(err, ERR_PERMANENT, "BinaryDigest",
                       "agent %s: %s has SHA-256 %s, the configuration wants %s", h->name,
                       h->binary, sum, h->binary_sha256);
    }
    const char *target = binary_path(arena, h);
    return push_file(envd, h->binary, target, cancel, err) < 0
               ? -1
               : make_executable(envd, target, cancel, err);
}

static const char *version(struct envd *envd, const struct harness *h, struct arena *arena,
                           const atomic_bool *cancel)
{
    autoresult struct envd_result result = {0};
    const char *const argv[] = {program(arena, h), "--version", NULL};
    struct envd_command command = {.argv = argv, .timeout_ms = VERSION_TIMEOUT_MS};
    if (envd_exec(envd, &command, cancel, &result, NULL) != 0 || result.exit_code != 0) {
        return NULL;
    }
    size_t len = strcspn(str_c(&result.out), "\r\n");
    return len > 0 && len < 200 ? arena_strndup(arena, str_c(&result.out), len) : NULL;
}

int harness_provision(struct envd *envd, const struct harness *h, struct arena *arena,
                      const char **ret_version, const atomic_bool *cancel, struct err *err)
{
    if (harness_check_packages(envd, h->packages, cancel, err) < 0 ||
        push_binary(envd, h, arena, cancel, err) < 0) {
        return -1;
    }
    for (const char *const *pair = h->provider_files; *pair; pair += 2) {
        if (push_file(envd, pair[1], pair[0], cancel, err) < 0) {
            return -1;
        }
    }
    *ret_version = *h->binary ? version(envd, h, arena, cancel) : NULL;
    return 0;
}
