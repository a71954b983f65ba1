/* SPDX-License-Identifier: MIT */
/* The largest segment of a connection. */
#ifndef UNCORK_TRANSPORT_MSS_H
#define UNCORK_TRANSPORT_MSS_H

#include <stdbool.h>

/* Finds out, on a connected pair of this machine, whether the system tells another size once it is connected;
 * if not, it is not believed from then on. To be called once, before threads read. */
void mss_probe(const int fds[2]);

/* False where the system does not tell, or always the same. */
bool mss_read(int fd, int *bytes);

#endif
