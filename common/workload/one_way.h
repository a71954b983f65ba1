/* SPDX-License-Identifier: MIT */
/*
 * Messages one way, or both ways at the same time: the functions of roles (workload.h) that several
 * workloads share. One role sends as fast as it can, one receives, one does both.
 */
#ifndef UNCORK_WORKLOAD_ONE_WAY_H
#define UNCORK_WORKLOAD_ONE_WAY_H

#include "connection/workload.h"

void one_way_send(struct connection *connection);
void one_way_send_nothing(struct connection *connection);
size_t one_way_wants_nothing(const struct connection *connection);
int one_way_arrived(struct connection *connection, const uint8_t *data, size_t size);
int one_way_refuse(struct connection *connection, const uint8_t *data, size_t size);
uint64_t one_way_next(const struct connection *connection);
bool one_way_sent_all(const struct connection *connection);

/* `direction` decides which end sends; a proxy stands between the two. */
enum role_index one_way_role(const struct plan *plan, enum end end);

#define ONE_WAY_DRIVER                                                                                       \
    .sends = true, .fill = one_way_send, .wants = one_way_wants_nothing, .arrived = one_way_refuse,          \
    .next = one_way_next

#define ONE_WAY_FOLLOWER                                                                                     \
    .receives = true, .clocks = true, .fill = one_way_send_nothing, .wants = role_wants_all,                 \
    .arrived = one_way_arrived

#define ONE_WAY_BOTH                                                                                         \
    .sends = true, .receives = true, .clocks = true, .fill = one_way_send, .wants = role_wants_all,          \
    .arrived = one_way_arrived, .next = one_way_next, .over = one_way_sent_all

#endif
