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
    uv_poll_t listener;
    int fd; /* listening socket */
    struct address address;
    uint8_t token[TOKEN_SIZE];
    size_t hello_size; /* SINK_HELLO_SIZE for a proxy, which gets an answer */
    size_t expected;
    bool *here; /* by connection number */
    uint64_t strangers;
    struct guest *guests; /* connections without a complete hello */
    size_t guest_count;
    bool closing, listener_closed;
    const struct lobby_events *events;
    void *owner;
};

/* Which connections the lobby accepts. */
struct lobby_guests {
    int fd; /* listening socket, owned by the lobby */
    struct address address;
    const uint8_t *token;
    size_t expected;   /* connections */
    bool is_for_proxy; /* they come from a proxy, which expects an answer */
};

/* Starts to accept. Returns 0, or -1 with a failure; call lobby_close() in both cases. */
int lobby_open(struct lobby *lobby, uv_loop_t *loop, const struct lobby_guests *guests,
               const struct lobby_events *events, void *owner, struct problem *problem);

/* Closes the connections without a complete hello and removes the socket's file; then calls
 * `closed`. May be called twice. */
void lobby_close(struct lobby *lobby);

#endif
