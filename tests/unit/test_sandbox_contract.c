/*
 * test_sandbox_contract.c - what every sandbox provider must do: life, commands, processes.
 *
 * Run once per row of sandbox_providers.h. See also test_sandbox_jobs.c (jobs and files) and
 * test_sandbox_hostile.c (what must not get out).
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/rng.h"
#include "sandbox_providers.h"

TestSuite(contract, .timeout = 120);

static struct sandbox_info *only_one(struct provider *provider, struct sandbox_list *list)
{
    struct err err = {0};

    cr_assert_eq(provider->ops->list(provider, list, &err), 0, "%s", err.text);
    cr_assert_eq(list->count, 1);
    return &list->items[0];
}

/* --- life ------------------------------------------------------------------------------------- */

EACH(a_sandbox_lives_and_is_gone)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autosandboxlist struct sandbox_list list = {0};
    struct err err = {0};

    autoenvd struct envd *envd = envd_open(&sandbox->target);
    expect_output(envd, "echo hello; pwd", "hello\n/tmp\n");
    struct sandbox_info *info = only_one(provider, &list);
    cr_expect_str_eq(info->id, sandbox->id);
    cr_expect_eq(info->state, SANDBOX_RUNNING);
    cr_expect_str_eq(sandbox_info_label(info, LABEL_RUN), "run-1");
    cr_expect_str_eq(sandbox_info_label(info, LABEL_EXECUTION), "execution-1");
    cr_expect_null(sandbox_info_label(info, "no such"));
    cr_expect_str_eq(sandbox->enforced.network, "cut");

    cr_assert_eq(provider->ops->destroy(provider, sandbox->id, &err), 0, "%s", err.text);
    cr_expect_eq(provider->ops->destroy(provider, sandbox->id, &err), 0, "twice: %s", err.text);
    cr_expect_lt(envd_health(envd, 2000, NULL), 0, "it still answers");
    struct sandbox *again = NULL;
    cr_expect_eq(provider->ops->reattach(provider, sandbox->id, NULL, &again, &err), PROVIDER_GONE);
    end_all(provider);
}

EACH(destroying_what_never_was_is_fine)
{
    struct provider *provider = the_provider(row);

    cr_expect_eq(provider->ops->destroy(provider, "", NULL), 0);
    cr_expect_eq(provider->ops->destroy(provider, "sbx-00000000000000000000", NULL), 0);
    cr_expect_eq(provider->ops->destroy(provider, "../../etc", NULL), 0);
    end_all(provider);
}

EACH(capabilities_match_the_pointers)
{
    struct provider *provider = the_provider(row);
    const struct provider_ops *ops = provider->ops;
    unsigned bits = ops->capabilities(provider);

    cr_expect_eq(!!(bits & PROVIDER_CAN_SUSPEND), ops->suspend != NULL);
    cr_expect_eq(!!(bits & PROVIDER_CAN_RESUME), ops->resume != NULL);
    cr_expect_eq(!!(bits & PROVIDER_CAN_STATE), ops->state != NULL);
    cr_expect_eq(!!(bits & PROVIDER_CAN_UPDATE_NETWORK), ops->update_network != NULL);
    cr_expect_eq(!!(bits & PROVIDER_CAN_PREVIEW), ops->preview != NULL);
    cr_expect_eq(!!(bits & PROVIDER_CAN_SNAPSHOT), ops->snapshot != NULL);
    cr_expect_eq(!!(bits & PROVIDER_CAN_USAGE), ops->usage != NULL);
    end_all(provider);
}

EACH(a_bad_specification_starts_nothing)
{
    struct provider *provider = the_provider(row);
    const struct sandbox_label bad_key = {"Not Good", "x"};
    const struct sandbox_label bad_value = {"key", "line\nbreak"};
    const char *const bad_env[] = {"1X=secret-value", NULL};
    const struct sandbox_bind bad_bind = {"/usr", "/proc/x"};
    const struct sandbox_spec specs[] = {
        {.labels = &bad_key, .label_count = 1},
        {.labels = &bad_value, .label_count = 1},
        {.env = bad_env},
        {.binds = &bad_bind, .bind_count = 1},
        {.limits = {.processes = -1}},
        {.template_name = "no-such-template-anywhere"},
    };

    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct sandbox *sandbox = NULL;
        struct err err = {0};
        cr_expect_eq(provider->ops->create(provider, &specs[i], NULL, &sandbox, &err), -1);
        cr_expect_eq(err.kind, ERR_PERMANENT, "%zu: %s", i, err.text);
        cr_expect_null(strstr(err.text, "secret-value"));
    }
    autosandboxlist struct sandbox_list list = {0};
    cr_assert_eq(provider->ops->list(provider, &list, NULL), 0);
    cr_expect_eq(list.count, 0);
    end_all(provider);
}

EACH(a_cancelled_create_leaves_nothing)
{
    struct provider *provider = the_provider(row);
    atomic_bool cancel = true;
    struct sandbox_spec spec = {.labels = usual_labels, .label_count = ARRAY_LEN(usual_labels)};
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    cr_expect_eq(provider->ops->create(provider, &spec, &cancel, &sandbox, &err), -1);
    cr_expect_eq(err.kind, ERR_CANCELLED);
    autosandboxlist struct sandbox_list list = {0};
    cr_assert_eq(provider->ops->list(provider, &list, NULL), 0);
    cr_expect_eq(list.count, 0);
    end_all(provider);
}

/* The engine is killed between create() and the first command; another process goes on. */
EACH(a_sandbox_outlives_its_creator)
{
    struct provider *provider = the_provider(row);
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    pid_t child = fork();
    if (child == 0) {
        struct sandbox *mine = make_sandbox(provider, NULL);
        (void)mine;
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status));

    autosandboxlist struct sandbox_list list = {0};
    struct sandbox_info *info = only_one(provider, &list);
    cr_expect_eq(info->state, SANDBOX_RUNNING);
    cr_expect_str_eq(sandbox_info_label(info, LABEL_EXECUTION), "execution-1");
    cr_assert_eq(provider->ops->reattach(provider, info->id, NULL, &sandbox, &err), 0, "%s",
                 err.text);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    expect_output(envd, "echo still here", "still here\n");
    sandbox_free(sandbox);
    end_all(provider);
}

/* Killed while it creates, at whatever point: list() finds it or there is nothing. */
EACH(a_creator_killed_at_any_point_leaks_nothing)
{
    struct provider *provider = the_provider(row);

    for (int us = 0; us < 60000; us += 3000) {
        pid_t child = fork();
        if (child == 0) {
            make_sandbox(provider, NULL);
            _exit(0);
        }
        struct timespec pause = {0, us * 1000};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    end_all(provider);
}

EACH(two_destroys_at_once_are_fine)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);

    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        _exit(provider->ops->destroy(provider, sandbox->id, &err) ? 1 : 0);
    }
    struct err err = {0};
    cr_expect_eq(provider->ops->destroy(provider, sandbox->id, &err), 0, "%s", err.text);
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    end_all(provider);
}

struct ending {
    struct provider *provider;
    char *ids[4];
};

static void *end_them(void *arg)
{
    struct ending *ending = arg;

    for (size_t i = 0; i < ARRAY_LEN(ending->ids); i++) {
        ending->provider->ops->destroy(ending->provider, ending->ids[i], NULL);
    }
    return NULL;
}

EACH(list_works_while_others_die)
{
    struct ending ending = {.provider = the_provider(row)};
    struct provider *provider = ending.provider;
    pthread_t thread;

    for (size_t i = 0; i < ARRAY_LEN(ending.ids); i++) {
        struct sandbox *sandbox = make_sandbox(provider, NULL);
        ending.ids[i] = mem_strdup(sandbox->id);
        sandbox_free(sandbox);
    }
    cr_assert_eq(pthread_create(&thread, NULL, end_them, &ending), 0);
    size_t last = ARRAY_LEN(ending.ids);
    while (last > 0) {
        autosandboxlist struct sandbox_list list = {0};
        struct err err = {0};
        cr_assert_eq(provider->ops->list(provider, &list, &err), 0, "%s", err.text);
        cr_assert_leq(list.count, last);
        for (size_t i = 0; i < list.count; i++) {
            cr_expect_str_eq(sandbox_info_label(&list.items[i], LABEL_RUN), "run-1");
        }
        last = list.count;
    }
    pthread_join(thread, NULL);
    for (size_t i = 0; i < ARRAY_LEN(ending.ids); i++) {
        free(ending.ids[i]);
    }
    end_all(provider);
}

EACH(suspend_stops_everything_and_resume_goes_on)
{
    struct provider *provider = the_provider(row);
    const struct provider_ops *ops = provider->ops;
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    enum sandbox_state state = SANDBOX_DEAD;
    struct err err = {0};
    int64_t pid = 0;

    if (!(ops->capabilities(provider) & PROVIDER_CAN_SUSPEND)) {
        cr_skip_test("skip: %s cannot suspend", ops->name);
    }
    cr_assert_not_null(sandbox->host_dir);
    struct envd_command command = {
        .script = "setsid sh -c 'while :; do echo x >>/workspace/a; sleep 0.01; done' & "
                  "while :; do echo x >>/workspace/b; sleep 0.01; done",
    };
    cr_assert_eq(envd_start(envd, &command, NULL, false, &pid, &err), 0, "%s", err.text);
    expect_output(envd, "while [ ! -s /workspace/a ] || [ ! -s /workspace/b ]; do sleep 0.01; done",
                  "");
    cr_assert_eq(ops->suspend(provider, sandbox->id, &err), 0, "%s", err.text);
    cr_expect_eq(ops->suspend(provider, sandbox->id, &err), 0, "twice: %s", err.text);
    cr_expect_eq(ops->state(provider, sandbox->id, &state, &err), 0);
    cr_expect_eq(state, SANDBOX_PAUSED);
    autofree char *a = fs_join(sandbox->host_dir, "a");
    autofree char *b = fs_join(sandbox->host_dir, "b");
    struct stat before[2];
    struct stat after[2];
    cr_assert_eq(stat(a, &before[0]) | stat(b, &before[1]), 0);
    clock_sleep_ms(150);
    cr_assert_eq(stat(a, &after[0]) | stat(b, &after[1]), 0);
    cr_expect_eq(before[0].st_size, after[0].st_size, "a detached process went on");
    cr_expect_eq(before[1].st_size, after[1].st_size, "a process went on");
    cr_expect_lt(envd_health(envd, 300, NULL), 0, "it answers while paused");

    cr_assert_eq(ops->resume(provider, sandbox->id, &err), 0, "%s", err.text);
    cr_expect_eq(ops->resume(provider, sandbox->id, &err), 0, "twice: %s", err.text);
    cr_expect_eq(ops->state(provider, sandbox->id, &state, &err), 0);
    cr_expect_eq(state, SANDBOX_RUNNING);
    autoenvd struct envd *fresh = envd_open(&sandbox->target);
    expect_output(
        fresh,
        "n=$(wc -l </workspace/a); while [ $(wc -l </workspace/a) = $n ]; do sleep 0.01; done", "");
    /* A paused one can be destroyed too. */
    cr_assert_eq(ops->suspend(provider, sandbox->id, &err), 0, "%s", err.text);
    end_all(provider);
}

EACH(an_idle_sandbox_ends)
{
    struct provider *provider = the_provider(row);
    struct sandbox_spec spec = {.idle_timeout_ms = 300};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autosandboxlist struct sandbox_list list = {0};
    struct sandbox *again = NULL;

    int rc = 0;
    for (int i = 0; i < 500 && rc == 0; i++) {
        clock_sleep_ms(20);
        rc = provider->ops->reattach(provider, sandbox->id, NULL, &again, NULL);
        again = sandbox_free(again);
    }
    cr_expect_eq(rc, PROVIDER_DEAD);
    struct sandbox_info *info = only_one(provider, &list);
    cr_expect_eq(info->state, SANDBOX_DEAD);
    cr_expect_str_eq(info->ended, "idle timeout");
    end_all(provider);
}

static bool tree_holds(const char *dir, const char *word)
{
    autofree char *command = mem_printf("grep -rqF -- '%s' '%s'", word, dir);
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

EACH(environment_reaches_commands_and_no_file)
{
    struct provider *provider = the_provider(row);
    const char *const env[] = {"TOKEN=s3cr3t-of-the-test", "EMPTY=", "WITH=a=b c", NULL};
    struct sandbox_spec spec = {.env = env};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const more[] = {"EMPTY=no", NULL};
    const char *const argv[] = {"sh", "-c", "echo \"$TOKEN|$EMPTY|$WITH|$HOME\"", NULL};
    struct envd_command command = {.argv = argv, .env = more, .timeout_ms = 30000};
    autoresult struct envd_result result = {0};
    struct err err = {0};

    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect(str_starts(str_c(&result.out), "s3cr3t-of-the-test|no|a=b c|/"), "%s",
              str_c(&result.out));
    cr_expect_not(tree_holds(tmpdir(), "s3cr3t-of-the-test"));
    end_all(provider);
}

/* --- commands --------------------------------------------------------------------------------- */

EACH(arguments_arrive_byte_for_byte)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const argv[] = {"printf", "[%s]", "", "a b", "two\nlines",
                                "grüße 🌍", "$HOME `id` $(id)", "'\"\\", "*", "--",
                                "\t\x01", NULL};
    struct envd_command command = {.argv = argv, .dir = "/", .timeout_ms = 30000};
    autoresult struct envd_result result = {0};
    struct err err = {0};

    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_str_eq(str_c(&result.out),
                     "[][a b][two\nlines][grüße 🌍][$HOME `id` $(id)]['\"\\][*][--]"
                     "[\t\x01]");
    cr_expect_eq(result.exit_code, 0);
    cr_expect_gt(result.pid, 0);
    end_all(provider);
}

EACH(an_exit_status_is_a_result)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    static const struct {
        const char *script;
        int code;
        int signal;
    } rows[] = {
        {"exit 0", 0, 0},       {"exit 3", 3, 0},           {"exit 255", 255, 0},
        {"kill -9 $$", 137, 9}, {"kill -TERM $$", 143, 15}, {"kill -SEGV $$", 139, 11},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoresult struct envd_result result = run_script(envd, rows[i].script);
        cr_expect_eq(result.exit_code, rows[i].code, "%s: %d", rows[i].script, result.exit_code);
        cr_expect_eq(result.signal, rows[i].signal, "%s: signal %d", rows[i].script, result.signal);
        cr_expect_not(result.timed_out);
    }
    const char *const argv[] = {"no-such-program-here", NULL};
    struct envd_command command = {.argv = argv, .timeout_ms = 30000};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_eq(result.exit_code, 127);
    cr_expect_gt(result.err.len, 0);
    end_all(provider);
}

EACH(a_command_that_cannot_be_run_is_an_error)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const argv[] = {"true", NULL};
    const char *const no_argv[] = {NULL};
    const char *const bad_env[] = {"NOEQUALS", NULL};
    const struct envd_command commands[] = {
        {.argv = argv, .dir = "/no/such/directory"},
        {.argv = argv, .dir = "relative"},
        {.argv = no_argv},
        {.argv = argv, .script = "true"},
        {.script = NULL},
        {.argv = argv, .env = bad_env},
        {.argv = argv, .stdin_bytes = "x", .stdin_len = 1, .stdin_path = "/x"},
    };

    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        struct envd_result result = {0};
        struct err err = {0};
        cr_expect_eq(envd_exec(envd, &commands[i], NULL, &result, &err), -1, "%zu", i);
        cr_expect_eq(err.kind, ERR_PERMANENT, "%zu: %s", i, err.text);
    }
    expect_output(envd, "echo fine", "fine\n");
    end_all(provider);
}

EACH(ten_megabytes_go_in_and_come_out)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const size_t size = 10 * 1024 * 1024 + 7;
    autofree char *bytes = mem_alloc(size);
    const char *const argv[] = {"cat", NULL};
    struct err err = {0};

    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = rng_u64();
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
    struct envd_command command = {
        .argv = argv,
        .stdin_bytes = bytes,
        .stdin_len = size,
        .capture_bytes = 2 * size,
        .timeout_ms = 90000,
    };
    autoresult struct envd_result result = {0};
    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_eq(result.exit_code, 0, "%s", str_c(&result.err));
    cr_assert_eq(result.out.len, size);
    cr_expect_eq(memcmp(result.out.ptr, bytes, size), 0);
    expect_output(envd, "ls -A /tmp", "");
    end_all(provider);
}

EACH(input_comes_from_bytes_or_a_path_or_nowhere)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const argv[] = {"wc", "-c", NULL};
    struct err err = {0};

    cr_assert_eq(envd_write_file(envd, "/tmp/in put", "12345", 5, NULL, &err), 0, "%s", err.text);
    struct envd_command commands[] = {
        {.argv = argv, .timeout_ms = 30000},
        {.argv = argv, .stdin_bytes = "", .stdin_len = 0, .timeout_ms = 30000},
        {.argv = argv, .stdin_bytes = "a\0b", .stdin_len = 3, .timeout_ms = 30000},
        {.argv = argv, .stdin_path = "/tmp/in put", .timeout_ms = 30000},
        {.script = "wc -c; echo $1",
         .script_args = (const char *const[]){"x", NULL},
         .stdin_path = "/tmp/in put",
         .timeout_ms = 30000},
    };
    const char *const outputs[] = {"0\n", "0\n", "3\n", "5\n", "5\nx\n"};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        autoresult struct envd_result result = {0};
        cr_assert_eq(envd_exec(envd, &commands[i], NULL, &result, &err), 0, "%zu: %s", i, err.text);
        cr_expect_str_eq(str_c(&result.out), outputs[i], "%zu: %s", i, str_c(&result.out));
    }
    end_all(provider);
}

static void expect_no_sleepers(struct envd *envd)
{
    expect_output(envd, "grep -l '^sleep.1234' /proc/[0-9]*/cmdline 2>/dev/null; true", "");
}

EACH(a_timeout_ends_the_tree_and_keeps_the_output)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command command = {
        .script =
            "echo before; echo bad >&2; setsid sleep 1234 & (setsid sleep 1234 &) ; sleep 1234",
        .timeout_ms = 400,
    };
    autoresult struct envd_result result = {0};
    struct err err = {0};

    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect(result.timed_out);
    cr_expect_str_eq(str_c(&result.out), "before\n");
    cr_expect_str_eq(str_c(&result.err), "bad\n");
    cr_expect_neq(result.exit_code, 0);
    expect_no_sleepers(envd);
    end_all(provider);
}

EACH(a_timeout_with_grace_lets_it_say_goodbye)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command command = {
        .script = "trap 'echo goodbye; exit 5' TERM; echo up; while :; do sleep 0.05; done",
        .timeout_ms = 400,
        .grace_ms = 20000,
    };
    autoresult struct envd_result result = {0};
    struct err err = {0};

    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect(result.timed_out);
    cr_expect_str_eq(str_c(&result.out), "up\ngoodbye\n");
    cr_expect_eq(result.exit_code, 5);
    end_all(provider);
}

struct stopper {
    atomic_bool cancel;
    struct str seen;
};

static int stop_at_output(void *user, enum envd_stream stream, const void *bytes, size_t len)
{
    struct stopper *stopper = user;

    cr_expect_eq(stream, ENVD_STDOUT);
    str_addn(&stopper->seen, bytes, len);
    atomic_store(&stopper->cancel, true);
    return 0;
}

EACH(a_cancel_ends_the_tree_and_keeps_the_output)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct stopper stopper = {0};
    struct envd_command command = {
        .script = "echo started; setsid sleep 1234 & sleep 1234",
        .on_output = stop_at_output,
        .user = &stopper,
    };
    autoresult struct envd_result result = {0};
    struct err err = {0};

    int rc = envd_exec(envd, &command, &stopper.cancel, &result, &err);
    cr_assert_eq(rc, ENVD_CANCELLED, "%d %s", rc, err.text);
    cr_expect_str_eq(str_c(&result.out), "started\n");
    cr_expect_str_eq(str_c(&stopper.seen), "started\n");
    cr_expect_not(result.timed_out);
    str_free(&stopper.seen);
    expect_no_sleepers(envd);
    end_all(provider);
}

static int count_bytes(void *user, enum envd_stream stream, const void *bytes, size_t len)
{
    (void)bytes;
    ((uint64_t *)user)[stream] += len;
    return 0;
}

EACH(the_capture_keeps_head_and_tail)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    uint64_t bytes[2] = {0};
    struct envd_command command = {
        .script = "seq 1 400000; echo done >&2; exit 7",
        .capture_bytes = 2000,
        .on_output = count_bytes,
        .user = bytes,
        .timeout_ms = 60000,
    };
    autoresult struct envd_result result = {0};
    struct err err = {0};

    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_eq(result.exit_code, 7, "the cap changed the exit code");
    cr_expect(result.out_cut);
    cr_expect_not(result.err_cut);
    cr_expect_eq(result.out_bytes, 2688895);
    cr_expect_eq(bytes[ENVD_STDOUT], 2688895);
    cr_expect(str_starts(str_c(&result.out), "1\n2\n3\n"));
    cr_expect(str_ends(str_c(&result.out), "399999\n400000\n"));
    cr_expect_not_null(strstr(str_c(&result.out), "[... 2686895 bytes left out ...]"));
    end_all(provider);
}

/* --- processes -------------------------------------------------------------------------------- */

EACH(a_process_is_found_fed_and_followed)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const argv[] = {"cat", NULL};
    struct envd_command command = {.argv = argv};
    autoprocesslist struct envd_process_list list = {0};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    int64_t pid = 0;

    cr_assert_eq(envd_start(envd, &command, "my-cat", true, &pid, &err), 0, "%s", err.text);
    autoenvd struct envd *other = envd_open(&sandbox->target); /* as another process would */
    cr_assert_eq(envd_process_list(other, &list, &err), 0, "%s", err.text);
    cr_assert_eq(list.count, 1);
    cr_expect_eq(list.items[0].pid, pid);
    cr_expect_str_eq(list.items[0].tag, "my-cat");
    cr_expect_str_eq(list.items[0].cmd, "cat");
    cr_assert_eq(envd_send_input(other, pid, "hello\n", 6, &err), 0, "%s", err.text);
    cr_assert_eq(envd_close_stdin(other, pid, &err), 0, "%s", err.text);
    struct envd_command follow = {.timeout_ms = 30000};
    int rc = envd_connect(other, pid, &follow, NULL, &result, &err);
    cr_assert_eq(rc, 0, "%d %s", rc, err.text);
    cr_expect_eq(result.exit_code, 0);
    cr_expect_str_eq(str_c(&result.out), "hello\n");
    cr_expect_eq(envd_signal(other, 4000000, SIGKILL, &err), ENVD_ABSENT);
    end_all(provider);
}

EACH(leaving_a_process_does_not_end_it)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    const char *const argv[] = {"sleep", "1234", NULL};
    struct envd_command command = {.argv = argv};
    struct envd_command follow = {.timeout_ms = 200};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    int64_t pid = 0;

    cr_assert_eq(envd_start(envd, &command, NULL, false, &pid, &err), 0, "%s", err.text);
    cr_assert_eq(envd_connect(envd, pid, &follow, NULL, &result, &err), 0, "%s", err.text);
    cr_expect(result.timed_out);
    cr_expect_eq(result.exit_code, -1);
    autoenvd struct envd *other = envd_open(&sandbox->target);
    autoprocesslist struct envd_process_list list = {0};
    cr_assert_eq(envd_process_list(other, &list, &err), 0, "%s", err.text);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(envd_signal(other, pid, SIGKILL, &err), 0, "%s", err.text);
    for (int i = 0; i < 500 && list.count > 0; i++) {
        envd_process_list_free(&list);
        clock_sleep_ms(10);
        cr_assert_eq(envd_process_list(other, &list, &err), 0, "%s", err.text);
    }
    cr_expect_eq(list.count, 0);
    expect_no_sleepers(other);
    end_all(provider);
}
