/*
 * system.c - /health, /init, /envs, /metrics: what is asked about the sandbox itself.
 *
 * Tests: tests/unit/test_guest_daemon.c
 */
#include "guest/server.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static enum MHD_Result health(struct request *r)
{
    return request_reply(r, MHD_HTTP_NO_CONTENT, NULL, NULL);
}

static enum MHD_Result envs(struct request *r)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 0);
    json_begin_object(&w);
    for (size_t i = 0; i < r->guest->var_count; i++) {
        const char *var = r->guest->vars[i];
        size_t len = strcspn(var, "=");
        autofree char *name = mem_strndup(var, len);
        json_key(&w, name);
        json_put_strn(&w, var + len + 1, strlen(var + len + 1));
    }
    json_end_object(&w);
    return request_reply(r, MHD_HTTP_OK, "application/json; charset=utf-8", &out);
}

/* --- /init --- */

static bool vars_ok(const struct json *vars)
{
    json_each (var, vars) {
        autofree char *name = mem_strndup(var->key, var->key_len);
        if (!json_str(var) || strlen(name) != var->key_len || !guest_var_name_ok(name)) {
            return false;
        }
    }
    return true;
}

/* Check everything, then change; a refused request changes nothing. */
static const char *apply(struct guest *guest, const struct json *message, int *ret_status)
{
    const struct json *vars = json_get(message, "envVars");
    const char *token = json_get_str(message, "accessToken");
    const char *user = json_get_str(message, "defaultUser");
    const char *workdir = json_get_str(message, "defaultWorkdir");
    *ret_status = MHD_HTTP_BAD_REQUEST;
    if (vars && vars->type == JSON_NULL) {
        vars = NULL;
    }
    if (vars && (vars->type != JSON_OBJECT || !vars_ok(vars))) {
        return "envVars must be an object of strings with possible names";
    }
    if (user && *user && !guest_user_known(guest, user)) {
        return "defaultUser is not a user of this sandbox";
    }
    if (workdir && *workdir && *workdir != '/') {
        return "defaultWorkdir must be absolute";
    }
    if (guest->token && !str_eq(guest->token, token)) {
        *ret_status = MHD_HTTP_UNAUTHORIZED;
        return "access token does not match the one set before";
    }
    json_each (var, vars) {
        autofree char *name = mem_strndup(var->key, var->key_len);
        guest_set_var(guest, name, json_str(var));
    }
    if (token && *token && !guest->token) {
        guest->token = mem_strdup(token);
    }
    if (workdir && *workdir) {
        free(guest->workdir);
        guest->workdir = mem_strdup(workdir);
    }
    return NULL;
}

static enum MHD_Result init(struct request *r)
{
    autoarena struct arena *arena = arena_new();
    const struct json *message = NULL;
    struct err err = {0};
    int status;
    if (r->error.code != WIRE_OK) {
        return request_reply_error(r, wire_code_status(r->error.code), r->error.text);
    }
    if (r->body.len > 0 && json_parse(arena, r->body.ptr, r->body.len, &message, &err) < 0) {
        return request_reply_error(r, MHD_HTTP_BAD_REQUEST, err.text);
    }
    if (message && message->type != JSON_OBJECT) {
        return request_reply_error(r, MHD_HTTP_BAD_REQUEST, "request is not a JSON object");
    }
    const char *why = message ? apply(r->guest, message, &status) : NULL;
    return why ? request_reply_error(r, status, why)
               : request_reply(r, MHD_HTTP_NO_CONTENT, NULL, NULL);
}

/* --- /metrics --- */

/* A "Name:   123 kB" line of /proc/meminfo, in bytes. */
static int64_t meminfo(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void read_small(const char *path, char *buffer, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(buffer, 1, size - 1, file) : 0;
    buffer[len] = '\0';
    if (file) {
        fclose(file);
    }
}

/* Share of processor time used since the last call (the first call: since boot). */
static double cpu_used_percent(void)
{
    static unsigned long long last_busy;
    static unsigned long long last_all;
    char text[512];
    unsigned long long v[8] = {0};
    read_small("/proc/stat", text, sizeof(text));
    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4],
           &v[5], &v[6], &v[7]);
    unsigned long long all = 0;
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        all += v[i];
    }
    unsigned long long busy = all - v[3] - v[4];
    double used = all > last_all && busy >= last_busy
                      ? 100.0 * (double)(busy - last_busy) / (double)(all - last_all)
                      : 0.0;
    last_all = all;
    last_busy = busy;
    return used;
}

static enum MHD_Result metrics(struct request *r)
{
    char text[4096];
    struct statvfs disk = {0};
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 0);
    read_small("/proc/meminfo", text, sizeof(text));
    int64_t total = meminfo(text, "MemTotal:");
    int64_t used = total - meminfo(text, "MemAvailable:");
    if (statvfs(r->guest->workdir, &disk) < 0) {
        disk = (struct statvfs){0};
    }
    int64_t block = (int64_t)disk.f_frsize;
    json_begin_object(&w);
    json_kv_i64(&w, "ts", clock_wall_ns() / NS_PER_S);
    json_kv_i64(&w, "cpu_count", sysconf(_SC_NPROCESSORS_ONLN));
    json_key(&w, "cpu_used_pct");
    json_put_double(&w, cpu_used_percent());
    json_kv_i64(&w, "mem_total", total);
    json_kv_i64(&w, "mem_used", used);
    json_kv_i64(&w, "mem_cache", meminfo(text, "\nCached:"));
    json_kv_i64(&w, "mem_total_mib", total >> 20);
    json_kv_i64(&w, "mem_used_mib", used >> 20);
    json_kv_i64(&w, "disk_used", block * (int64_t)(disk.f_blocks - disk.f_bfree));
    json_kv_i64(&w, "disk_total", block * (int64_t)disk.f_blocks);
    json_end_object(&w);
    return request_reply(r, MHD_HTTP_OK, "application/json; charset=utf-8", &out);
}

const struct route SYSTEM_ROUTES[] = {
    {.method = "GET", .path = "/health", .kind = ROUTE_REST, .open = true, .rest = health},
    {.method = "POST", .path = "/init", .kind = ROUTE_REST, .open = true, .rest = init},
    {.method = "GET", .path = "/envs", .kind = ROUTE_REST, .rest = envs},
    {.method = "GET", .path = "/metrics", .kind = ROUTE_REST, .rest = metrics},
    {0},
};
