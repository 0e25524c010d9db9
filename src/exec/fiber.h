/*
 * fiber.h - coroutines with their own stacks; the only context switch of the program.
 *
 * Owns: stacks (256 KiB mmap, guard page below, pooled) and the switch. Must not: schedule, know of
 * runs, or be resumed from another thread than the one that made it (errno and thread-local
 * addresses may be cached across a switch).
 *
 * A fiber that is freed before its function returned loses its frames without clean-up: callers
 * resume it until fiber_done(), and free it unfinished only as the last resort.
 *
 *     stack mapping, low to high:  [guard page][ ... stack grows down ... ][struct fiber]
 *
 * The control block shares the top page with the first frames: a suspended, shallow fiber costs one
 * resident page. AddressSanitizer, LeakSanitizer, ThreadSanitizer and valgrind are told of every
 * stack and switch. On processors without our own assembly ucontext does the switching.
 */
#ifndef EXEC_FIBER_H
#define EXEC_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#define FIBER_STACK_BYTES (256 * 1024) /* deepest library call measured: 94 KiB */

struct fiber;
struct fiber_pool;

/* A pool keeps at most max_free finished stacks for reuse. It belongs to one thread. */
struct fiber_pool *fiber_pool_new(size_t max_free);
struct fiber_pool *fiber_pool_free(struct fiber_pool *pool); /* NULL fine; returns NULL */

/* Suspended at the start of fn(arg). pool may be NULL. NULL when no stack can be mapped
 * (memory, or vm.max_map_count: two mappings per fiber). */
struct fiber *fiber_new(struct fiber_pool *pool, void (*fn)(void *arg), void *arg);
struct fiber *fiber_free(struct fiber *fiber); /* NULL fine; returns NULL; not the running one */

void fiber_resume(struct fiber *fiber); /* runs it until it yields or returns */
void fiber_yield(struct fiber *fiber);  /* from inside: back to whoever resumed it */
bool fiber_done(const struct fiber *fiber);
bool fiber_holds(const struct fiber *fiber, const void *p); /* p points into its stack */
void fiber_trim(struct fiber *fiber); /* give the pages below its frames back to the system */

#endif
