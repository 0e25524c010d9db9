/*
 * request.c - see request.h. Owns the checks and the JSON form.
 * Tests: tests/unit/test_factory_request.c
 */
#include "factory/request.h"

#include <string.h>

#include "base/fs.h"
#include "base/rng.h"
#include "factory/evidence.h"
#include "repo/url.h"

static void problem(struct str *list, const char *text)
{
    str_addf(list, "%s%s", list->len ? "; " : "", text);
}

static bool is_blank(const char *text)
{
    return !text || text[strspn(text, " \t\r\n")] == '\0';
}

static void check_source(struct arena *arena, const struct config *config, struct request *r,
                         struct str *problems)
{
    struct err err;
    if (!r->repository == !r->local_path) {
        problem(problems, "give either a repository URL (--repo) or a local path (--local-path)");
        return;
    }
    if (r->local_path) {
        autofree char *real = NULL;
        if (fs_realpath(r->local_path, &real, &err) < 0) {
            problem(problems, err.text);
        } else {
            r->local_path = arena_strdup(arena, real);
        }
        return;
    }
    size_t count = 0;
    while (config->allowed[count]) {
        count++;
    }
    if (repo_url_allowed(r->repository, config->allowed, count, &err) < 0) {
        problem(problems, err.text);
    }
}

static void check_names(const struct config *config, struct request *r, struct str *problems)
{
    struct err err = {0};
    const struct harness_config *harness = config_harness(config, r->agent, &err);
    if (!harness) {
        problem(problems, err.text);
    } else {
        r->agent = harness->name;
        r->model = is_blank(r->model) ? harness->model : r->model;
    }
    const struct profile_config *profile = config_profile(config, r->profile, &err);
    if (!profile) {
        problem(problems, err.text);
    } else {
        r->profile = profile->name;
    }
}

int request_check(struct arena *arena, const struct config *config, struct request *r,
                  struct err *err)
{
    autostr struct str problems = {0};
    struct err why;
    if (is_blank(r->task)) {
        problem(&problems, "the task is empty (--task TEXT or --task-file FILE)");
    } else if (strlen(r->task) > REQUEST_TASK_BYTES_MAX || !utf8_valid(r->task, strlen(r->task))) {
        problem(&problems, "the task must be UTF-8 text of at most 1 MiB");
    }
    if (!r->run_id || !*r->run_id) {
        char hex[25];
        rng_hex(hex, 12);
        r->run_id = arena_printf(arena, "run-%s", hex);
    } else if (!run_id_is_good(r->run_id)) {
        problem(&problems, "the run id may hold up to 64 letters, digits, '.', '_' and '-'");
    }
    if (revision_check(r->revision ? r->revision : "", &why) < 0) {
        problem(&problems, why.text);
    }
    check_source(arena, config, r, &problems);
    check_names(config, r, &problems);
    if (r->agent_timeout_ms < 0 || r->agent_timeout_ms > config->agent_timeout_ms) {
        problem(&problems,
                "the agent's time limit must be positive and at most [limits] agent_timeout");
    }
    return problems.len ? err_set(err, ERR_PERMANENT, "BadRequest", "%s", str_c(&problems)) : 0;
}

const char *request_print(struct arena *arena, const struct config *config, const struct request *r)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);
    json_begin_object(&out);
    json_kv_i64(&out, "schema", 1);
    json_kv_str(&out, "run_id", r->run_id);
    json_kv_str(&out, "task", r->task);
    json_kv_str_opt(&out, "repository", r->repository);
    json_kv_str_opt(&out, "local_path", r->local_path);
    json_kv_str(&out, "revision", r->revision);
    json_kv_str(&out, "agent", r->agent);
    json_kv_str_opt(&out, "model", is_blank(r->model) ? NULL : r->model);
    json_kv_str(&out, "profile", r->profile);
    json_kv_i64_opt(&out, "agent_timeout_ms", r->agent_timeout_ms);
    json_key(&out, "config");
    json_begin_object(&out);
    json_kv_str(&out, "name", config->path);
    json_kv_str(&out, "text", config->text);
    json_kv_str(&out, "setup_script", config->setup_script);
    json_kv_str(&out, "data_dir", config->data_dir);
    json_kv_str(&out, "digest", config->digest);
    json_end_object(&out);
    json_end_object(&out);
    return arena_strndup(arena, str_c(&text), text.len);
}

int request_parse(struct arena *arena, const char *json, struct request *ret,
                  struct config **ret_config, struct err *err)
{
    const struct json *root;
    if (!json || json_parse(arena, json, strlen(json), &root, err) < 0) {
        return json ? -1 : err_set(err, ERR_PERMANENT, "BadRequest", "the request is empty");
    }
    const struct json *config = json_get(root, "config");
    *ret = (struct request){
        .run_id = json_get_str(root, "run_id"),
        .task = json_get_str(root, "task"),
        .repository = json_get_str(root, "repository"),
        .local_path = json_get_str(root, "local_path"),
        .revision = json_get_str(root, "revision"),
        .agent = json_get_str(root, "agent"),
        .model = json_get_str(root, "model"),
        .profile = json_get_str(root, "profile"),
    };
    json_get_i64(root, "agent_timeout_ms", &ret->agent_timeout_ms);
    if (!ret->run_id || !ret->task || !ret->revision || !ret->agent || !ret->profile || !config ||
        !json_get_str(config, "text")) {
        return err_set(err, ERR_PERMANENT, "BadRequest", "the request lacks a field");
    }
    return config_parse_pinned(config, ret_config, err);
}
