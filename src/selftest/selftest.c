/*
 * selftest.c - see selftest.h. Tests: tests/unit/test_selftest_probe.c, tests/cli/t0260-selftest.sh
 */
#include "selftest/selftest.h"

#include "base/mem.h"
#include "selftest/script.h"

#define PROBE_MS 3000
#define SAMPLE_MS 12000

static int run_in(const char *dir, const struct selftest_options *options,
                  struct selftest_report *ret, struct err *err)
{
    static const struct script script = {0};
    struct sweep_subject subject = script_subject(&script);
    struct sweep_options sweep = {.dir = dir,
                                  .faults =
                                      options->power_loss ? SWEEP_ALL_FAULTS : SWEEP_PROCESS_FAULTS,
                                  .limit_ms = options->full           ? 0
                                              : options->limit_ms > 0 ? options->limit_ms
                                                                      : SAMPLE_MS,
                                  .jobs = options->jobs,
                                  .seed = options->seed,
                                  .progress = options->progress,
                                  .progress_user = options->progress_user};
    if (probe_run(dir, PROBE_MS, &ret->probe, err) < 0) {
        return -1;
    }
    if (probe_failed(&ret->probe) ||
        (options->progress && options->progress(options->progress_user, &ret->table))) {
        return 0;
    }
    ret->is_swept = true;
    return sweep_run(&subject, &sweep, &ret->table, err);
}

int selftest_run(const struct selftest_options *options, struct selftest_report *ret,
                 struct err *err)
{
    autofree char *prefix = fs_join(options->dir, "factory-selftest");
    autofree char *dir = NULL;
    *ret = (struct selftest_report){0};
    if (fs_make_temp_dir(prefix, &dir, err) < 0) {
        return -1;
    }
    int rc = run_in(dir, options, ret, err);
    int removed = fs_remove_tree(dir, rc == 0 ? err : NULL);
    return rc < 0 ? rc : removed;
}

bool selftest_passed(const struct selftest_report *report)
{
    return report->is_swept && !report->table.stopped && sweep_sum(&report->table).points > 0 &&
           sweep_harmed(&report->table) == 0 && !probe_failed(&report->probe);
}
