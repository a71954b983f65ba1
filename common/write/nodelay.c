/* SPDX-License-Identifier: MIT */
#include "write/group.h"

const struct strategy strategy_nodelay = {
    .variant = {"nodelay", "a send() for each fragment, TCP_NODELAY"},
    .send_group = group_send,
};
