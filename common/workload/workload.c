/* SPDX-License-Identifier: MIT */
#include "connection/workload.h"

#define AXIS workload
#define AXIS_NAME "workload"
#define AXIS_LIST "workload/list.def"
#include "base/axis.def"

enum role_index workload_role(const struct plan *plan, enum end end)
{
    const struct workload *workload = plan->workload;
    enum direction direction = workload->has_direction ? plan->direction : DIRECTION_SEND;

    if (workload->roles[ROLE_TAKER] && plan_has_peer(plan) && direction == DIRECTION_RECEIVE)
        return ROLE_TAKER;
    if (workload->has_direction && end == END_PROXY)
        return ROLE_PROXY;
    if (direction == DIRECTION_BOTH)
        return ROLE_BOTH;
    return (end == END_CLIENT) == (direction == DIRECTION_SEND) ? ROLE_DRIVER : ROLE_FOLLOWER;
}
