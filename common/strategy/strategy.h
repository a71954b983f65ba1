/* SPDX-License-Identifier: MIT */
/* The list of write strategies, and functions that several of them share. */
#ifndef UNCORK_STRATEGY_STRATEGY_H
#define UNCORK_STRATEGY_STRATEGY_H

#include "connection/strategy.h"

extern const struct axis strategy_axis;

/* Sends the fragments of the group at the head by one send() each, with `more` as flags on all but
 * the last. 0 when the end of the group was accepted or the queue is empty, else as push(). */
int strategy_send_group(struct connection *connection, int more);

/* send_group(): strategy_send_group() without flags. */
int strategy_send_each(struct connection *connection);

/* send_group(): sends the group at the head by one sendmsg(). A group of more than IOV_MAX fragments takes
 * several, joined by MSG_MORE. Returns as strategy_send_group(). */
int strategy_send_vector(struct connection *connection);

/* The end of a group was accepted and the strategy holds nothing back: flushes the security layer,
 * then the queue. 0, or as push(). */
int strategy_flush(struct connection *connection);

/* push() of the strategies that hold nothing back. Sends each group by send_group(), then flushes
 * it. send_group() returns 0 when the end of the group at the head was accepted. */
int strategy_push_groups(struct connection *connection);

#endif
