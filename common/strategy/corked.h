/* SPDX-License-Identifier: MIT */
/* Functions of the strategies that send each group under a cork. */
#ifndef UNCORK_STRATEGY_CORKED_H
#define UNCORK_STRATEGY_CORKED_H

#include "strategy/strategy.h"

/* State of these strategies: the stage of the group at the head. RELEASING begins when its last byte
 * was accepted; the next group must wait. */
struct corked {
    enum { BETWEEN_GROUPS, SENDING, RELEASING } stage;
    bool held; /* the cork is on; it must be off before the group counts as flushed */
};

/* For push() of these strategies. Sends each group as strategy_push_groups() does. If `corks` returns
 * true for the group at the head, the cork of the connection's layer is on. */
int corked_push(struct connection *connection, bool (*corks)(const struct connection *connection));

#endif
