/* SPDX-License-Identifier: MIT */
/* The listening socket for the data connections of a session, and their token and key. The data
 * listener accepts them and checks their token, unless a data thread does. It closes and counts
 * connections with a wrong token. */
#pragma once

#include "connection/security.h"
#include "control/channel.h"
#include "control/hello.h"
#include "team/team.h"

#include <uv.h>

struct data_listener_events {
    void (*joined)(void *owner, size_t index, int fd); /* right token; the owner owns `fd` */
    void (*closed)(void *owner); /* after data_listener_close(): the owner may free the memory */
};

struct data_listener {
    int fd; /* listening socket */
    struct address address;
    uint8_t token[TOKEN_SIZE];      /* every data connection sends it */
    uint8_t key[SECURITY_KEY_SIZE]; /* of their TLS */
    bool by_certificate;            /* TLS uses a certificate of the key in place of the key */
    bool is_open;                   /* from data_listener_open() to data_listener_close() */
    bool accepts;                   /* after data_listener_accept() */

    const struct plan *plan;
    enum end end;
    const struct data_listener_events *events;
    void *owner;
    uint64_t strangers; /* connections that were rejected: wrong token, or no complete hello */
    uv_poll_t poll;
    struct hello_acceptor hellos;
    struct call_counts counts; /* not used: these calls are before the run */
    bool *has_joined;          /* by connection number */
};

/* Listens at the host of the control channel and draws a token and a key. Returns 0, or -1 with
 * a problem; call data_listener_close() in both cases. */
int data_listener_open(struct data_listener *listener, const struct plan *plan, enum end end,
                       struct channel *control, struct problem *problem);

/* The body of CONTROL_READY: address, token, key and handshake. New reference. */
json_t *data_listener_describe(const struct data_listener *listener);

/* Starts to accept. */
void data_listener_accept(struct data_listener *listener, uv_loop_t *loop,
                          const struct data_listener_events *events, void *owner);

/* Closes the socket and removes its file. After data_listener_accept() also closes the connections
 * without a complete hello, and then calls `closed`. May be called twice. */
void data_listener_close(struct data_listener *listener);
