/* SPDX-License-Identifier: MIT */
/* The end of a pipe as a lifeline, mostly standard input: it closes when whoever started this process has
 * gone, however that ended. */
#ifndef UNCORK_BASE_LIFELINE_H
#define UNCORK_BASE_LIFELINE_H

#include <stdbool.h>
#include <uv.h>

struct lifeline {
    uv_pipe_t pipe;
    void (*cut)(void *owner);
    void *owner;
    bool held;
};

/* Calls `cut` once, from the loop, when `fd` closes, which is a pipe or a socket and is taken over; what
 * comes in by it is ignored. */
void lifeline_hold(struct lifeline *lifeline, uv_loop_t *loop, int fd, void (*cut)(void *owner), void *owner);

/* Lets go; the loop must turn once more before the memory may go. Harmless where nothing is held. */
void lifeline_release(struct lifeline *lifeline);

#endif
