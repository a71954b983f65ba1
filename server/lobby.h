/* SPDX-License-Identifier: MIT */
/* Where data connections of a session arrive and show their token; strangers are dropped and counted. */
#ifndef UNCORK_SERVER_LOBBY_H
#define UNCORK_SERVER_LOBBY_H

#include "team/team.h"

#include <uv.h>

struct lobby;

struct lobby_events {
    void (*joined)(void *owner, size_t index,
                   int fd);      /* a connection with the token; the descriptor is the owner's */
    void (*closed)(void *owner); /* after lobby_close(): the memory may go */
};

struct lobby {
    uv_poll_t listener;
    int fd; /* listening socket */
    struct address address;
    uint8_t token[TOKEN_SIZE];
    size_t hello_size; /* SINK_HELLO_SIZE where a proxy connects, which is answered */
    size_t expected;
    bool *here; /* by connection number */
    uint64_t strangers;
    struct guest *guests; /* those that have not shown their token yet */
    size_t guest_count;
    bool closing, listener_closed;
    const struct lobby_events *events;
    void *owner;
};

/* Who is expected where. */
struct lobby_guests {
    int fd; /* listening socket, taken over */
    struct address address;
    const uint8_t *token;
    size_t expected;   /* connections */
    bool is_for_proxy; /* they come from a proxy, which wants an answer */
};

/* Lets them come. 0, or -1 with a failure; lobby_close() it in both cases. */
int lobby_open(struct lobby *lobby, uv_loop_t *loop, const struct lobby_guests *guests,
               const struct lobby_events *events, void *owner, struct problem *problem);

/* Drops whoever is still there and removes the socket's file; `closed` follows. May be called twice. */
void lobby_close(struct lobby *lobby);

#endif
