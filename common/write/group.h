/* SPDX-License-Identifier: MIT */
/* The ways to send a group that several strategies share. */
#pragma once

#include "connection/strategy.h"

/* send_group(): sends the fragments of the group at the head by one send() each, with the flags of
 * the strategy. 0 when the end of the group was accepted or the queue is empty, else as
 * strategy_push(). */
int group_send(struct connection *connection);

/* send_group(): sends the group at the head, which must not be empty, by one sendmsg(). A group of
 * more than IOV_MAX fragments takes several, joined by MSG_MORE. Returns as group_send(). */
int group_send_vector(struct connection *connection);

/* For a strategy whose state is a bool: whether the cork is on. group_cork() switches it on if no
 * byte of the group at the head is accepted. group_uncork(), as finish_group(), switches it off. */
int group_cork(struct connection *connection);
int group_uncork(struct connection *connection);
