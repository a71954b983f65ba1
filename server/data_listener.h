/* SPDX-License-Identifier: MIT */
/* The listening socket for the data connections of a session, with their token and key. */
#ifndef UNCORK_SERVER_DATA_LISTENER_H
#define UNCORK_SERVER_DATA_LISTENER_H

#include "connection/security.h"
#include "control/channel.h"
#include "lobby.h"

struct data_listener {
    int fd;
    struct address address;
    uint8_t token[TOKEN_SIZE];      /* every data connection sends it */
    uint8_t key[SECURITY_KEY_SIZE]; /* of their TLS */
    struct lobby lobby;
    bool is_open, has_lobby; /* after data_listener_open_lobby() the lobby closes the socket */
};

/* Listens at the host of the control channel and draws a token and a key. Returns 0, or -1 with
 * a problem; call data_listener_close() in both cases. */
int data_listener_open(struct data_listener *listener, const struct plan *plan, enum end end,
                       struct channel *control, struct problem *problem);

/* Opens the lobby, which owns the socket from now on. Returns 0, or -1 with a failure; call
 * lobby_close() in both cases. */
int data_listener_open_lobby(struct data_listener *listener, const struct plan *plan, enum end end,
                             uv_loop_t *loop, const struct lobby_events *events, void *owner,
                             struct problem *problem);

/* Closes the socket and removes its file, unless a lobby owns it. */
void data_listener_close(struct data_listener *listener);

/* The body of CONTROL_READY: address, token and key. New reference. */
json_t *data_listener_describe(const struct data_listener *listener, const struct plan *plan);

#endif
