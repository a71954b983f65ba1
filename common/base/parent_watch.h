/* SPDX-License-Identifier: MIT */
/* Watches one end of a pipe, mostly standard input. It closes when the process that started this
 * one has ended, normally or not. */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct parent_watch {
    uv_pipe_t pipe;
    void (*gone)(void *owner);
    void *owner;
    bool started;
};

/* Calls `gone` once, from the loop, when `fd` closes. `fd` is a pipe or a socket, and the watch
 * owns it from here on. Bytes that arrive are ignored. */
void parent_watch_start(struct parent_watch *watch, uv_loop_t *loop, int fd, void (*gone)(void *owner),
                        void *owner);

/* Closes the descriptor; the loop must turn once more before the memory may be freed. No effect
 * before parent_watch_start(). */
void parent_watch_stop(struct parent_watch *watch);
