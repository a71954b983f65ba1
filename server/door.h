/* SPDX-License-Identifier: MIT */
/* Where clients arrive, and what shuts it: SIGTERM, SIGINT, the end of standard input, or that nobody comes.
 */
#ifndef UNCORK_SERVER_DOOR_H
#define UNCORK_SERVER_DOOR_H

#include "base/lifeline.h"
#include "base/problem.h"
#include "transport/address.h"

#include <stdbool.h>
#include <uv.h>

struct door_events {
    void (*arrived)(void *owner, int fd); /* a connection, non-blocking; the descriptor is the owner's */
    void (*shut)(void *owner);            /* nobody else will come: close what is on the loop */
};

struct door {
    /* set by the owner */
    uv_loop_t *loop;        /* memory for one: door_serve() begins and ends it */
    struct address address; /* with the port that was chosen, once it is open */
    bool with_parent;       /* the end of standard input shuts it as well */
    uint64_t idle_ms;       /* it shuts when nobody has been in for so long; 0: never */
    bool is_proxy;          /* the ready line says so */
    const char *plain;      /* the service for foreign clients that the ready line names, or NULL */
    const struct door_events *events;
    void *owner;

    int fd; /* listening socket */
    uv_poll_t listener;
    uv_signal_t terminate, interrupt;
    struct lifeline parent;
    uv_timer_t idle;
    bool is_shut;
};

/* Listens at the address, by the socket `fd` (-1: a new one), prints the ready line, and turns the loop until
 * nothing is left on it. 0, or -1 with a failure. */
int door_serve(struct door *door, int fd, struct problem *problem);

/* The owner says that somebody is in, or that the last one has gone: only an empty house is idle. */
void door_occupy(struct door *door);
void door_vacate(struct door *door);

#endif
