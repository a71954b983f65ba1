/* SPDX-License-Identifier: MIT */
/* Accepts clients until SIGTERM, SIGINT, the end of standard input or the idle timeout. */
#ifndef UNCORK_SERVER_DOOR_H
#define UNCORK_SERVER_DOOR_H

#include "base/lifeline.h"
#include "base/problem.h"
#include "net/address.h"

#include <stdbool.h>
#include <uv.h>

struct door_events {
    void (*arrived)(void *owner, int fd); /* a non-blocking connection; the owner owns `fd` */
    void (*shut)(void *owner);            /* no client follows: close the handles on the loop */
};

struct door {
    /* Set by the owner. */
    struct address address; /* after the start with the chosen port */
    bool with_parent;       /* the end of standard input shuts it too */
    uint64_t idle_ms;       /* shuts after this time without a client; 0: never */
    bool is_proxy;          /* printed in the ready line */
    const char *plain;      /* the service for foreign clients in the ready line, or NULL */
    const struct door_events *events;
    void *owner;

    uv_loop_t loop; /* open within door_serve() */
    int fd;         /* listening socket */
    uv_poll_t listener;
    uv_signal_t terminate, interrupt;
    struct lifeline parent;
    uv_timer_t idle;
    bool is_shut;
};

/* Listens at the address with the socket `fd` (-1: a new one), prints the ready line, and runs
 * the loop until no handle is active. Returns 0, or -1 with a failure. */
int door_serve(struct door *door, int fd, struct problem *problem);

/* The owner has a client; the owner has no client left. The idle timer runs only without
 * clients. */
void door_occupy(struct door *door);
void door_vacate(struct door *door);

#endif
