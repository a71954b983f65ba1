/* SPDX-License-Identifier: MIT */
/*
 * A connection for every request: the client connects, sends message, takes the reply and closes.
 *
 * A connection of the plan is a slot that has one descriptor after the other. The server's role ends where
 * the client says how much it has sent, because the end of a descriptor is not the end of the work.
 */
#include "workload/exchange.h"

static bool took_all(const struct connection *connection)
{
    return connection_at_stop(connection);
}

const struct workload workload_connect = {
    .variant = {"connect", "the client connects, sends message, takes reply and closes, again and again"},
    .roles = {[ROLE_DRIVER] = {ASKING, .reconnects = true},
              [ROLE_FOLLOWER] = {ANSWERING, .reconnects = true, .over = took_all}},
    .role = exchange_role,
};
