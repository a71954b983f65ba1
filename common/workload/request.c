/* SPDX-License-Identifier: MIT */
/* Request and reply over persistent connections. */
#include "workload/exchange.h"
#include "workload/framed.h"

const struct workload workload_request = {
    .variant = {"request", "the client sends message, the server answers each with reply"},
    .roles = {[ROLE_DRIVER] = &requester_role, [ROLE_FOLLOWER] = &responder_role},
    .framed = framed_roles,
    .role = exchange_role,
};
