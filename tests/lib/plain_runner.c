/*
 * plain_runner.c - runs the Criterion tests of a program under ThreadSanitizer.
 *
 * Owns: a main() and the few functions that Criterion's macros call, in place of the library's own:
 * its workers want memory at addresses that ThreadSanitizer keeps for itself. Each test, and each
 * parameter of one, runs in a forked process that ends with exit(), so that reports count.
 * Must not: differ in what a test may rely on: init, fini, suites, .signal, .exit_code, .timeout,
 * .disabled, parameters. Stricter in one thing: a test that calls exit() without ending fails.
 * Format: TAP in the file named by --tap=FILE (standard output without it), as Criterion writes it.
 * Thread rule: the parent has one thread; asserts may fail on any thread of a test.
 * Tests: tests/tidy/runner.sh.
 */
#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOTE_BYTES 512 /* reason of a skip */

/* The linker collects what Test() and TestSuite() declare between these. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* Of the test that this (child) process runs. */
static const struct criterion_test *current;
static void *current_parameter;
static volatile sig_atomic_t some_assert_failed;
static int result_pipe = -1;

struct outcome {
    char verdict; /* P, F, S as the test said, 0 if it did not come to its end */
    char note[NOTE_BYTES];
    int status; /* of wait() */
    int timed_out;
};

static struct criterion_test_extra_data *suite_data(const char *name)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++) {
        if (strcmp((*s)->name, name) == 0) {
            return (*s)->data;
        }
    }
    return NULL;
}

/* Tells the parent how the test ended. One write, so that threads do not mix. */
static void say(char verdict, const char *note)
{
    char line[NOTE_BYTES + 2];
    int n = snprintf(line, sizeof line, "%c%s", verdict, note);
    size_t bytes = n < (int)sizeof line ? (size_t)n : sizeof line - 1;

    if (write(result_pipe, line, bytes) != (ssize_t)bytes) {
        _exit(125);
    }
}

void criterion_internal_test_setup(void)
{
    const struct criterion_test_extra_data *suite = suite_data(current->category);

    if (suite != NULL && suite->init != NULL) {
        suite->init();
    }
    if (current->data->init != NULL) {
        current->data->init();
    }
}

void criterion_internal_test_main(void (*fn)(void))
{
    if (current->data->kind_ == CR_TEST_PARAMETERIZED) {
        void (*with_parameter)(void *);

        memcpy(&with_parameter, &fn, sizeof fn);
        with_parameter(current_parameter);
    } else {
        fn();
    }
}

void criterion_internal_test_teardown(void)
{
    const struct criterion_test_extra_data *suite = suite_data(current->category);

    if (current->data->fini != NULL) {
        current->data->fini();
    }
    if (suite != NULL && suite->fini != NULL) {
        suite->fini();
    }
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (!stats->passed) {
        fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
    }
}

void cri_asserts_passed_incr(void)
{
}

void criterion_continue_test(void)
{
    some_assert_failed = 1;
}

void criterion_abort_test(void)
{
    say('F', "");
    _exit(1);
}

void criterion_skip_test(const char *format, ...)
{
    char note[NOTE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    say('S', note);
    _exit(0);
}

void criterion_test_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    criterion_abort_test();
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
    static const char *const words[] = {"info", "warning", "error"};
    va_list args;

    fprintf(stderr, "%s: ", words[severity]);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* Waits for the child at most `seconds` (0: for ever), then kills it. */
static void wait_for(pid_t pid, double seconds, struct outcome *ret_outcome)
{
    struct timespec nap = {.tv_nsec = 5000000};
    double waited = 0;
    pid_t got;

    while ((got = waitpid(pid, &ret_outcome->status, seconds > 0 ? WNOHANG : 0)) != pid) {
        if (got < 0 && errno != EINTR) {
            abort();
        }
        if (got == 0 && waited >= seconds && !ret_outcome->timed_out) {
            ret_outcome->timed_out = 1;
            kill(pid, SIGKILL);
        }
        nanosleep(&nap, NULL);
        waited += 0.005;
    }
}

static void run_child(void)
{
    current->test();
    say(some_assert_failed ? 'F' : 'P', "");
    exit(0);
}

static struct outcome run(const struct criterion_test *test, void *parameter, double seconds)
{
    struct outcome outcome = {0};
    char line[NOTE_BYTES + 2] = "";
    int ends[2];
    ssize_t n;
    pid_t pid;

    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        abort();
    }
    pid = fork();
    if (pid < 0) {
        abort();
    }
    if (pid == 0) {
        close(ends[0]);
        result_pipe = ends[1];
        current = test;
        current_parameter = parameter;
        run_child();
    }
    close(ends[1]);
    wait_for(pid, seconds, &outcome);
    /* Does not block: a process that the test left behind may still hold the other end. */
    n = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    outcome.verdict = n > 0 ? line[0] : '\0';
    memcpy(outcome.note, n > 0 ? line + 1 : "", n > 0 ? (size_t)n : 1);
    return outcome;
}

/* NULL when the test passed, else why it did not. */
static const char *fault_of(const struct criterion_test *test, const struct outcome *outcome)
{
    int status = outcome->status;

    if (outcome->timed_out) {
        return "timed out";
    }
    if (test->data->signal != 0) {
        return WIFSIGNALED(status) && WTERMSIG(status) == test->data->signal ? NULL : "no signal";
    }
    if (WIFSIGNALED(status)) {
        return "unexpected signal";
    }
    if (outcome->verdict == 'F') {
        return "an assert failed";
    }
    if (test->data->exit_code != 0) {
        return WEXITSTATUS(status) == test->data->exit_code ? NULL : "wrong exit status";
    }
    if (WEXITSTATUS(status) != 0) {
        return "unexpected exit status";
    }
    return outcome->verdict == '\0' ? "it called exit" : NULL;
}

/* Returns 1 when the case failed. */
static int run_case(FILE *tap, const struct criterion_test *test, void *parameter)
{
    const struct criterion_test_extra_data *suite = suite_data(test->category);
    double seconds = test->data->timeout;
    struct outcome outcome;
    const char *fault;

    if (seconds <= 0 && suite != NULL) {
        seconds = suite->timeout;
    }
    if (test->data->disabled || (suite != NULL && suite->disabled)) {
        fprintf(tap, "ok - %s::%s # SKIP test was skipped\n", test->category, test->name);
        return 0;
    }
    outcome = run(test, parameter, seconds * 10);
    fault = fault_of(test, &outcome);
    if (fault == NULL && outcome.verdict == 'S') {
        fprintf(tap, "ok - %s::%s # SKIP %s\n", test->category, test->name, outcome.note);
    } else if (fault == NULL) {
        fprintf(tap, "ok - %s::%s\n", test->category, test->name);
    } else {
        fprintf(tap, "not ok - %s::%s %s\n", test->category, test->name, fault);
        fprintf(stderr, "FAIL %s::%s %s (wait status %#x)\n", test->category, test->name, fault,
                (unsigned)outcome.status);
    }
    return fault != NULL;
}

int main(int argc, char **argv)
{
    FILE *tap = argc > 1 && strncmp(argv[1], "--tap=", 6) == 0 ? fopen(argv[1] + 6, "we") : stdout;
    unsigned cases = 0, failed = 0;

    if (tap == NULL) {
        fprintf(stderr, "plain_runner: %s: %m\n", argv[1]);
        return 2;
    }
    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        if ((*t)->data->kind_ != CR_TEST_PARAMETERIZED) {
            failed += (unsigned)run_case(tap, *t, NULL);
            cases++;
            continue;
        }
        struct criterion_test_params params = (*t)->data->param_();

        for (size_t i = 0; i < params.length; i++) {
            failed += (unsigned)run_case(tap, *t, (char *)params.params + i * params.size);
            cases++;
        }
        if (params.cleanup != NULL) {
            params.cleanup(&params);
        }
    }
    fprintf(tap, "1..%u\n", cases);
    return fclose(tap) != 0 || failed != 0;
}
