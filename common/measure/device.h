/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_MEASURE_DEVICE_H
#define UNCORK_MEASURE_DEVICE_H

#include "net/address.h"

#include <jansson.h>
#include <net/if.h>

/* The network device that leads to `address`: {"name", "local_address", "mtu_bytes", "offloads": {"tso":
 * true, ...}}, what the system does not tell absent. New reference, NULL for Unix sockets and where there is
 * none. */
json_t *device_towards(const struct address *address);

/* The device by which packets for `address` leave, and that of loopback. 0, or -1 where none is known. */
int device_name_towards(const struct address *address, char name[IF_NAMESIZE]);
int device_of_loopback(char name[IF_NAMESIZE]);

#endif
