/* SPDX-License-Identifier: MIT */
/* Sockets: how they are made, taken and asked; system differences live in sockets.c. */
#ifndef UNCORK_TRANSPORT_SOCKETS_H
#define UNCORK_TRANSPORT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether calls on `fd` wait. */
void sockets_set_blocking(int fd, bool blocking);

/* socket(2), socketpair(2) of Unix stream sockets: closed on exec. */
int sockets_make(int family, int type, int protocol);
int sockets_make_nonblocking(int family, int type, int protocol);
int sockets_make_pair(int fds[2]);

/* Bytes that were written to a socket and have not left it; 0 where it is none or the system does not tell.
 */
uint64_t sockets_unsent(int fd);

/* The error that waits on a socket, as a negative errno value, which is asked once; or 0. */
int sockets_error(int fd);

/* The next connection of a non-blocking listener, blocking or not; -1 when none waits. Where no
 * descriptor is left the connection is dropped instead of being offered again and again. For the control
 * thread. */
int sockets_accept(int listener, bool blocking);

#endif
