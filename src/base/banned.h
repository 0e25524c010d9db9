/*
 * banned.h - calls that have a safer form in base/ do not compile; the message names that form.
 *
 * Owns: the list. Included in front of every C file of the tree by AM_CPPFLAGS, behind config.h, so
 * nobody includes it by hand. The system headers that declare these names come first, untouched;
 * after them each name is a function-like macro, so that members, parameters and words of the same
 * name are still allowed. tests/tidy/banned.sh looks for what a macro cannot see (a call through a
 * pointer, files that are never compiled here).
 * Where base/ itself needs one, it writes the name in parentheses: (name)(arguments).
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#if !defined(__ASSEMBLER__) && !defined(__cplusplus)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* An expression that stops the compiler with this text. */
#define BANNED(text) ((int)sizeof(struct { _Static_assert(0, text); int banned_; }))

#undef sprintf
#undef vsprintf
#undef gets
#undef strcpy
#undef stpcpy
#undef strcat
#undef strncat
#undef strtok
#define sprintf(...) BANNED("sprintf is banned: use str_addf() or snprintf()")
#define vsprintf(...) BANNED("vsprintf is banned: use str_addv() or vsnprintf()")
#define gets(...) BANNED("gets is banned: use fs_read_fd()")
#define strcpy(...) BANNED("strcpy is banned: use str_copy() or mem_strdup()")
#define stpcpy(...) BANNED("stpcpy is banned: use str_add()")
#define strcat(...) BANNED("strcat is banned: use str_add()")
#define strncat(...) BANNED("strncat is banned: use str_addn()")
#define strtok(...) BANNED("strtok is banned: use strcspn() or strsep()")

#undef atoi
#undef atol
#undef atoll
#undef atof
#define atoi(...) BANNED("atoi is banned: use strtol() and look at the end and errno")
#define atol(...) BANNED("atol is banned: use strtol() and look at the end and errno")
#define atoll(...) BANNED("atoll is banned: use strtoll() and look at the end and errno")
#define atof(...) BANNED("atof is banned: use json_double() or strtod()")

#undef time
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#undef sleep
#undef usleep
#define time(...) BANNED("time is banned: use clock_wall_ns()")
#define gmtime(...) BANNED("gmtime is banned: use time_split()")
#define localtime(...) BANNED("localtime is banned: use time_split()")
#define ctime(...) BANNED("ctime is banned: use time_format_rfc3339()")
#define asctime(...) BANNED("asctime is banned: use time_format_rfc3339()")
#define sleep(...) BANNED("sleep is banned: use clock_sleep_ms()")
#define usleep(...) BANNED("usleep is banned: use clock_sleep_ms()")

#undef rand
#undef srand
#undef random
#undef srandom
#define rand(...) BANNED("rand is banned: use rng_u64()")
#define srand(...) BANNED("srand is banned: use rng_replace() in tests")
#define random(...) BANNED("random is banned: use rng_u64()")
#define srandom(...) BANNED("srandom is banned: use rng_replace() in tests")

#undef system
#undef popen
#define system(...) BANNED("system is banned: use proc_run()")
#define popen(...) BANNED("popen is banned: use proc_run()")

#undef strerror
#define strerror(...) BANNED("strerror is banned: use err_sys() or strerrordesc_np()")

#undef tmpnam
#undef tempnam
#undef mktemp
#define tmpnam(...) BANNED("tmpnam is banned: use mkdtemp() or fs_write_file()")
#define tempnam(...) BANNED("tempnam is banned: use mkdtemp() or fs_write_file()")
#define mktemp(...) BANNED("mktemp is banned: use mkdtemp() or fs_write_file()")

#endif
#endif
