/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

static int send_group(struct connection *connection)
{
    return strategy_send_group(connection, MSG_MORE);
}

const struct strategy strategy_more = {
    .variant = {"more", "a send() for each fragment, MSG_MORE on all but the last of a group"},
    .needs = CAPABLE_MORE,
    .send_group = send_group,
};
