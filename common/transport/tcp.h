/* SPDX-License-Identifier: MIT */
/* What the transports that are TCP, or look like it, have in common. */
#ifndef UNCORK_TRANSPORT_TCP_H
#define UNCORK_TRANSPORT_TCP_H

#include "transport/transport.h"

/* A pair over loopback by this listener, which is bound by it: one that connects, of this protocol, and what
 * was accepted. 0 or a negative errno value; the listener stays open. */
int tcp_pair_through(int listener, int protocol, int fds[2]);

/* pair() over loopback, of sockets of this protocol. */
int tcp_make_pair(int protocol, int fds[2]);

/* Where the control channel is, or loopback where that is a Unix socket: with port 0, or with the port
 * that the server named. */
int tcp_data_address(struct address *data, const struct address *control);
int tcp_data_target(struct address *data, const struct address *control, json_int_t port, const char *path);

#endif
