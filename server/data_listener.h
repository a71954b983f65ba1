/* SPDX-License-Identifier: MIT */
/* The listening socket for the data connections of a session, and their token and key. The data
 * listener accepts them and checks their token, unless a data thread does. It closes and counts
 * connections with a wrong token. */
#pragma once

#include "control/channel.h"
#include "control/hello_acceptor.h"
#include "team/team.h"

struct client_session;

struct data_listener {
    struct client_session *client; /* its session, set by the owner */
    const struct plan *plan;
    struct channel *control; /* to the client */
    int fd;                  /* listening socket */
    struct address address;
    uint8_t token[TOKEN_SIZE];      /* every data connection sends it */
    uint8_t key[SECURITY_KEY_SIZE]; /* of their TLS */
    bool by_certificate;            /* TLS uses a certificate of the key in place of the key */
    bool is_open;                   /* from data_listener_open() to data_listener_close() */

    struct team *team;  /* gets the connections; NULL before data_listener_accept() */
    size_t joined;      /* connections that it has */
    uint64_t strangers; /* connections that were rejected: wrong token, or no complete hello */
    uv_poll_t poll;
    struct hello_acceptor hellos;
    struct call_counts counts; /* not used: these calls are before the run */
};

/* Listens at the host of the control channel and draws a token and a key. Returns 0, or -1 with
 * a problem; call data_listener_close() in both cases. */
int data_listener_open(struct data_listener *listener, const struct plan *plan, enum end end,
                       struct channel *control, struct problem *problem);

/* Sends CONTROL_READY to the client: address, token, key and handshake. */
void data_listener_send_ready(const struct data_listener *listener);

/* Starts to accept the connections of the team. */
void data_listener_accept(struct data_listener *listener, struct team *team);

/* Closes the socket and removes its file. After data_listener_accept() also closes the connections
 * without a complete hello, and then calls client_session_part_closed(). May be called twice. */
void data_listener_close(struct data_listener *listener);

/* ---- defined in client_session.c ---- */

/* Every connection of the plan has come with the right token. */
void client_session_joined(struct client_session *client);

/* A part of the session is closed: its memory is not used any more. */
void client_session_part_closed(void *client);
