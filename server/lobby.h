/* SPDX-License-Identifier: MIT */
/* Accepts the data connections of a session and checks their token. It closes and counts those
 * with a wrong token. */
#ifndef UNCORK_SERVER_LOBBY_H
#define UNCORK_SERVER_LOBBY_H

#include "team/team.h"

#include <uv.h>

struct lobby;

struct lobby_events {
    void (*joined)(void *owner, size_t index, int fd); /* right token; the owner owns `fd` */
    void (*closed)(void *owner); /* after lobby_close(): the owner may free the memory */
};

struct lobby {
    /* Set by the owner. */
    int fd; /* listening socket, owned by the lobby after lobby_open() */
    struct address address;
    const uint8_t *token;
    size_t expected;   /* connections */
    size_t hello_size; /* SINK_HELLO_SIZE: they come from a proxy, which expects an answer */
    const struct lobby_events *events;
    void *owner;

    uint64_t strangers;
    uv_poll_t listener;
    bool *here;              /* by connection number */
    struct pending *pending; /* connections without a complete hello */
    size_t pending_count;
    bool closing, listener_closed;
};

/* Starts to accept. Returns 0, or -1 with a failure; call lobby_close() in both cases. */
int lobby_open(struct lobby *lobby, uv_loop_t *loop, struct problem *problem);

/* Closes the connections without a complete hello and removes the socket's file; then calls
 * `closed`. May be called twice. */
void lobby_close(struct lobby *lobby);

#endif
