/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

#include "connection/security.h"
#include "transport/transport.h"

enum cork_layer strategy_cork_layer(const struct strategy_choice *choice, const struct security *security)
{
    if (choice->layer != CORK_BY_SECURITY)
        return choice->layer;
    return security->gives & CAPABLE_HOLD ? CORK_RECORD : CORK_SEGMENT;
}

unsigned strategy_needs(const struct strategy_choice *choice, const struct security *security,
                        const struct transport *transport)
{
    const struct strategy *strategy = choice->strategy;
    unsigned needs = strategy->needs | (transport->counts_segments ? strategy->joins : 0);

    if (!strategy->corks)
        return needs;
    return needs | (strategy_cork_layer(choice, security) == CORK_RECORD ? CAPABLE_HOLD : CAPABLE_CORK);
}
