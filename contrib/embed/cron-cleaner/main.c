/*
 * cron-cleaner - removes what is old from a directory, by a schedule, in an event loop of its own.
 *
 *   cron-cleaner DATABASE DIRECTORY SECONDS CRON [RUNS]
 *
 * Removes files of DIRECTORY that were not changed for so many SECONDS whenever CRON says ("15 3 *
 * * *", "CRON_TZ=Europe/Berlin 0 3 * * mon-fri", "@every 90s"), RUNS times or for ever. The
 * schedule is in the database: it goes on where it was when the program is started again, and makes
 * up for one time that was missed. SIGTERM and SIGINT end the program between two files.
 */
#define _POSIX_C_SOURCE 200809L /* lstat */

#include <dirent.h>
#include <durable.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One pass over the directory. May run again after a crash: what is gone is gone. */
static int clean(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *directory = dur_json_string(act, input, "/directory");
    int64_t seconds = dur_json_int(input, "/seconds", 0);
    int removed = 0, kept = 0;
    struct dirent *entry;
    DIR *dir = opendir(directory);
    (void)user;
    if (!dir) {
        return dur_fail(act, DUR_TRANSIENT, "NoDirectory", "%s cannot be read", directory);
    }
    while ((entry = readdir(dir)) != NULL) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        if (time(NULL) - st.st_mtime >= seconds && unlink(path) == 0) {
            removed++;
        } else {
            kept++;
        }
        if (dur_heartbeat(act, NULL) ==
            DUR_CANCELLED) { /* stopping: the next engine does it anew */
            closedir(dir);
            return DUR_CANCELLED;
        }
    }
    closedir(dir);
    printf("removed %d, kept %d\n", removed, kept);
    fflush(stdout);
    *result = dur_jsonf(act, "{\"removed\":%d,\"kept\":%d}", removed, kept);
    return DUR_OK;
}

static int cleaner(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options options = {0};
    (void)user;
    options.start_to_close_ms = DUR_HOURS;
    options.heartbeat_ms = DUR_MINUTES;
    options.max_attempts = 3;
    return dur_run(ctx, "Clean", input, result, &options);
}

static dur_engine *engine;

static void on_signal(int number)
{
    (void)number;
    dur_stop(engine);
}

static int show_time(void *user, const dur_schedule_time *at)
{
    char text[32];
    time_t seconds = (time_t)(at->nominal_ns / 1000000000 + at->offset_s);
    (void)user;
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime(&seconds));
    printf("next %s %s\n", text, at->abbreviation);
    return 0;
}

static int set_schedule(const char *directory, const char *seconds, const char *cron, int runs)
{
    const char *times[2];
    char input[4096];
    dur_schedule schedule = {0};
    int rc;
    times[0] = cron;
    times[1] = NULL;
    snprintf(input, sizeof(input), "{\"directory\":\"%s\",\"seconds\":%lld}", directory,
             strtoll(seconds, NULL, 10));
    schedule.cron = times;
    schedule.workflow_type = "Cleaner";
    schedule.input = input;
    schedule.overlap = DUR_OVERLAP_SKIP; /* a pass that takes long is not doubled */
    schedule.remaining_actions = runs;
    rc = dur_schedule_preview(engine, "cleaner", &schedule, (int64_t)time(NULL) * 1000000000, 3,
                              show_time, NULL);
    return rc < 0 ? rc : dur_schedule_set(engine, "cleaner", &schedule);
}

/* All starts are made and none is under way? */
static int is_finished(void)
{
    dur_schedule_info *info;
    int64_t started = -1;
    char id[64];
    if (dur_schedule_describe(engine, "cleaner", &info) != DUR_OK) {
        return 1;
    }
    if (info->remaining == 0 && info->waiting == 0) {
        started = 0;
        for (const dur_schedule_action *a = info->actions; a && a->workflow_id; a++) {
            char *result = NULL;
            snprintf(id, sizeof(id), "%s", a->workflow_id);
            started += dur_result(engine, id, 0, &result) == DUR_TIMED_OUT;
            dur_free(result);
        }
    }
    dur_schedule_info_free(info);
    return started == 0;
}

/* The engine is one descriptor among those that the program waits for. */
static int loop(void)
{
    struct pollfd fd = {0};
    int rc = 0;
    fd.fd = dur_fd(engine);
    fd.events = POLLIN;
    if (fd.fd < 0) {
        return fd.fd;
    }
    while (rc >= 0 && !is_finished()) {
        poll(&fd, 1, -1);
        rc = dur_step(engine, 0);
    }
    return rc == DUR_CANCELLED || rc >= 0 ? DUR_OK : rc;
}

int main(int argc, char **argv)
{
    int rc;
    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: %s DATABASE DIRECTORY SECONDS CRON [RUNS]\n", argv[0]);
        return 2;
    }
    rc = dur_open(&engine, argv[1], NULL);
    if (rc == DUR_OK) {
        signal(SIGTERM, on_signal);
        signal(SIGINT, on_signal);
        dur_register_activity(engine, "Clean", clean, NULL);
        dur_register_workflow(engine, "Cleaner", cleaner, NULL);
        rc =
            set_schedule(argv[2], argv[3], argv[4], argc == 6 ? (int)strtol(argv[5], NULL, 10) : 0);
        if (rc == DUR_OK) {
            rc = loop();
        }
    }
    if (rc != DUR_OK) {
        fprintf(stderr, "%s: %s (%s)\n", argv[0], dur_error(engine), dur_code_name(rc));
    }
    dur_close(engine);
    return rc == DUR_OK ? 0 : 1;
}
