/*
 * fiber_x86_64.S - the context switch for x86-64, System V ABI.
 *
 * Owns: fiber_switch_(void **save_sp, void *load_sp) and the first return address of a new fiber.
 * Saved on the stack of the fiber that leaves: rbp rbx r12-r15, mxcsr and the x87 control word; all
 * other registers are the caller's by the ABI. Empty on other processors. fiber.c builds the same
 * frame for a new fiber.
 * Tests: tests/unit/test_exec_fiber.c
 */
#if defined(__x86_64__)
    .text
    .globl fiber_switch_
    .hidden fiber_switch_
    .type fiber_switch_,@function
    .p2align 4
fiber_switch_:
    .cfi_startproc
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8,%rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp,(%rdi)
    movq %rsi,%rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8,%rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .cfi_endproc
    .size fiber_switch_,.-fiber_switch_

    .globl fiber_entry_
    .hidden fiber_entry_
    .type fiber_entry_,@function
    .p2align 4
fiber_entry_: /* r12 = function, r13 = its argument; the function never returns */
    .cfi_startproc
    .cfi_undefined rip
    endbr64
    movq %r13,%rdi
    callq *%r12
    ud2
    .cfi_endproc
    .size fiber_entry_,.-fiber_entry_
#endif
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
