/* SPDX-License-Identifier: MIT */
#include "connection/workload.h"

#define AXIS workload
#define AXIS_NAME "workload"
#define AXIS_LIST "workload/list.def"
#include "base/axis.def"

enum role_index workload_role(const struct plan *plan, enum end end)
{
    static const enum role_index directed[][END_COUNT] = {
        [DIRECTION_SEND] = {ROLE_DRIVER, ROLE_FOLLOWER, ROLE_PROXY},
        [DIRECTION_RECEIVE] = {ROLE_FOLLOWER, ROLE_DRIVER, ROLE_PROXY},
        [DIRECTION_BOTH] = {ROLE_BOTH, ROLE_BOTH, ROLE_PROXY},
    };
    const struct workload *workload = plan->workload;

    if (!workload->has_direction)
        return end == END_CLIENT ? ROLE_DRIVER : ROLE_FOLLOWER;
    if (workload->roles[ROLE_TAKER] && plan_has_peer(plan) && plan->direction == DIRECTION_RECEIVE)
        return ROLE_TAKER;
    return directed[plan->direction][end];
}
