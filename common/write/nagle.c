/* SPDX-License-Identifier: MIT */
#include "write/strategy.h"

const struct strategy strategy_nagle = {
    .variant = {"nagle", "a send() for each fragment, Nagle's algorithm on"},
    .needs = CAPABLE_NODELAY,
    .nagle = true,
    .send_group = strategy_send_group,
};
