/* SPDX-License-Identifier: MIT */
#pragma once

#include "net/address.h"

#include <jansson.h>
#include <net/if.h>

/* The network device on the route to `address`: {"name", "local_address", "mtu_bytes", "offloads":
 * {"tso": true, ...}}. Keys that the system does not report are absent. New reference; NULL for a
 * Unix socket, or if there is no route. */
json_t *device_towards(const struct address *address);

/* The device on the route to `address`; NULL: the loopback device. 0, or -1 if none is known. */
int device_name_towards(const struct address *address, char name[IF_NAMESIZE]);
