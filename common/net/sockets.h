/* SPDX-License-Identifier: MIT */
/* Creates, accepts and queries sockets; system differences live in sockets.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void sockets_set_blocking(int fd, bool blocking);

/* socket(2), socketpair(2) of Unix stream sockets: closed on exec. */
int sockets_make(int family, int type, int protocol, bool blocking);
int sockets_make_pair(int fds[2]);

/* Bytes written to a socket that it has not sent yet; 0 for other files, or where the system does
 * not report it. */
uint64_t sockets_unsent(int fd);

/* SO_ERROR as a negative errno value, or 0; the read clears it. */
int sockets_error(int fd);

/* Accepts the next connection of a non-blocking listener, as a blocking or non-blocking socket; -1
 * when none is pending. When no descriptor is free the connection is dropped: else the listener
 * would stay readable. */
int sockets_accept(int listener, bool blocking);
