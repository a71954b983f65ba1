/* SPDX-License-Identifier: MIT */
/* Messages one way, or both ways at the same time: roles (workload.h) that several workloads share.
 * The driver sends as fast as it can, the follower receives, `both` does both. */
#pragma once

#include "connection/workload.h"

extern const struct role one_way_driver, one_way_follower, one_way_both;

/* arrived() of a role that must not receive. Returns -EBADMSG with the problem of the thread. */
int one_way_refuse(struct connection *connection, const uint8_t *data, size_t size);

/* `direction` decides which end sends; a proxy stands between the two. */
enum role_index one_way_role(const struct plan *plan, enum end end);
