/*
 * fiber.c - stacks, pool and switching; see fiber.h.
 *
 * Owns: every mmap of a stack and every switch, and all that sanitizers must hear about them. The
 * switch itself is fiber_x86_64.S / fiber_aarch64.S, or swapcontext elsewhere.
 * Must not: allocate on behalf of workflow code or call back into exec.
 * Tests: tests/unit/test_exec_fiber.c
 */
#include "exec/fiber.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/mem.h"

#ifndef FIBER_ASM
#include <ucontext.h>
#endif

#if defined(__has_feature)
#define FIBER_FEATURE(x) __has_feature(x)
#else
#define FIBER_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || FIBER_FEATURE(address_sanitizer)
#define FIBER_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__) || FIBER_FEATURE(thread_sanitizer)
#define FIBER_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#ifdef HAVE_VALGRIND_VALGRIND_H
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include <valgrind/valgrind.h>
#pragma GCC diagnostic pop
#endif

struct fiber {
    void (*fn)(void *arg);
    void *arg;
    struct fiber_pool *pool;
    struct fiber *next; /* in the pool's free list */
    char *map;          /* the whole mapping, guard page first */
    size_t map_bytes;
    bool done;
    bool running;
#ifdef FIBER_ASM
    void *sp;      /* while suspended */
    void *back_sp; /* of whoever resumed it, while running */
#else
    ucontext_t self;
    ucontext_t back;
#endif
#ifdef FIBER_ASAN
    void *fake;      /* its fake stack while suspended */
    void *back_fake; /* of whoever resumed it */
    const void *back_bottom;
    size_t back_bytes;
#endif
#ifdef FIBER_TSAN
    void *tsan;
    void *back_tsan;
#endif
    unsigned valgrind_id;
};

struct fiber_pool {
    struct fiber *free;
    size_t count;
    size_t max_free;
};

static size_t page_bytes(void)
{
    static size_t cached; /* same value from every thread */

    size_t bytes = __atomic_load_n(&cached, __ATOMIC_RELAXED);
    if (bytes == 0) {
        bytes = (size_t)sysconf(_SC_PAGESIZE);
        __atomic_store_n(&cached, bytes, __ATOMIC_RELAXED);
    }
    return bytes;
}

static char *stack_low(const struct fiber *f)
{
    return f->map + page_bytes();
}

static char *stack_top(struct fiber *f)
{
    return (char *)f; /* the control block sits on top, 64-byte aligned */
}

/* --- telling the tools ---------------------------------------------------------------------- */

static void tools_stack_taken(struct fiber *f)
{
#ifdef FIBER_ASAN
    __lsan_register_root_region(stack_low(f), (size_t)(stack_top(f) - stack_low(f)));
#endif
#ifdef FIBER_TSAN
    f->tsan = __tsan_create_fiber(0);
#endif
    (void)f;
}

static void tools_stack_left(struct fiber *f)
{
#ifdef FIBER_ASAN
    __lsan_unregister_root_region(stack_low(f), (size_t)(stack_top(f) - stack_low(f)));
    __asan_unpoison_memory_region(stack_low(f), (size_t)(stack_top(f) - stack_low(f)));
#endif
#ifdef FIBER_TSAN
    __tsan_destroy_fiber(f->tsan);
#endif
    (void)f;
}

/* On the resumer's stack, just before the switch into the fiber. */
static void tools_before_resume(struct fiber *f)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&f->back_fake, stack_low(f),
                                   (size_t)(stack_top(f) - stack_low(f)));
#endif
#ifdef FIBER_TSAN
    f->back_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->tsan, 0);
#endif
    (void)f;
}

/* On the resumer's stack, just after the fiber switched back. */
static void tools_after_resume(struct fiber *f)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(f->back_fake, NULL, NULL);
#endif
    (void)f;
}

/* On the fiber's stack, just before it switches back; `last` when it will never run again. */
static void tools_before_yield(struct fiber *f, bool last)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &f->fake, f->back_bottom, f->back_bytes);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(f->back_tsan, 0);
#endif
    (void)f;
    (void)last;
}

/* On the fiber's stack, just after it was switched to. */
static void tools_after_yield(struct fiber *f)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(f->fake, &f->back_bottom, &f->back_bytes);
#endif
    (void)f;
}

/* --- the switch ------------------------------------------------------------------------------ */

static no_return void fiber_main(void *arg);

#ifdef FIBER_ASM

void fiber_switch_(void **save_sp, void *load_sp);
void fiber_entry_(void);

/* Build the frame that fiber_switch_ pops when the fiber runs for the first time. */
static void first_frame(struct fiber *f)
{
    uintptr_t *top = (uintptr_t *)(void *)stack_top(f);
#if defined(__x86_64__)
    *--top = 0; /* so that the stack is aligned as after a call */
    *--top = 0; /* where fiber_entry_ would return to */
    *--top = (uintptr_t)fiber_entry_;
    *--top = 0; /* rbp */
    *--top = 0; /* rbx */
    *--top = (uintptr_t)fiber_main;
    *--top = (uintptr_t)f;
    *--top = 0; /* r14 */
    *--top = 0; /* r15 */
    --top;      /* mxcsr, x87 control word: the ABI's initial values */
    const uint32_t mxcsr = 0x1f80;
    const uint32_t control = 0x037f;
    memcpy(top, &mxcsr, sizeof(mxcsr));
    memcpy((char *)top + 4, &control, sizeof(control));
#elif defined(__aarch64__)
    top -= 20;
    memset(top, 0, 160);
    top[1] = (uintptr_t)fiber_entry_; /* x30 */
    top[2] = (uintptr_t)fiber_main;   /* x19 */
    top[3] = (uintptr_t)f;            /* x20 */
#else
#error "FIBER_ASM is set for a processor without a fiber_*.S"
#endif
    f->sp = top;
}

static void switch_in(struct fiber *f)
{
    fiber_switch_(&f->back_sp, f->sp);
}

static void switch_out(struct fiber *f)
{
    fiber_switch_(&f->sp, f->back_sp);
}

#else /* ucontext: makecontext passes ints, so the pointer travels in two halves */

static void ucontext_main(unsigned high, unsigned low)
{
    fiber_main((void *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low));
}

static void first_frame(struct fiber *f)
{
    int rc = getcontext(&f->self);
    assert(rc == 0);
    (void)rc;
    f->self.uc_stack.ss_sp = stack_low(f);
    f->self.uc_stack.ss_size = (size_t)(stack_top(f) - stack_low(f));
    f->self.uc_link = NULL;
    makecontext(&f->self, (void (*)(void))ucontext_main, 2, (unsigned)((uintptr_t)f >> 16 >> 16),
                (unsigned)(uintptr_t)f);
}

static void switch_in(struct fiber *f)
{
    swapcontext(&f->back, &f->self);
}

static void switch_out(struct fiber *f)
{
    swapcontext(&f->self, &f->back);
}

#endif

static no_return void fiber_main(void *arg)
{
    struct fiber *f = arg;

    tools_after_yield(f);
    f->fn(f->arg);
    f->done = true;
    f->running = false;
    tools_before_yield(f, true);
    switch_out(f);
    __builtin_unreachable();
}

/* --- stacks ---------------------------------------------------------------------------------- */

static struct fiber *stack_map(void)
{
    size_t bytes = page_bytes() + FIBER_STACK_BYTES;
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (map == MAP_FAILED) {
        return NULL;
    }
    if (mprotect(map, page_bytes(), PROT_NONE) != 0) {
        munmap(map, bytes);
        return NULL;
    }
    size_t block = (sizeof(struct fiber) + 63) & ~(size_t)63;
    struct fiber *f = (struct fiber *)(void *)(map + bytes - block);
    f->map = map;
    f->map_bytes = bytes;
#ifdef HAVE_VALGRIND_VALGRIND_H
    f->valgrind_id = VALGRIND_STACK_REGISTER(stack_low(f), stack_top(f) - 1);
#endif
    return f;
}

static void stack_unmap(struct fiber *f)
{
#ifdef HAVE_VALGRIND_VALGRIND_H
    VALGRIND_STACK_DEREGISTER(f->valgrind_id);
#endif
    munmap(f->map, f->map_bytes);
}

struct fiber_pool *fiber_pool_new(size_t max_free)
{
    struct fiber_pool *pool = mem_alloc(sizeof(*pool));

    pool->max_free = max_free;
    return pool;
}

struct fiber_pool *fiber_pool_free(struct fiber_pool *pool)
{
    if (pool) {
        while (pool->free) {
            struct fiber *f = pool->free;
            pool->free = f->next;
            stack_unmap(f);
        }
        free(pool);
    }
    return NULL;
}

struct fiber *fiber_new(struct fiber_pool *pool, void (*fn)(void *arg), void *arg)
{
    struct fiber *f;

    if (pool && pool->free) {
        f = pool->free;
        pool->free = f->next;
        pool->count--;
    } else {
        f = stack_map();
        if (!f) {
            return NULL;
        }
    }
    f->fn = fn;
    f->arg = arg;
    f->pool = pool;
    f->next = NULL;
    f->done = false;
    f->running = false;
#ifdef FIBER_ASAN
    f->fake = NULL;
#endif
    tools_stack_taken(f);
    first_frame(f);
    return f;
}

struct fiber *fiber_free(struct fiber *f)
{
    if (f) {
        assert(!f->running);
        tools_stack_left(f);
        struct fiber_pool *pool = f->pool;
        if (pool && pool->count < pool->max_free) {
            f->next = pool->free;
            pool->free = f;
            pool->count++;
        } else {
            stack_unmap(f);
        }
    }
    return NULL;
}

void fiber_resume(struct fiber *f)
{
    assert(!f->done && !f->running);
    f->running = true;
    tools_before_resume(f);
    switch_in(f);
    tools_after_resume(f);
    assert(!f->running);
}

void fiber_yield(struct fiber *f)
{
    assert(f->running);
    f->running = false;
    tools_before_yield(f, false);
    switch_out(f);
    tools_after_yield(f);
}

bool fiber_done(const struct fiber *f)
{
    return f->done;
}

bool fiber_holds(const struct fiber *f, const void *p)
{
    return (uintptr_t)p >= (uintptr_t)f->map && (uintptr_t)p < (uintptr_t)f->map + f->map_bytes;
}

void fiber_trim(struct fiber *f)
{
    assert(!f->running);
#ifdef FIBER_ASM
    uintptr_t page = page_bytes();
    uintptr_t keep = ((uintptr_t)f->sp - 128) & ~(page - 1); /* 128: the red zone */
    uintptr_t low = (uintptr_t)stack_low(f);
    if (keep > low) {
        madvise((void *)low, keep - low, MADV_DONTNEED); /* failure costs memory only */
    }
#else
    (void)f; /* the stack pointer is not ours to know */
#endif
}
