/* SPDX-License-Identifier: MIT */
#include "security/security.h"
#include "strategy/strategy.h"
#include "transport/cork.h"

/* Where the group at the head stands. Releasing comes after its last byte was accepted: the next group must
 * wait. */
enum stage { BETWEEN_GROUPS, SENDING, RELEASING };

struct cork {
    enum stage stage;
    bool held; /* the cork is on: off again before the group counts as flushed */
};

static size_t state_size(size_t longest_group)
{
    (void)longest_group;
    return sizeof(struct cork);
}

static int hold(struct connection *connection, struct cork *cork, bool on)
{
    int result = connection->cork_layer == CORK_RECORD ? connection->security->hold(connection, on)
                                                       : cork_set(&connection->calls, on);

    if (result == 0)
        cork->held = on;
    return result;
}

static int begin_group(struct connection *connection, struct cork *cork)
{
    uint64_t limit = connection->strategy_parameter;

    if (limit == PARAMETER_NONE || queue_group_bytes(&connection->queue) <= limit)
        return hold(connection, cork, true);
    return 0;
}

static int release(struct connection *connection, struct cork *cork)
{
    int result = cork->held ? hold(connection, cork, false) : 0;

    return result < 0 ? result : strategy_flush(connection);
}

static int push_stage(struct connection *connection, struct cork *cork)
{
    switch (cork->stage) {
    case BETWEEN_GROUPS:
        return begin_group(connection, cork);
    case SENDING:
        return strategy_send_group(connection, 0);
    case RELEASING:
        return release(connection, cork);
    }
    return -EINVAL;
}

static int push(struct connection *connection)
{
    struct cork *cork = connection->strategy_state;

    while (queue_head(&connection->queue) || cork->stage != BETWEEN_GROUPS) {
        int result = push_stage(connection, cork);

        queue_release(&connection->queue);
        if (result < 0)
            return result;
        cork->stage = cork->stage == RELEASING ? BETWEEN_GROUPS : cork->stage + 1;
    }
    return 0;
}

const struct strategy strategy_cork = {
    .variant = {"cork", "the cork on, a send() for each fragment, the cork off"},
    .parameter = "corks only groups up to that size",
    .corks = true,
    .nodelay = true,
    .state_size = state_size,
    .push = push,
};
