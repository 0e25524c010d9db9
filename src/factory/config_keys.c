/*
 * config_keys.c - see config_keys.h. Owns the table and nothing else.
 * Tests: tests/unit/test_factory_config.c
 */
#include "factory/config_keys.h"

#include "factory/config.h"

#define DAY_MS (24LL * 3600 * 1000)

#define AT(member) OWNER_CONFIG, offsetof(struct config, member)
#define IN_HARNESS(member) OWNER_HARNESS, offsetof(struct harness_config, member)
#define IN_PROFILE(member) OWNER_PROFILE, offsetof(struct profile_config, member)
#define IN_GATE(member) OWNER_GATE, offsetof(struct gate_config, member)

#define ROW(section, key, type, place, min, max, words, help)                                      \
    ROW_(section, key, type, place, min, max, words, help)
#define ROW_(section, key, type, owner, offset, min, max, words, help)                             \
    {section, key, owner, type, offset, min, max, words, help},

/* clang-format off */
const struct config_key config_keys[] = {
    ROW("engine", "kind", CONFIG_WORD, AT(engine_kind), 0, 0, "sqlite|temporal",
        "where runs are journaled: a file below data_dir, or a Temporal server")
    ROW("engine", "idle_exit", CONFIG_DUR, AT(idle_exit_ms), 100, DAY_MS, NULL,
        "a self-started engine leaves after so long with nothing open")
    ROW("engine", "keep_runs", CONFIG_DUR, AT(keep_runs_ms), 0, 36500 * DAY_MS, NULL,
        "sqlite: how long closed runs stay in the store; 0s: for ever")
    ROW("engine", "keep_runs_max", CONFIG_INT, AT(keep_runs_max), 0, 1000000000, NULL,
        "sqlite: how many of them stay, the newest; 0: all")
    ROW("engine", "payload_keyring", CONFIG_STR, AT(payload_keyring), 0, 0, NULL,
        "file of keys: what runs are given and give is sealed with them")
    ROW("engine", "host_port", CONFIG_STR, AT(host_port), 0, 0, NULL,
        "temporal: where its server listens, HOST:PORT")
    ROW("engine", "namespace", CONFIG_STR, AT(name_space), 0, 0, NULL,
        "temporal: the server's namespace; it must exist")
    ROW("engine", "task_queue", CONFIG_STR, AT(task_queue), 0, 0, NULL,
        "temporal: what the names of this factory's task queues begin with")
    ROW("engine", "identity_prefix", CONFIG_STR, AT(identity_prefix), 0, 0, NULL,
        "temporal: what a worker's name begins with; @HOST:PID follows")
    ROW("engine", "tls", CONFIG_BOOL, AT(tls), 0, 0, NULL,
        "temporal: needed for every host but this one")
    ROW("engine", "server_name", CONFIG_STR, AT(server_name), 0, 0, NULL,
        "temporal: the name that the server's certificate must show; empty: host_port's")
    ROW("engine", "ca_file", CONFIG_STR, AT(ca_file), 0, 0, NULL,
        "temporal: PEM file of who signs the server's certificate; empty: the system's")
    ROW("engine", "cert_file", CONFIG_STR, AT(cert_file), 0, 0, NULL,
        "temporal: PEM file of this host's own certificate")
    ROW("engine", "key_file", CONFIG_STR, AT(key_file), 0, 0, NULL,
        "temporal: PEM file of that certificate's private key")
    ROW("engine", "api_key_env", CONFIG_STR, AT(api_key_env), 0, 0, NULL,
        "temporal: environment variable with the server's API key")

    ROW("storage", "data_dir", CONFIG_STR, AT(data_dir), 0, 0, NULL,
        "database, evidence and sandboxes; relative to the file's own directory")
    ROW("storage", "min_free_mib", CONFIG_INT, AT(min_free_mib), 0, 1 << 24, NULL,
        "new runs are refused below this much free disk")
    ROW("storage", "max_db_mib", CONFIG_INT, AT(max_db_mib), 0, 1 << 24, NULL,
        "new runs are refused when the database is larger; 0: no limit")
    ROW("storage", "reserve_mib", CONFIG_INT, AT(reserve_mib), 0, 1 << 16, NULL,
        "disk kept aside so that running runs can finish on a full disk")

    ROW("limits", "agent_timeout", CONFIG_DUR, AT(agent_timeout_ms), 1, 30 * DAY_MS, NULL,
        "one agent's run")
    ROW("limits", "verification_timeout", CONFIG_DUR, AT(verification_timeout_ms), 1,
        30 * DAY_MS, NULL,
        "all gates together")
    ROW("limits", "total_timeout", CONFIG_DUR, AT(total_timeout_ms), 1, 30 * DAY_MS, NULL,
        "the whole run without cleanup")
    ROW("limits", "sandbox_idle_timeout", CONFIG_DUR, AT(sandbox_idle_timeout_ms), 1000,
        30 * DAY_MS, NULL,
        "a sandbox that nobody talks to ends itself")
    ROW("limits", "worker_stop_timeout", CONFIG_DUR, AT(worker_stop_timeout_ms), 1, DAY_MS, NULL,
        "when a stopping engine says which steps have not come back")
    ROW("limits", "command_output_bytes", CONFIG_INT, AT(command_output_bytes), 2048, 1LL << 30,
        NULL,
        "captured output of one command, head and tail; its exit status is never touched")
    ROW("limits", "artifact_bytes", CONFIG_INT, AT(artifact_bytes), 2048, 1LL << 30, NULL,
        "largest evidence file")
    ROW("limits", "worker_concurrency", CONFIG_INT, AT(worker_concurrency), 1, 256, NULL,
        "agents at once")
    ROW("limits", "cpu_milli", CONFIG_INT, AT(cpu_milli), 0, 1 << 20, NULL,
        "processor share of a sandbox, 1000 = one processor; 0: no limit")
    ROW("limits", "memory_mib", CONFIG_INT, AT(memory_mib), 0, 1 << 24, NULL,
        "memory of a sandbox; 0: no limit")
    ROW("limits", "disk_mib", CONFIG_INT, AT(disk_mib), 0, 1 << 24, NULL,
        "what a sandbox may write; 0: no limit")
    ROW("limits", "processes", CONFIG_INT, AT(processes), 0, 1 << 22, NULL,
        "processes and threads of a sandbox; 0: no limit")

    ROW("sandbox", "provider", CONFIG_WORD, AT(provider), 0, 0, "local",
        "who makes sandboxes")
    ROW("sandbox", "base_packages", CONFIG_LIST, AT(base_packages), 0, 0, NULL,
        "Debian packages that must be in every sandbox")
    ROW("sandbox", "setup_script", CONFIG_TEXT, AT(setup_script), 0, 0, NULL,
        "run in every new sandbox before the repository arrives")
    ROW("sandbox", "allow_internet", CONFIG_BOOL, AT(allow_internet), 0, 0, NULL,
        "false: the network is cut")
    ROW("sandbox", "allow_out", CONFIG_LIST, AT(allow_out), 0, 0, NULL,
        "hosts that may be reached; needs a provider that can enforce lists")
    ROW("sandbox", "deny_out", CONFIG_LIST, AT(deny_out), 0, 0, NULL,
        "hosts that may not be reached; needs a provider that can enforce lists")

    ROW("local", "bwrap", CONFIG_STR, AT(bwrap), 0, 0, NULL,
        "bubblewrap's program")
    ROW("local", "run_as", CONFIG_STR, AT(run_as), 0, 0, NULL,
        "as root: the host user that sandboxes run as, never root")
    ROW("local", "binds", CONFIG_MAP, AT(binds), 0, 0, NULL,
        "further host paths visible read-only: {\"/inside\": \"/host\"}")
    ROW("local", "limits_best_effort", CONFIG_BOOL, AT(limits_best_effort), 0, 0, NULL,
        "true: a limit that this machine cannot enforce is left out, and evidence says so")
    ROW("local", "allow_host_network", CONFIG_BOOL, AT(allow_host_network), 0, 0, NULL,
        "true: allow_internet may share the host's network")

    ROW("repositories", "allowed", CONFIG_LIST, AT(allowed), 0, 0, NULL,
        "URL prefixes that runs may name; empty: local paths only")
    ROW("repositories", "ssh_key_file", CONFIG_STR, AT(ssh_key_file), 0, 0, NULL,
        "private key for ssh remotes; empty: ssh-agent")
    ROW("repositories", "ssh_user", CONFIG_STR, AT(ssh_user), 0, 0, NULL,
        "user of ssh remotes; empty: git")
    ROW("repositories", "http_user", CONFIG_STR, AT(http_user), 0, 0, NULL,
        "user of https remotes")
    ROW("repositories", "http_password_env", CONFIG_STR, AT(http_password_env), 0, 0, NULL,
        "environment variable with the password or token of https remotes")
    ROW("repositories", "netrc_file", CONFIG_STR, AT(netrc_file), 0, 0, NULL,
        "netrc file with the credentials of https remotes")
    ROW("repositories", "fetch_timeout", CONFIG_DUR, AT(fetch_timeout_ms), 1000, DAY_MS, NULL,
        "one fetch into the mirror")

    ROW("harnesses.*", "type", CONFIG_WORD, IN_HARNESS(type), 0, 0, "generic",
        "how the agent is driven")
    ROW("harnesses.*", "executable", CONFIG_STR, IN_HARNESS(executable), 0, 0, NULL,
        "the agent's program inside the sandbox")
    ROW("harnesses.*", "args", CONFIG_LIST, IN_HARNESS(args), 0, 0, NULL,
        "its arguments; {{model_args}}, {{model}}, {{prompt_file}}, {{repository_dir}} as whole "
        "words")
    ROW("harnesses.*", "model_flag", CONFIG_STR, IN_HARNESS(model_flag), 0, 0, NULL,
        "option that {{model_args}} puts before the model")
    ROW("harnesses.*", "model", CONFIG_STR, IN_HARNESS(model), 0, 0, NULL,
        "default model")
    ROW("harnesses.*", "timeout", CONFIG_DUR, IN_HARNESS(timeout_ms), 1, 30 * DAY_MS, NULL,
        "this agent's own time limit, at most limits.agent_timeout")
    ROW("harnesses.*", "prompt_mode", CONFIG_WORD, IN_HARNESS(prompt_mode), 0, 0, "stdin_file|argv",
        "how the task reaches the agent")
    ROW("harnesses.*", "binary", CONFIG_STR, IN_HARNESS(binary), 0, 0, NULL,
        "host file pushed to /usr/local/bin inside")
    ROW("harnesses.*", "binary_sha256", CONFIG_STR, IN_HARNESS(binary_sha256), 0, 0, NULL,
        "its SHA-256; another content is refused")
    ROW("harnesses.*", "packages", CONFIG_LIST, IN_HARNESS(packages), 0, 0, NULL,
        "Debian packages that the agent needs")
    ROW("harnesses.*", "pass_env", CONFIG_LIST, IN_HARNESS(pass_env), 0, 0, NULL,
        "host variables that the agent gets; their values are secrets")
    ROW("harnesses.*", "provider_files", CONFIG_MAP, IN_HARNESS(provider_files), 0, 0, NULL,
        "host files copied in: {\"/inside/path\": \"/host/path\"}; their contents are secrets")

    ROW("verification.*", "sandbox", CONFIG_WORD, IN_PROFILE(fresh_sandbox), 0, 0, "agent|fresh",
        "fresh: gates run in a new sandbox on baseline + patch; agent: where the agent worked")
    ROW("verification.*", "protected", CONFIG_LIST, IN_PROFILE(protected), 0, 0, NULL,
        "patterns that the agent may not change; restored from the baseline before the gates")
    ROW("verification.*", "allow_gate_changes", CONFIG_BOOL, IN_PROFILE(allow_gate_changes), 0,
        0, NULL,
        "true: a changed protected path is recorded and does not stop the run")
    ROW("verification.*", "stop_on_failure", CONFIG_BOOL, IN_PROFILE(stop_on_failure), 0, 0, NULL,
        "true: gates behind a failed mandatory one are not started")

    ROW("verification.*.*", "argv", CONFIG_LIST, IN_GATE(argv), 0, 0, NULL,
        "the gate's program and arguments; no shell")
    ROW("verification.*.*", "mandatory", CONFIG_BOOL, IN_GATE(mandatory), 0, 0, NULL,
        "false: advisory, recorded only")
    ROW("verification.*.*", "timeout", CONFIG_DUR, IN_GATE(timeout_ms), 1, 30 * DAY_MS, NULL,
        "this gate's time limit")
    ROW("verification.*.*", "dir", CONFIG_STR, IN_GATE(dir), 0, 0, NULL,
        "directory below the repository")
    ROW("verification.*.*", "description", CONFIG_STR, IN_GATE(description), 0, 0, NULL,
        "for people")
};
/* clang-format on */
const size_t config_key_count = sizeof(config_keys) / sizeof(config_keys[0]);
