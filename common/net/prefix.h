/* SPDX-License-Identifier: MIT */
/* A set of addresses: 10.1.0.0/16, fd00::/8, 192.0.2.1, or every Unix socket. */
#ifndef UNCORK_NET_PREFIX_H
#define UNCORK_NET_PREFIX_H

#include "net/address.h"

#include <stdint.h>

struct prefix {
    int family; /* AF_INET, AF_INET6, AF_UNIX */
    uint8_t bytes[16];
    unsigned bits; /* prefix length; 0 for AF_UNIX */
};

/* Parses ADDRESS, ADDRESS/BITS or "unix", without name lookup. 0, or -1 with a usage problem. */
int prefix_parse(struct prefix *prefix, const char *text, struct problem *problem);

/* Whether the set contains the address. An IPv4-mapped IPv6 address (::ffff:192.0.2.1) counts as
 * IPv4. */
bool prefix_holds(const struct prefix *prefix, const struct address *address);

#endif
