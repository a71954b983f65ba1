/* SPDX-License-Identifier: MIT */
/* A connection of the plan is a slot, which uses one descriptor after another. Their end is not the
 * end of the work: the role of the server ends with the last byte that the client reports. */
#include "workload/roles.h"

const struct workload workload_connect = {
    .variant = {"connect", "the client connects, sends message, receives reply and closes, again and again"},
    .reconnects = true,
    .roles = {[ROLE_DRIVER] = &requester_role, [ROLE_FOLLOWER] = &responder_role},
};
