/* SPDX-License-Identifier: MIT */
/* Creates, accepts and queries sockets, the same way on every system. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void sockets_set_blocking(int fd, bool blocking);

/* socket(2), closed on exec. */
int sockets_make(int family, int type, int protocol, bool blocking);

/* Bytes in the send buffer that are not sent yet; 0 for other files, or if the system does not
 * report them. */
uint64_t sockets_unsent(int fd);

/* SO_ERROR as a negative errno value, or 0; the read clears it. */
int sockets_error(int fd);

/* Whether there is memory for a libuv loop to watch this descriptor. A loop has a table of pointers
 * by descriptor, and libuv 1.44 ends the process if it cannot grow: maybe_resize() in
 * src/unix/core.c. */
bool sockets_can_watch(int fd);

/* Accepts the next connection of a non-blocking listener, as a blocking or non-blocking socket; -1
 * if none is pending. If no descriptor is free, drops the connection: else the listener would stay
 * readable. */
int sockets_accept(int listener, bool blocking);
