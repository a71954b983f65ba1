/* SPDX-License-Identifier: MIT */
/* What sockets can tell; system differences live in sockets.c. */
#ifndef UNCORK_TRANSPORT_SOCKETS_H
#define UNCORK_TRANSPORT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether calls on `fd` wait. */
void sockets_set_blocking(int fd, bool blocking);

/* Bytes that were written to a socket and have not left it; 0 where it is none or the system does not tell.
 */
uint64_t sockets_unsent(int fd);

/* The next connection of a non-blocking listener, itself non-blocking; -1 when none waits. Where no
 * descriptor is left the connection is dropped instead of being offered again and again. For the control
 * thread. */
int sockets_accept(int listener);

#endif
