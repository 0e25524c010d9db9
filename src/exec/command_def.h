/*
 * command_def.h - what a kind of command is: one const object per kind, in its primitive's file.
 *
 * Owns: the vocabulary through which command.c (emit, bind), match.c (compare) and fault.c
 * (describe) treat every command alike. A new primitive writes its own objects and calls
 * command_add(run, &its_command); nothing else needs to know it.
 * Must not: hold state, or be told apart by address: code of the program adds commands to runs of a
 * module that has a copy of this room (engine/remote.h); command_is() compares names.
 */
#ifndef EXEC_COMMAND_DEF_H
#define EXEC_COMMAND_DEF_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct command;
struct event;
struct run;

struct command_def {
    const char *name; /* "start timer", for people */
    /* In replay: is this recorded event what the command asked for? NULL: never compared, and its
     * event is skipped by match.c (version markers). */
    bool (*fits)(struct run *run, const struct command *command, const struct event *event);
    /* Live: the complete event, without its id and back reference. NULL: command->event. */
    struct event *(*event)(struct run *run, const struct command *command);
    /* Both: the command has this event id now (0 when fits is NULL and in replay). NULL: nothing to
     * do. */
    void (*bind)(struct run *run, const struct command *command, int64_t event_id);
    /* One line: what the code asks for. NULL: name. */
    const char *(*describe)(struct arena *arena, const struct command *command);
};

bool command_is(const struct command *command, const struct command_def *def);

extern const struct command_def command_schedule_activity, command_cancel_activity; /* activity.c */
extern const struct command_def command_start_timer, command_cancel_timer;          /* timer.c */
extern const struct command_def command_local;                              /* local_marker.c */
extern const struct command_def command_side_effect;                        /* side_effect.c */
extern const struct command_def command_mutable_side_effect;                /* mutable_... */
extern const struct command_def command_version, command_version_attribute; /* version.c */
extern const struct command_def command_patch, command_patch_attribute;     /* patch.c */
extern const struct command_def command_start_child;                        /* child_event.c */
extern const struct command_def command_signal_external, command_cancel_external; /* external.c */
extern const struct command_def command_accept_update, command_complete_update;   /* update.c */
extern const struct command_def command_memo;                                     /* memo.c */
extern const struct command_def command_search_attributes; /* search_attribute.c */
extern const struct command_def command_complete, command_fail, command_cancel_run; /* close.c */
extern const struct command_def command_continue;                                   /* continue.c */

#endif
