/* SPDX-License-Identifier: MIT */
/* Reports the end of the parent process, however it ends. The parent holds the other end of a pipe,
 * mostly of standard input, and the system closes that end with the parent. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <uv.h>

struct parent_watch {
    uv_pipe_t pipe;
    void (*gone)(void *owner);
    void *owner;
    bool started;
};

/* Calls `gone` once, from the loop, when the other end of `fd` closes. The watch owns `fd` from
 * here on. Bytes that arrive are ignored. 0, or -1 with a usage problem of --with-parent if `fd` is
 * neither a pipe nor a socket; call parent_watch_stop() in both cases. */
int parent_watch_start(struct parent_watch *watch, uv_loop_t *loop, int fd, void (*gone)(void *owner),
                       void *owner, struct problem *problem);

/* Closes the descriptor; the loop must turn once more before the memory may be freed. No effect
 * before parent_watch_start(). */
void parent_watch_stop(struct parent_watch *watch);
