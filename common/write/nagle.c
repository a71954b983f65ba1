/* SPDX-License-Identifier: MIT */
#include "write/group.h"

const struct strategy strategy_nagle = {
    .variant = {"nagle", "a send() for each fragment, Nagle's algorithm on"},
    .needs = CAPABLE_NODELAY,
    .nagle = true,
    .send_group = group_send,
};
