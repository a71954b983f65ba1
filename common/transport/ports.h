/* SPDX-License-Identifier: MIT */
/* The local ports that connect(2) chooses from: how many there are, and why none is left. */
#ifndef UNCORK_TRANSPORT_PORTS_H
#define UNCORK_TRANSPORT_PORTS_H

#include "base/problem.h"

#include <stdint.h>

/* Whether `connections` to one address can have a port each. 0, or -1 with an unsupported problem that names
 * the sysctl. 0 where the system does not tell. */
int ports_check(uint64_t connections, struct problem *problem);

/* Says that a connect to `address` found no port (EADDRNOTAVAIL), who has them, and the sysctls that help.
 * Returns -1. */
int ports_exhausted(const char *address, struct problem *problem);

#endif
