/* SPDX-License-Identifier: MIT */
/* Functions that TCP and MPTCP share. */
#ifndef UNCORK_TRANSPORT_TCP_H
#define UNCORK_TRANSPORT_TCP_H

#include "transport/transport.h"

/* Connects a pair over loopback through this listener, which it binds: fds of a client socket of
 * this protocol and of the accepted socket. 0 or a negative errno value; the listener stays
 * open. */
int tcp_pair_through(int listener, int protocol, int fds[2]);

/* pair() over loopback, of sockets of this protocol. */
int tcp_make_pair(int protocol, int fds[2]);

/* The host of the control channel, or loopback if that is a Unix socket: with port 0, or with the
 * port that the server named. */
int tcp_data_address(struct address *data, const struct address *control);
int tcp_data_target(struct address *data, const struct address *control, json_int_t port, const char *path);

#endif
