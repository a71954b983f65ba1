/* SPDX-License-Identifier: MIT */
#pragma once

#include "net/address.h"

#include <jansson.h>
#include <net/if.h>

/* The network device on the route to `address`: {"name", "local_address", "mtu_bytes", "offloads":
 * {"tso": true, ...}}. Keys that the system does not report are absent. New reference, NULL for
 * Unix sockets and where there is no device. */
json_t *device_towards(const struct address *address);

/* The name of the device on the route to `address`; NULL: of loopback. 0, or -1 where none is
 * known. */
int device_name_towards(const struct address *address, char name[IF_NAMESIZE]);
