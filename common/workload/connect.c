/* SPDX-License-Identifier: MIT */
/* A connection of the plan is a slot, which uses one descriptor after another. The end of a
 * descriptor is not the end of the work. So the role of the server ends when it has received all
 * bytes that the client reports as sent. */
#include "workload/roles.h"

const struct workload workload_connect = {
    .variant = {"connect", "the client connects, sends message, receives reply and closes, again and again"},
    .reconnects = true,
    .roles = {[ROLE_DRIVER] = &requester_role, [ROLE_FOLLOWER] = &responder_role},
};
