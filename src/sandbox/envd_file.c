/*
 * envd_file.c - files and directories inside a sandbox.
 *
 * Owns: the /files routes (raw bytes, streamed from and into descriptors) and the Filesystem calls.
 * Must not: keep a whole file in memory where a descriptor was given.
 * Tests: tests/unit/test_sandbox_envd.c, tests/unit/test_sandbox_contract.c
 */
#include "sandbox/envd_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

static char *file_url(const struct envd *envd, const char *path)
{
    autostr struct str url = {0};

    str_addf(&url, "%s/files?path=", envd->target.base_url);
    envd_escape(&url, path);
    str_addf(&url, "&username=%s", envd->user_escaped);
    return str_take(&url);
}

static size_t file_headers(const struct envd *envd, const char **headers, size_t max)
{
    size_t count = 0;

    headers[count++] = envd->auth;
    for (size_t i = 0; envd->target.headers && envd->target.headers[i] && count + 4 < max; i++) {
        headers[count++] = envd->target.headers[i];
    }
    return count;
}

static int check_path(const char *path, struct err *err)
{
    if (!path || path[0] != '/') {
        return err_set(err, ERR_PERMANENT, "InvalidPath",
                       "sandbox: path \"%.200s\" is not absolute", path ? path : "");
    }
    return 0;
}

/* --- write ----------------------------------------------------------------------------------- */

static int post_file(struct envd *envd, const char *path, const void *bytes, size_t len, int fd,
                     const atomic_bool *cancel, struct err *err)
{
    autohttp struct http_response response = {0};
    const char *headers[32] = {0};

    if (check_path(path, err)) {
        return -1;
    }
    autofree char *url = file_url(envd, path);
    size_t count = file_headers(envd, headers, ARRAY_LEN(headers));
    headers[count++] = "Content-Type: application/octet-stream";
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .body = bytes,
        .body_len = len,
        .body_fd = fd,
        .cancel = cancel,
    };
    if (http_perform(envd->rpc, &request, &response, err)) {
        return err_wrap(err, "sandbox: writing %.300s", path);
    }
    if (response.status != 200) {
        autofree char *what = mem_printf("writing %.300s", path);
        int rc = envd_http_failure(what, &response, err);
        if (rc > 0) { /* "not found" is no outcome of writing */
            return -1;
        }
        return rc;
    }
    return 0;
}

int envd_write_file(struct envd *envd, const char *path, const void *bytes, size_t len,
                    const atomic_bool *cancel, struct err *err)
{
    return post_file(envd, path, len ? bytes : "", len, 0, cancel, err);
}

int envd_write_fd(struct envd *envd, const char *path, int fd, const atomic_bool *cancel,
                  struct err *err)
{
    return post_file(envd, path, NULL, 0, fd, cancel, err);
}

/* --- read ------------------------------------------------------------------------------------ */

struct fetch {
    const char *path;
    uint64_t max;
    uint64_t bytes;
    int fd;          /* >= 0: there */
    struct str *str; /* or here */
    bool failed;
    struct err err;
};

static int take_bytes(void *user, const void *bytes, size_t len)
{
    struct fetch *fetch = user;

    if (len > fetch->max - fetch->bytes) {
        fetch->failed = true;
        err_set(&fetch->err, ERR_PERMANENT, "FileTooLarge",
                "sandbox: %.300s is larger than the limit of %llu bytes", fetch->path,
                (unsigned long long)fetch->max);
        return 1;
    }
    fetch->bytes += len;
    if (fetch->str) {
        str_addn(fetch->str, bytes, len);
    } else if (fs_write_all(fetch->fd, bytes, len, &fetch->err)) {
        fetch->failed = true;
        return 1;
    }
    return 0;
}

static int get_file(struct envd *envd, uint64_t offset, uint64_t most, struct fetch *fetch,
                    const atomic_bool *cancel, struct err *err)
{
    autohttp struct http_response response = {0};
    const char *headers[32] = {0};
    autofree char *range = NULL;

    if (check_path(fetch->path, err)) {
        return -1;
    }
    autofree char *url = file_url(envd, fetch->path);
    size_t count = file_headers(envd, headers, ARRAY_LEN(headers));
    if (offset > 0 || most > 0) {
        range = most ? mem_printf("Range: bytes=%llu-%llu", (unsigned long long)offset,
                                  (unsigned long long)(offset + most - 1))
                     : mem_printf("Range: bytes=%llu-", (unsigned long long)offset);
        headers[count++] = range;
    }
    struct http_request request = {
        .method = "GET",
        .url = url,
        .headers = headers,
        .on_data = take_bytes,
        .user = fetch,
        .cancel = cancel,
    };
    int rc = http_perform(envd->rpc, &request, &response, err);
    if (fetch->failed) {
        if (err) {
            *err = fetch->err;
        }
        return -1;
    }
    if (rc) {
        return err_wrap(err, "sandbox: reading %.300s", fetch->path);
    }
    if (response.status == 416) {
        return 0; /* nothing there yet */
    }
    if (response.status == 200 && range && offset > 0) {
        return err_set(err, ERR_PERMANENT, "RangeIgnored",
                       "sandbox: reading %.300s: this envd does not serve ranges", fetch->path);
    }
    if (response.status != 200 && response.status != 206) {
        autofree char *what = mem_printf("reading %.300s", fetch->path);
        return envd_http_failure(what, &response, err);
    }
    return 0;
}

int envd_read_file(struct envd *envd, const char *path, size_t max_bytes, struct str *ret,
                   const atomic_bool *cancel, struct err *err)
{
    struct fetch fetch = {.path = path, .max = max_bytes, .fd = -1, .str = ret};
    size_t before = ret->len;
    int rc = get_file(envd, 0, 0, &fetch, cancel, err);

    if (rc) {
        str_cut(ret, before);
    }
    return rc;
}

int envd_read_part(struct envd *envd, const char *path, uint64_t offset, size_t most,
                   struct str *ret, const atomic_bool *cancel, struct err *err)
{
    struct fetch fetch = {.path = path, .max = most, .fd = -1, .str = ret};

    return get_file(envd, offset, most, &fetch, cancel, err);
}

int envd_read_fd(struct envd *envd, const char *path, uint64_t offset, uint64_t max_bytes, int fd,
                 uint64_t *ret_bytes, const atomic_bool *cancel, struct err *err)
{
    struct fetch fetch = {.path = path, .max = max_bytes ? max_bytes : UINT64_MAX, .fd = fd};
    int rc = get_file(envd, offset, 0, &fetch, cancel, err);

    if (rc == 0 && ret_bytes) {
        *ret_bytes = fetch.bytes;
    }
    return rc;
}

/* --- directories ------------------------------------------------------------------------------ */

void envd_entry_free(struct envd_entry *entry)
{
    free(entry->name);
    free(entry->path);
    *entry = (struct envd_entry){0};
}

void envd_entry_list_free(struct envd_entry_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        envd_entry_free(&list->items[i]);
    }
    free(list->items);
    *list = (struct envd_entry_list){0};
}

static void read_entry(const struct json *json, struct envd_entry *ret)
{
    const char *type = json_get_str(json, "type");
    int64_t number = 0;

    *ret = (struct envd_entry){
        .name = mem_strdup(json_get_str(json, "name")),
        .path = mem_strdup(json_get_str(json, "path")),
        .type = str_eq(type, "FILE_TYPE_FILE")        ? ENVD_FILE
                : str_eq(type, "FILE_TYPE_DIRECTORY") ? ENVD_DIRECTORY
                : str_eq(type, "FILE_TYPE_SYMLINK")   ? ENVD_SYMLINK
                                                      : ENVD_OTHER,
    };
    if (json_get_i64(json, "size", &number) && number > 0) {
        ret->size = (uint64_t)number;
    }
    if (json_get_i64(json, "mode", &number)) {
        ret->mode = (uint32_t)number & 07777;
    }
}

static int call_paths(struct envd *envd, const char *method, const char *key, const char *path,
                      const char *key2, const char *path2, struct arena *arena,
                      const struct json **ret, struct err *err)
{
    autostr struct str body = {0};
    struct json_out w = json_writer(&body, 0);

    if (check_path(path, err) || (path2 && check_path(path2, err))) {
        return -1;
    }
    json_begin_object(&w);
    json_kv_str(&w, key, path);
    json_kv_str_opt(&w, key2 ? key2 : "", path2);
    json_end_object(&w);
    return envd_unary(envd, method, &body, arena, ret, err);
}

int envd_stat(struct envd *envd, const char *path, struct envd_entry *ret, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root = NULL;
    int rc =
        call_paths(envd, "filesystem.Filesystem/Stat", "path", path, NULL, NULL, arena, &root, err);

    if (rc) {
        return rc;
    }
    const struct json *entry = json_get(root, "entry");
    if (!entry) {
        return err_set(err, ERR_PERMANENT, "EnvdProtocol", "sandbox: Stat: no entry in the answer");
    }
    read_entry(entry, ret);
    return 0;
}

int envd_mkdir(struct envd *envd, const char *path, struct err *err)
{
    autoarena struct arena *arena = arena_new();

    return call_paths(envd, "filesystem.Filesystem/MakeDir", "path", path, NULL, NULL, arena, NULL,
                      err);
}

int envd_list_dir(struct envd *envd, const char *path, struct envd_entry_list *ret, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root = NULL;
    int rc = call_paths(envd, "filesystem.Filesystem/ListDir", "path", path, NULL, NULL, arena,
                        &root, err);

    if (rc) {
        return rc;
    }
    const struct json *entries = json_get(root, "entries");
    *ret = (struct envd_entry_list){0};
    if (entries && entries->count > 0) {
        ret->items = mem_array(entries->count, sizeof(*ret->items));
        json_each (entry, entries) {
            read_entry(entry, &ret->items[ret->count++]);
        }
    }
    return 0;
}

int envd_remove(struct envd *envd, const char *path, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    int rc = call_paths(envd, "filesystem.Filesystem/Remove", "path", path, NULL, NULL, arena, NULL,
                        err);

    return rc == ENVD_ABSENT ? 0 : rc;
}

int envd_move(struct envd *envd, const char *from, const char *to, struct err *err)
{
    autoarena struct arena *arena = arena_new();

    return call_paths(envd, "filesystem.Filesystem/Move", "source", from, "destination", to, arena,
                      NULL, err);
}

/* --- health ---------------------------------------------------------------------------------- */

int envd_ask_health(struct envd *envd, int64_t timeout_ms, const atomic_bool *cancel,
                    struct err *err)
{
    autohttp struct http_response response = {0};
    const char *headers[32] = {0};
    autofree char *url = mem_printf("%s/health", envd->target.base_url);

    file_headers(envd, headers, ARRAY_LEN(headers));
    struct http_request request = {
        .method = "GET",
        .url = url,
        .headers = headers,
        .timeout_ms = timeout_ms,
        .cancel = cancel,
    };
    struct err why = {0};
    if (http_perform(envd->rpc, &request, &response, &why)) {
        return err_set(err, why.kind == ERR_CANCELLED ? ERR_CANCELLED : ERR_TRANSIENT, "NotHealthy",
                       "sandbox: it does not answer: %.700s", why.text);
    }
    if (response.status != 204) {
        return err_set(err, ERR_TRANSIENT, "NotHealthy",
                       "sandbox: /health answers HTTP %d, envd would say 204", response.status);
    }
    return 0;
}

int envd_health(struct envd *envd, int64_t timeout_ms, struct err *err)
{
    return envd_ask_health(envd, timeout_ms, NULL, err);
}

int envd_wait_healthy(struct envd *envd, int64_t timeout_ms, const atomic_bool *cancel,
                      struct err *err)
{
    int64_t deadline = clock_mono_ns() + timeout_ms * NS_PER_MS;

    for (;;) {
        struct err why = {0};
        int64_t left = (deadline - clock_mono_ns()) / NS_PER_MS;
        if (envd_ask_health(envd, left > 1 ? left : 1, cancel, &why) == 0) {
            return 0;
        }
        if (why.kind == ERR_CANCELLED || clock_mono_ns() >= deadline) {
            if (err) {
                *err = why;
            }
            return -1;
        }
        clock_sleep_ms(10);
    }
}

int envd_push_env(struct envd *envd, const char *const *env, struct err *err)
{
    autohttp struct http_response response = {0};
    autostr struct str body = {0};
    autofree char *url = mem_printf("%s/init", envd->target.base_url);
    const char *headers[32] = {0};

    if (!env || !env[0]) {
        return 0;
    }
    struct json_out w = json_writer(&body, 0);
    json_begin_object(&w);
    json_key(&w, "envVars");
    json_begin_object(&w);
    for (size_t i = 0; env[i]; i++) {
        const char *eq = strchr(env[i], '=');
        autofree char *name = mem_strndup(env[i], eq ? (size_t)(eq - env[i]) : strlen(env[i]));
        json_kv_str(&w, name, eq ? eq + 1 : "");
    }
    json_end_object(&w);
    json_end_object(&w);
    size_t count = file_headers(envd, headers, ARRAY_LEN(headers));
    headers[count] = "Content-Type: application/json";
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .body = body.ptr,
        .body_len = body.len,
        .timeout_ms = UNARY_TIMEOUT_MS,
    };
    if (http_perform(envd->rpc, &request, &response, err)) {
        return err_wrap(err, "sandbox: handing over the environment");
    }
    if (response.status != 204 && response.status != 200) {
        envd_http_failure("handing over the environment", &response, err);
        return -1;
    }
    return 0;
}
