/* SPDX-License-Identifier: MIT */
/* Accepts clients until SIGTERM, SIGINT, the end of standard input or the idle timeout. */
#pragma once

#include "base/lifeline.h"
#include "options.h"

#include <stdbool.h>
#include <uv.h>

struct door_events {
    void (*arrived)(void *owner, int fd); /* a non-blocking connection; the owner owns `fd` */
    void (*shut)(void *owner);            /* no client follows: close the handles on the loop */
};

struct door {
    /* Set by the owner. */
    const struct options *options;
    const struct door_events *events;
    void *owner;

    struct address address; /* with the chosen port */
    uv_loop_t loop;         /* open within door_serve() */
    int fd;                 /* listening socket */
    uv_poll_t listener;
    uv_signal_t terminate, interrupt;
    struct lifeline parent;
    uv_timer_t idle;
    bool is_shut;
};

/* Listens with the socket `fd` (-1: a new one), prints the ready line, and runs the loop until no
 * handle is active. */
void door_serve(struct door *door, int fd, struct problem *problem);

/* Whether the owner has a client. The idle timer runs only without clients. */
void door_set_occupied(struct door *door, bool is_occupied);
