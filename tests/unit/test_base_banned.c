/*
 * test_base_banned.c - base/banned.h stops the compiler at every banned call, names what to use,
 * and leaves everything else alone. Runs the compiler that built the tree.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "tmpdir.h"

static struct err err;

/* Compile one file with banned.h in front. Returns the compiler's exit code. */
static int compile(const char *source, struct proc_result *ret)
{
    const char *path = tmpdir_file("x.c");
    cr_assert_eq(fs_write_file(path, source, strlen(source), 0600, &err), 0, "%s", err.text);
    autostr struct str script = {0};
    str_addf(&script,
             "%s -std=gnu17 -D_GNU_SOURCE -O1 -Wall -Werror -fsyntax-only -include '%s' '%s'",
             TEST_CC, TEST_BANNED_H, path);
    const char *const argv[] = {"sh", "-c", script.ptr, NULL};
    struct proc_spec spec = {.argv = argv};
    cr_assert_eq(proc_run(&spec, NULL, 0, 1 << 20, 60000, ret, &err), 0, "%s", err.text);
    return ret->exit_code;
}

TestSuite(banned, .timeout = 120);

Test(banned, ordinary_code_compiles_whatever_it_includes)
{
    autoproc struct proc_result r = {0};
    cr_assert_eq(compile("#include <time.h>\n#include <stdio.h>\n#include <string.h>\n"
                         "#include <sys/time.h>\n#include <signal.h>\n#include <pthread.h>\n"
                         "#include <sys/socket.h>\n#include <netdb.h>\n#include <math.h>\n"
                         "struct s { int time, system; int (*sleep)(int); };\n"
                         "int f(struct s *s, int rand); int f(struct s *s, int rand)\n"
                         "{ char b[9]; struct tm t; time_t now = 0; gmtime_r(&now, &t);\n"
                         "  snprintf(b, sizeof(b), \"%d\", rand);\n"
                         "  return s->time + (s->sleep)(1) + (int)strlen(b) + s->system; }\n",
                         &r),
                 0, "%s", str_c(&r.err));
}

Test(banned, every_banned_call_is_refused_with_its_replacement)
{
    static const char *const calls[][2] = {
        {"sprintf(b, \"x\")", "sprintf is banned: use str_addf()"},
        {"strcpy(b, \"x\")", "strcpy is banned: use str_copy()"},
        {"strcat(b, \"x\")", "strcat is banned: use str_add()"},
        {"strtok(b, \"x\")", "strtok is banned: use"},
        {"atoi(b)", "atoi is banned: use strtol()"},
        {"time(NULL)", "time is banned: use clock_wall_ns()"},
        {"gmtime(&t)", "gmtime is banned: use time_split()"},
        {"localtime(&t)", "localtime is banned: use time_split()"},
        {"sleep(1)", "sleep is banned: use clock_sleep_ms()"},
        {"rand()", "rand is banned: use rng_u64()"},
        {"system(b)", "system is banned: use proc_run()"},
        {"popen(b, \"r\")", "popen is banned: use proc_run()"},
        {"strerror(1)", "strerror is banned: use err_sys()"},
    };
    autostr struct str source = {0};
    autoproc struct proc_result r = {0};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        str_addf(&source,
                 "void f%zu(char *b, time_t t);\nvoid f%zu(char *b, time_t t)\n"
                 "{ (void)b; (void)t; (void)%s; }\n",
                 i, i, calls[i][0]);
    }
    cr_assert_neq(compile(source.ptr, &r), 0);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        cr_expect_not_null(strstr(str_c(&r.err), calls[i][1]), "%s", calls[i][0]);
    }
}
