/* SPDX-License-Identifier: MIT */
/* Accepts clients until SIGTERM, SIGINT, the end of standard input or the idle timeout. */
#pragma once

#include "base/program.h"
#include "options.h"
#include "plan/plan.h"

#include <uv.h>

struct listener_events {
    void (*accepted)(void *owner, int fd); /* a non-blocking connection; the owner owns `fd` */
    void (*stopped)(void *owner);          /* no more clients: the owner closes its handles on the loop */
};

struct listener {
    /* Set by the owner. */
    const struct options *options;
    const struct listener_events *events;
    void *owner;

    struct address address; /* with the chosen port */
    uv_loop_t loop;         /* open within listener_serve() */
    int fd;                 /* listening socket */
    uv_poll_t poll;
    uv_signal_t signals[2]; /* SIGTERM, SIGINT */
    struct parent_watch parent;
    uv_timer_t idle;
    bool is_stopped;
};

/* Listens, prints the ready line, and runs the loop to its end. The listening socket has the
 * options of `plan` (NULL: none). */
void listener_serve(struct listener *listener, const struct plan *plan, struct problem *problem);

/* The owner has clients or none. The idle timer runs only without clients. */
void listener_set_occupied(struct listener *listener, bool is_occupied);
