/*
 * process_tree.h - the life and death of the trees below the table's processes.
 *
 * Owns: kill passes, reaping, what a lost supervisor leaves behind. For process.c only, which owns
 * the table.
 */
#ifndef GUEST_PROCESS_TREE_H
#define GUEST_PROCESS_TREE_H

#include "guest/process.h"

void process_exited(struct process *process, int wait_status);    /* the direct child is gone */
void process_kill(struct process *process);                       /* begin killing the tree */
void process_kill_pass(struct guest *guest, int64_t now_mono_ns); /* one round, where due */

#endif
