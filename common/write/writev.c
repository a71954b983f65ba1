/* SPDX-License-Identifier: MIT */
#include "write/strategy.h"

const struct strategy strategy_writev = {
    .variant = {"writev", "one sendmsg() for the group"},
    .needs = CAPABLE_DESCRIPTOR,
    .send_group = strategy_send_vector,
};
