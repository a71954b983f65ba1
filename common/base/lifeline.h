/* SPDX-License-Identifier: MIT */
/* A lifeline is one end of a pipe, mostly standard input. It closes when the process that started
 * this one has ended, normally or not. */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct lifeline {
    uv_pipe_t pipe;
    void (*cut)(void *owner);
    void *owner;
    bool held;
};

/* Calls `cut` once, from the loop, when `fd` closes. `fd` is a pipe or a socket, and the lifeline
 * owns it from here on. Bytes that arrive are ignored. */
void lifeline_hold(struct lifeline *lifeline, uv_loop_t *loop, int fd, void (*cut)(void *owner), void *owner);

/* Closes the descriptor; the loop must turn once more before the memory may be freed. No effect
 * where nothing is held. */
void lifeline_release(struct lifeline *lifeline);
