/* SPDX-License-Identifier: MIT */
/* The local ports that connect(2) chooses from: how many there are, and why none is free. */
#ifndef UNCORK_NET_PORTS_H
#define UNCORK_NET_PORTS_H

#include "base/problem.h"

#include <stdint.h>

/* Checks that `connections` to one address can have a port each. 0, or -1 with an unsupported
 * problem that names the sysctl. 0 also where the system does not report its range. */
int ports_check(uint64_t connections, struct problem *problem);

/* Describes that connect to `address` found no free port (EADDRNOTAVAIL), what uses the ports, and
 * the sysctls that help. Returns -1. */
int ports_exhausted(const char *address, struct problem *problem);

#endif
