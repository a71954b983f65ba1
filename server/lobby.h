/* SPDX-License-Identifier: MIT */
/* The data connections of a session: their listening socket, token and key. Where no data thread
 * accepts them, the lobby does and checks their token. It closes and counts those with a wrong
 * token. */
#pragma once

#include "connection/security.h"
#include "control/channel.h"
#include "team/team.h"

#include <uv.h>

struct lobby_events {
    void (*joined)(void *owner, size_t index, int fd); /* right token; the owner owns `fd` */
    void (*closed)(void *owner); /* after lobby_close(): the owner may free the memory */
};

struct lobby {
    int fd; /* listening socket */
    struct address address;
    uint8_t token[TOKEN_SIZE];      /* every data connection sends it */
    uint8_t key[SECURITY_KEY_SIZE]; /* of their TLS */
    bool by_certificate;            /* their TLS needs the certificate of the key, and no key */
    bool is_open;                   /* from lobby_listen() to lobby_close() */
    bool accepts;                   /* after lobby_accept() */

    const struct plan *plan;
    size_t hello_size; /* SINK_HELLO_SIZE: they come from a proxy, which expects an answer */
    const struct lobby_events *events;
    void *owner;
    uint64_t strangers;
    uv_poll_t listener;
    bool *here;          /* by connection number */
    size_t open_handles; /* the listener, and the connections without a complete hello */
};

/* Listens at the host of the control channel and draws a token and a key. Returns 0, or -1 with
 * a problem; call lobby_close() in both cases. */
int lobby_listen(struct lobby *lobby, const struct plan *plan, enum end end, struct channel *control,
                 struct problem *problem);

/* The body of CONTROL_READY: address, token, key and handshake. New reference. */
json_t *lobby_describe(const struct lobby *lobby);

/* Starts to accept. */
void lobby_accept(struct lobby *lobby, uv_loop_t *loop, const struct lobby_events *events, void *owner);

/* Closes the socket and removes its file. After lobby_accept() also closes the connections without
 * a complete hello, and then calls `closed`. May be called twice. */
void lobby_close(struct lobby *lobby);
