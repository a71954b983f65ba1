/* SPDX-License-Identifier: MIT */
/* What sockets can tell; system differences live in sockets.c. */
#ifndef UNCORK_TRANSPORT_SOCKETS_H
#define UNCORK_TRANSPORT_SOCKETS_H

#include <stdint.h>

/* Bytes that were written to a socket and have not left it; 0 where it is none or the system does not tell.
 */
uint64_t sockets_unsent(int fd);

#endif
