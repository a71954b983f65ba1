/* SPDX-License-Identifier: MIT */
#include "write/strategy.h"

const struct strategy strategy_more = {
    .variant = {"more", "a send() for each fragment, MSG_MORE on all but the last of a group"},
    .needs = CAPABLE_MORE,
    .flags = MSG_MORE,
    .send_group = strategy_send_group,
};
