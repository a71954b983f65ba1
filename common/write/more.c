/* SPDX-License-Identifier: MIT */
#include "write/group.h"

const struct strategy strategy_more = {
    .variant = {"more", "a send() for each fragment, MSG_MORE on all but the last of a group"},
    .needs = CAPABLE_MORE,
    .flags = MSG_MORE,
    .send_group = group_send,
};
