/* SPDX-License-Identifier: MIT */
/* What the transports that are TCP, or look like it, have in common. */
#ifndef UNCORK_TRANSPORT_TCP_H
#define UNCORK_TRANSPORT_TCP_H

#include "transport/transport.h"

/* pair() over loopback, of sockets of this protocol. */
int tcp_make_pair(int protocol, int fds[2]);

/* data_address(): where the control channel is, or loopback where that is a Unix socket. */
int tcp_data_address(struct address *data, const struct address *control);

#endif
