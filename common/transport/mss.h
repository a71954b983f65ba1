/* SPDX-License-Identifier: MIT */
/* The largest segment of a connection. */
#ifndef UNCORK_TRANSPORT_MSS_H
#define UNCORK_TRANSPORT_MSS_H

#include <stdbool.h>

/* Tests on a connected pair of this machine whether TCP_MAXSEG changes with the connection. If not,
 * mss_read() returns false from then on. Call it once, before threads read. */
void mss_probe(const int fds[2]);

/* False if the system does not report it, or always reports the same value. */
bool mss_read(int fd, int *bytes);

#endif
