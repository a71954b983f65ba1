/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

const struct strategy strategy_nodelay = {
    .variant = {"nodelay", "a send() for each fragment, TCP_NODELAY"},
    .nodelay = true,
    .push = strategy_push_groups,
    .send_group = strategy_send_each,
};
