/*
 * seccomp.h - the small system call filter of local sandboxes.
 *
 * Owns: a classic BPF program that refuses what namespaces do not cover: kernel keyrings, bpf,
 * perf, userfaultfd, io_uring, kernel modules, kexec, foreign system call tables. Everything else
 * passes.
 */
#ifndef SANDBOX_SECCOMP_H
#define SANDBOX_SECCOMP_H

#include "base/str.h"

/* The program as bubblewrap's --seccomp reads it (struct sock_filter[]). false: not known for this
 * processor; then there is no filter and nobody claims one. */
bool seccomp_program(struct str *ret);

#endif
