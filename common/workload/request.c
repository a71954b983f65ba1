/* SPDX-License-Identifier: MIT */
/* Request and reply over persistent connections. */
#include "workload/exchange.h"

const struct workload workload_request = {
    .variant = {"request", "the client sends message, the server answers each with reply"},
    .roles = {[ROLE_DRIVER] = {ASKING}, [ROLE_FOLLOWER] = {ANSWERING}},
    .role = exchange_role,
};
