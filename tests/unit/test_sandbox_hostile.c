/*
 * test_sandbox_hostile.c - what every sandbox provider must keep inside, and its limits.
 *
 * Run once per row of sandbox_providers.h, then some for the local provider alone.
 */
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "sandbox/local_record.h"
#include "sandbox/proctree.h"
#include "sandbox_providers.h"

TestSuite(contract, .timeout = 120);

/* --- limits ----------------------------------------------------------------------------------- */

EACH(a_fork_bomb_meets_its_limit)
{
    struct provider *provider = the_provider(row);
    struct sandbox_spec spec = {.limits = {.processes = 60}};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command bomb = {
        .script = "i=0; while [ $i -lt 500 ]; do sleep 1234 & i=$((i+1)); done; wait",
        .timeout_ms = 1500,
    };
    autoresult struct envd_result result = {0};
    struct err err = {0};

    cr_assert_not_null(sandbox->enforced.processes);
    cr_assert_eq(envd_exec(envd, &bomb, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_not_null(strstr(str_c(&result.err), "fork"), "%s", str_c(&result.err));
    struct sandbox_usage usage = {0};
    if (provider->ops->usage) {
        cr_assert_eq(provider->ops->usage(provider, sandbox->id, &usage, &err), 0, "%s", err.text);
        cr_expect_leq(usage.processes, 60);
        if (str_eq(sandbox->enforced.processes, "cgroup")) {
            cr_expect_gt(usage.process_hits, 0);
        }
    }
    autoenvd struct envd *after = envd_open(&sandbox->target);
    expect_output(after, "echo recovered", "recovered\n");
    end_all(provider);
}

EACH(a_memory_hog_is_killed_alone)
{
    struct provider *provider = the_provider(row);
    struct sandbox_spec spec = {.limits = {.memory_bytes = 128 << 20}};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command hog = {
        .script = "echo hungry; head -c 2000m /dev/zero | tail -c 1500m | wc -c; echo done",
        .timeout_ms = 60000,
    };
    autoresult struct envd_result result = {0};
    struct sandbox_usage usage = {0};
    struct err err = {0};

    cr_assert_not_null(sandbox->enforced.memory);
    cr_assert_eq(envd_exec(envd, &hog, NULL, &result, &err), 0, "%s", err.text);
    cr_expect(str_starts(str_c(&result.out), "hungry\n"));
    cr_expect_null(strstr(str_c(&result.out), "1572864000"), "it got all the memory it wanted");
    expect_output(envd, "echo still here", "still here\n");
    if (provider->ops->usage) {
        for (int i = 0; i < 200 && usage.memory_hits < 1; i++) {
            clock_sleep_ms(10);
            cr_assert_eq(provider->ops->usage(provider, sandbox->id, &usage, &err), 0);
        }
        cr_expect_gt(usage.memory_hits, 0, "nobody tells why it died");
    }
    end_all(provider);
}

EACH(a_disk_filler_is_stopped)
{
    struct provider *provider = the_provider(row);
    struct sandbox_spec spec = {.limits = {.disk_bytes = 64 << 20}};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command filler = {
        .script = "i=0; mkdir -p d/e; chmod 0 d/e; while [ $i -lt 4000 ]; do "
                  "head -c 4m /dev/zero >/workspace/f$i || exit 3; i=$((i+1)); sleep 0.02; done",
        .dir = "/workspace",
        .timeout_ms = 60000,
    };
    struct envd_command one_file = {.script = "head -c 200m /dev/zero >/tmp/one",
                                    .timeout_ms = 60000};
    autoresult struct envd_result result = {0};
    autoresult struct envd_result second = {0};
    struct sandbox_usage usage = {0};
    struct err err = {0};

    cr_assert_not_null(sandbox->enforced.disk);
    cr_assert_eq(envd_exec(envd, &filler, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_neq(result.exit_code, 0);
    cr_expect_not(result.timed_out);
    if (provider->ops->usage) {
        for (int i = 0; i < 200 && usage.disk_hits < 1; i++) {
            clock_sleep_ms(10);
            cr_assert_eq(provider->ops->usage(provider, sandbox->id, &usage, &err), 0);
        }
        cr_expect_gt(usage.disk_hits, 0);
        cr_expect_lt(usage.disk_bytes, 1024LL << 20);
    }
    cr_assert_eq(envd_remove(envd, "/workspace/d", &err), 0, "%s", err.text);
    for (int i = 0; i < 200; i++) {
        autofree char *path = mem_printf("/workspace/f%d", i);
        cr_assert_eq(envd_remove(envd, path, &err), 0, "%s", err.text);
    }
    cr_assert_eq(envd_exec(envd, &one_file, NULL, &second, &err), 0, "%s", err.text);
    cr_expect_neq(second.exit_code, 0, "one file grew beyond the limit");
    end_all(provider);
}

EACH(a_busy_loop_gets_its_share_only)
{
    struct provider *provider = the_provider(row);
    struct sandbox_spec spec = {.limits = {.cpu_milli = 300, .best_effort = true}};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);

    cr_assert_not_null(sandbox->enforced.cpu);
    if (str_eq(sandbox->enforced.cpu, "none")) {
        struct sandbox_spec strict = {.limits = {.cpu_milli = 300}};
        struct sandbox *refused = NULL;
        struct err err = {0};
        cr_expect_eq(provider->ops->create(provider, &strict, NULL, &refused, &err), -1);
        cr_expect_str_eq(err.name, "LimitNotEnforceable");
        end_all(provider);
        cr_skip_test("skip: no cpu control group may be made here; the refusal was tested");
    }
    /* Two loops at once for one second of wall time: at most about 0.3 s of processor time. */
    autoresult struct envd_result result =
        run_script(envd, "t() { timeout 1 sh -c 'while :; do :; done'; }; t & t & wait; "
                         "awk '{ print ($16 + $17) }' /proc/$$/stat");
    long ticks = strtol(str_c(&result.out), NULL, 10);
    cr_expect_gt(ticks, 0, "%s", str_c(&result.err));
    cr_expect_lt(ticks, 100, "%ld ticks", ticks);
    end_all(provider);
}

/* --- what must not get out ---------------------------------------------------------------------
 */

EACH(the_system_is_read_only_and_the_host_invisible)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);

    expect_output(envd,
                  "for d in /usr /usr/bin /bin /etc /lib / /dev /proc/sys/kernel /run /var; do "
                  "touch $d/evil 2>/dev/null && echo $d; done; true",
                  "");
    expect_output(envd, "id -u; id -un; whoami", "1000\nuser\nuser\n");
    expect_output(envd,
                  "ls -A /root /run/docker.sock /run/systemd /run/dbus /sys /boot /mnt /media "
                  "/etc/shadow /etc/ssh 2>/dev/null; true",
                  "");
    expect_output(envd, "ls -A /home", "user\n");
    expect_output(
        envd,
        "grep -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t' ' '",
        "CapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\n"
        "NoNewPrivs: 1\nSeccomp: 2\n");
    expect_output(envd, "ls /proc/self/fd | wc -l", "4\n"); /* 0, 1, 2 and the directory */
    expect_output(envd, "echo x >/proc/sys/kernel/core_pattern 2>/dev/null || echo no", "no\n");
    expect_output(envd, "unshare -U true 2>/dev/null || echo no", "no\n");
    expect_output(envd, "mount -t tmpfs x /tmp 2>/dev/null || echo no", "no\n");
    expect_output(envd, "hostname; cat /proc/1/comm", "sandbox\nbwrap\n");
    expect_output(envd, "tr '\\0' ' ' </proc/1/cmdline | grep -c sandboxes; true", "0\n");
    end_all(provider);
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    str_copy(address.sun_path, sizeof(address.sun_path), path);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, 5), 0);
    return fd;
}

static int listen_tcp(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, 5), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

EACH(the_hosts_sockets_are_out_of_reach)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    int port = 0;
    autoclose int in_tmp = listen_unix(tmpdir_file("s"));
    autoclose int tcp = listen_tcp(&port);

    if (access("/usr/bin/python3", X_OK)) {
        cr_skip_test("skip: install python3");
    }
    cr_assert_eq(chmod(tmpdir(), 0755) | chmod(tmpdir_file("s"), 0777), 0);
    autofree char *script =
        mem_printf("python3 - <<'END'\n"
                   "import socket\n"
                   "def t(name, family, address):\n"
                   "    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(3)\n"
                   "    try: s.connect(address); print(name, 'REACHED')\n"
                   "    except OSError: print(name, 'no')\n"
                   "t('file', socket.AF_UNIX, '%s')\n"
                   "t('own', socket.AF_UNIX, '%s')\n"
                   "t('tcp', socket.AF_INET, ('127.0.0.1', %d))\n"
                   "t('net', socket.AF_INET, ('192.0.2.1', 80))\n"
                   "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1)\n"
                   "t('loopback', socket.AF_INET, l.getsockname())\n"
                   "END\n",
                   tmpdir_file("s"), sandbox->target.unix_socket, port);
    expect_output(envd, script, "file no\nown no\ntcp no\nnet no\nloopback REACHED\n");
    end_all(provider);
}

EACH(killing_what_can_be_seen_ends_the_sandbox_only)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    struct envd_command command = {
        .script = "setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 0.01; done' & "
                  "kill -9 -1; kill -9 1; sleep 5; echo survived",
        .timeout_ms = 30000};
    struct envd_result result = {0};
    struct sandbox *again = NULL;
    struct err err = {0};

    int rc = envd_exec(envd, &command, NULL, &result, &err);
    cr_expect(rc < 0 || result.exit_code != 0);
    cr_expect(rc >= 0 || err.kind == ERR_AMBIGUOUS, "%s", err.text);
    envd_result_free(&result);
    for (int i = 0; i < 500; i++) {
        rc = provider->ops->reattach(provider, sandbox->id, NULL, &again, &err);
        again = sandbox_free(again);
        if (rc) {
            break;
        }
        clock_sleep_ms(10);
    }
    cr_expect_eq(rc, PROVIDER_DEAD);
    autosandboxlist struct sandbox_list list = {0};
    cr_assert_eq(provider->ops->list(provider, &list, &err), 0);
    cr_assert_eq(list.count, 1);
    cr_expect_eq(list.items[0].state, SANDBOX_DEAD);
    end_all(provider);
}

EACH(hostile_leftovers_are_removed)
{
    struct provider *provider = the_provider(row);
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);

    expect_output(
        envd,
        "cd /workspace; mkdir -p locked/in/side; touch locked/in/f; chmod 0 locked/in/side "
        "locked/in locked; ln -s / root; ln -s /etc etc; mkfifo pipe; "
        "i=0; while [ $i -lt 600 ]; do mkdir d && cd d || break; i=$((i+1)); done; echo ok",
        "ok\n");
    end_all(provider);
    autofree char *top = fs_join(tmpdir(), "sandboxes");
    cr_expect(!fs_is_dir(top) || rmdir(top) == 0, "something is left in %s", top);
}

/* --- refusals --------------------------------------------------------------------------------- */

EACH(a_policy_that_cannot_be_enforced_is_refused)
{
    struct provider *provider = the_provider(row);
    const char *const hosts[] = {"example.org", NULL};
    const struct sandbox_egress policies[] = {
        {.policy = "restricted", .allow_internet = true, .allow_out = hosts},
        {.policy = "restricted", .deny_out = hosts},
        {.policy = "open", .allow_internet = true},
    };

    if (provider->ops->capabilities(provider) & PROVIDER_CAN_UPDATE_NETWORK) {
        cr_skip_test("skip: %s enforces egress policies", provider->ops->name);
    }
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        struct sandbox_spec spec = {.egress = policies[i]};
        struct sandbox *sandbox = NULL;
        struct err err = {0};
        cr_expect_eq(provider->ops->create(provider, &spec, NULL, &sandbox, &err), -1);
        cr_expect_str_eq(err.name, "PolicyNotEnforceable");
        cr_expect_eq(err.kind, ERR_PERMANENT);
        cr_expect_not_null(strstr(err.text, "nothing was started"));
        cr_expect_not_null(strstr(err.text, policies[i].policy));
    }
    end_all(provider);
}

Test(contract, local_a_missing_bubblewrap_is_named)
{
    struct local_change change = {.bwrap = "no-such-bwrap"};
    struct provider *provider = make_local(tmpdir(), &change);
    struct sandbox_spec spec = {0};
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    cr_expect_eq(provider->ops->ping(provider, NULL, &err), -1);
    cr_expect_eq(err.kind, ERR_PERMANENT);
    cr_expect_not_null(strstr(err.text, "bubblewrap"), "%s", err.text);
    cr_expect_eq(provider->ops->create(provider, &spec, NULL, &sandbox, &err), -1);
    cr_expect_not_null(strstr(err.text, "apt install bubblewrap"), "%s", err.text);
    end_all(provider);
}

Test(contract, local_forbidden_namespaces_are_told)
{
    struct local_change change = {.bwrap = "/bin/false"};
    struct provider *provider = make_local(tmpdir(), &change);
    struct sandbox_spec spec = {0};
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    cr_expect_eq(provider->ops->ping(provider, NULL, &err), -1);
    cr_expect_str_eq(err.name, "NamespacesForbidden", "%s", err.text);
    cr_expect_not_null(strstr(err.text, "max_user_namespaces"), "%s", err.text);
    cr_expect_eq(provider->ops->create(provider, &spec, NULL, &sandbox, &err), -1);
    cr_expect_str_eq(err.name, "NamespacesForbidden", "%s", err.text);
    end_all(provider);
}

Test(contract, local_only_declared_places_are_bound)
{
    static const char *sources[2];
    sources[0] = tmpdir_file("declared");
    struct local_change change = {.bind_sources = sources};
    struct err err = {0};

    cr_assert_eq(fs_mkdirs(sources[0], 0755, NULL), 0);
    cr_assert_eq(
        fs_write_file(tmpdir_file("declared/tool"), "#!/bin/sh\necho tool\n", 20, 0755, NULL), 0);
    cr_assert_eq(symlink("/etc", tmpdir_file("declared/link")), 0);
    struct provider *provider = usable(make_local(tmpdir_file("data"), &change));
    const struct sandbox_bind good = {tmpdir_file("declared/tool"), "/opt/agents/tool"};
    const struct sandbox_bind bad[] = {
        {tmpdir_file("declared/link"), "/opt/x"},
        {"/etc", "/opt/x"},
        {tmpdir_file("declared/none"), "/opt/x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sandbox_spec spec = {.binds = &bad[i], .bind_count = 1};
        struct sandbox *sandbox = NULL;
        cr_expect_eq(provider->ops->create(provider, &spec, NULL, &sandbox, &err), -1, "%zu", i);
        cr_expect_eq(err.kind, ERR_PERMANENT, "%s", err.text);
    }
    struct sandbox_spec spec = {.binds = &good, .bind_count = 1};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    expect_output(envd, "/opt/agents/tool; echo x 2>/dev/null >>/opt/agents/tool || echo no",
                  "tool\nno\n");
    end_all(provider);
}

Test(contract, local_the_network_opens_only_with_permission)
{
    struct local_change change = {.allow_share_net = true};
    struct provider *provider = usable(make_local(tmpdir(), &change));
    struct sandbox_spec spec = {.egress = {.allow_internet = true}};
    autosandbox struct sandbox *sandbox = make_sandbox(provider, &spec);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    int port = 0;
    autoclose int tcp = listen_tcp(&port);

    cr_expect_str_eq(sandbox->enforced.network, "open");
    autofree char *script = mem_printf("exec 3<>/dev/tcp/127.0.0.1/%d && echo reached", port);
    const char *const argv[] = {"bash", "-c", script, NULL};
    struct envd_command command = {.argv = argv, .timeout_ms = 30000};
    autoresult struct envd_result result = {0};
    struct err err = {0};
    cr_assert_eq(envd_exec(envd, &command, NULL, &result, &err), 0, "%s", err.text);
    cr_expect_str_eq(str_c(&result.out), "reached\n", "%s", str_c(&result.err));
    end_all(provider);
}

Test(contract, local_the_supervisors_death_ends_everything)
{
    struct provider *provider = usable(make_local(tmpdir(), NULL));
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    autofree char *dir = mem_printf("%s/sandboxes/%s", tmpdir(), sandbox->id);
    struct envd_command command = {.script = "setsid sleep 1234 & sleep 1234"};
    struct local_ident supervisor = {0};
    autoproctree struct proctree tree = {0};
    struct sandbox *again = NULL;
    struct err err = {0};
    int64_t pid = 0;

    cr_assert_eq(envd_start(envd, &command, NULL, false, &pid, &err), 0, "%s", err.text);
    cr_assert(local_ident_read(dir, &supervisor));
    proctree_below(supervisor.pid, &tree);
    cr_assert_geq(tree.count, 5);
    proctree_signal(supervisor.pid, supervisor.ticks, SIGKILL);
    for (size_t i = 0; i < tree.count; i++) {
        for (int tries = 0; tries < 1000; tries++) {
            if (!proctree_alive(tree.items[i].pid, tree.items[i].ticks, NULL)) {
                break;
            }
            clock_sleep_ms(5);
        }
        cr_expect_not(proctree_alive(tree.items[i].pid, tree.items[i].ticks, NULL),
                      "process %d at depth %d lives on", (int)tree.items[i].pid,
                      tree.items[i].depth);
    }
    cr_expect_eq(provider->ops->reattach(provider, sandbox->id, NULL, &again, &err), PROVIDER_DEAD);
    end_all(provider);
}

Test(contract, local_a_damaged_record_is_listed_and_removed)
{
    struct provider *provider = usable(make_local(tmpdir(), NULL));
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autofree char *record = mem_printf("%s/sandboxes/%s/sandbox.json", tmpdir(), sandbox->id);
    autosandboxlist struct sandbox_list list = {0};

    cr_assert_eq(fs_write_file(record, "{\"id\":", 6, 0644, NULL), 0);
    cr_assert_eq(provider->ops->list(provider, &list, NULL), 0);
    cr_assert_eq(list.count, 1);
    cr_expect_eq(list.items[0].state, SANDBOX_DEAD);
    end_all(provider);
    autoenvd struct envd *envd = envd_open(&sandbox->target);
    cr_expect_lt(envd_health(envd, 2000, NULL), 0, "its processes live on");
    cr_expect_not(fs_exists(sandbox->target.unix_socket));
    autoarena struct arena *arena = arena_new();
    struct cgroup_set groups;
    cgroup_plan(arena, arena_printf(arena, LOCAL_CGROUP, sandbox->id), &groups);
    for (int r = 0; r < CGROUP_COUNT; r++) {
        cr_expect(!groups.dir[r][0] || !fs_is_dir(groups.dir[r]), "%s is left", groups.dir[r]);
    }
}

Test(contract, local_the_daemon_cannot_be_looked_into_from_inside)
{
    struct provider *provider = usable(make_local(tmpdir(), NULL));
    autosandbox struct sandbox *sandbox = make_sandbox(provider, NULL);
    autoenvd struct envd *envd = envd_open(&sandbox->target);

    /* Our own shell can be read: the loop finds something, so it can also find what it must not. */
    expect_output(envd,
                  "for p in /proc/[0-9]*; do\n"
                  "  comm=$(cat $p/comm 2>/dev/null) || continue\n"
                  "  { cat $p/environ >/dev/null; } 2>/dev/null && r=open || r=closed\n"
                  "  case $comm in guest-tree) echo supervisor $r ;; sh) echo shell $r ;; esac\n"
                  "done | sort -u\n",
                  "shell open\nsupervisor closed\n");
    end_all(provider);
}
