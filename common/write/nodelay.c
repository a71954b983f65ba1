/* SPDX-License-Identifier: MIT */
#include "write/strategy.h"

const struct strategy strategy_nodelay = {
    .variant = {"nodelay", "a send() for each fragment, TCP_NODELAY"},
    .send_group = strategy_send_group,
};
