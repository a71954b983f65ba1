/* SPDX-License-Identifier: MIT */
/* Services for foreign clients: no control channel, any number of connections. The client ends
 * each connection. */
#ifndef UNCORK_SERVER_PLAIN_H
#define UNCORK_SERVER_PLAIN_H

#include "base/axis.h"
#include "net/address.h"

#include <stdbool.h>

/* The services: plan/services.def. */
extern const struct axis plain_axis;

/* Runs one service at `address`, as server_run() does. Returns 0, or -1 with a failure. */
int plain_run(const struct variant *service, const struct address *address, bool with_parent,
              struct problem *problem);

#endif
