/* SPDX-License-Identifier: MIT */
#include "write/group.h"

const struct strategy strategy_writev = {
    .variant = {"writev", "one sendmsg() for the group"},
    .needs = CAPABLE_DESCRIPTOR,
    .send_group = group_send_vector,
};
