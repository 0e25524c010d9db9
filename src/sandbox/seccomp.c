/*
 * seccomp.c - see seccomp.h.
 *
 * Owns: the list of refused calls. EPERM for what a program may not do, ENOSYS for what it should
 * do without (io_uring: libraries then fall back). Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH 0
#endif

#define X32_BIT 0x40000000u

struct refused {
    unsigned number;
    unsigned error;
};

static const struct refused refused_calls[] = {
    {SYS_add_key, EPERM},
    {SYS_request_key, EPERM},
    {SYS_keyctl, EPERM},
    {SYS_bpf, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_kexec_load, EPERM},
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_io_uring_setup, ENOSYS},
    {SYS_io_uring_enter, ENOSYS},
    {SYS_io_uring_register, ENOSYS},
#ifdef SYS_kexec_file_load
    {SYS_kexec_file_load, EPERM},
#endif
};

static void add(struct str *program, unsigned short code, unsigned char yes, unsigned char no,
                unsigned value)
{
    struct sock_filter line = {.code = code, .jt = yes, .jf = no, .k = value};

    str_addn(program, &line, sizeof(line));
}

static void add_return(struct str *program, unsigned error)
{
    add(program, BPF_RET | BPF_K, 0, 0, error ? SECCOMP_RET_ERRNO | error : SECCOMP_RET_ALLOW);
}

bool seccomp_program(struct str *ret)
{
    if (OUR_ARCH == 0) {
        return false;
    }
    add(ret, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    add(ret, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OUR_ARCH);
    add_return(ret, ENOSYS);
    add(ret, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    add(ret, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
    add_return(ret, ENOSYS);
#endif
    for (size_t i = 0; i < ARRAY_LEN(refused_calls); i++) {
        add(ret, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, refused_calls[i].number);
        add_return(ret, refused_calls[i].error);
    }
    add_return(ret, 0);
    return true;
}
