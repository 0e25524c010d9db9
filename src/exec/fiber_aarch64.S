/*
 * fiber_aarch64.S - the context switch for arm64, AAPCS64.
 *
 * Owns: fiber_switch_(void **save_sp, void *load_sp) and the first return address of a new fiber.
 * Saved on the stack of the fiber that leaves: x19-x30 and d8-d15 (160 bytes); all other registers
 * are the caller's by the ABI. Empty on other processors. fiber.c builds the same frame for a new
 * fiber.
 * Tests: tests/unit/test_exec_fiber.c
 */
#if defined(__aarch64__)
    .text
    .globl fiber_switch_
    .hidden fiber_switch_
    .type fiber_switch_,%function
    .p2align 4
fiber_switch_:
    .cfi_startproc
    hint #34 /* bti c */
    sub sp,sp,#160
    stp x29,x30,[sp]
    stp x19,x20,[sp,#16]
    stp x21,x22,[sp,#32]
    stp x23,x24,[sp,#48]
    stp x25,x26,[sp,#64]
    stp x27,x28,[sp,#80]
    stp d8,d9,[sp,#96]
    stp d10,d11,[sp,#112]
    stp d12,d13,[sp,#128]
    stp d14,d15,[sp,#144]
    mov x9,sp
    str x9,[x0]
    mov sp,x1
    ldp x29,x30,[sp]
    ldp x19,x20,[sp,#16]
    ldp x21,x22,[sp,#32]
    ldp x23,x24,[sp,#48]
    ldp x25,x26,[sp,#64]
    ldp x27,x28,[sp,#80]
    ldp d8,d9,[sp,#96]
    ldp d10,d11,[sp,#112]
    ldp d12,d13,[sp,#128]
    ldp d14,d15,[sp,#144]
    add sp,sp,#160
    ret
    .cfi_endproc
    .size fiber_switch_,.-fiber_switch_

    .globl fiber_entry_
    .hidden fiber_entry_
    .type fiber_entry_,%function
    .p2align 4
fiber_entry_: /* x19 = function, x20 = its argument; the function never returns */
    .cfi_startproc
    .cfi_undefined x30
    hint #36 /* bti j: reached by ret */
    mov x0,x20
    blr x19
    brk #1
    .cfi_endproc
    .size fiber_entry_,.-fiber_entry_
#endif
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
