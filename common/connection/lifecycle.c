/* SPDX-License-Identifier: MIT */
#include "connection/connection.h"

#include <assert.h>

/* The next state plus 1; 0: no transition. */
#define STATE(name, text)
#define EVENT(name, text)
#define NEXT(state, event, next) [STATE_##state][EVENT_##event] = STATE_##next + 1,
static const unsigned char table[STATE_COUNT][EVENT_COUNT] = {
#include "connection/lifecycle.def"
};

enum state lifecycle_next(enum state state, enum event event)
{
    if (event == EVENT_BROKEN)
        return STATE_FAILED;
    return table[state][event] ? (enum state)(table[state][event] - 1) : STATE_COUNT;
}

void lifecycle_advance(enum state *state, enum event event)
{
    enum state next = lifecycle_next(*state, event);
    assert(next != STATE_COUNT);
    *state = next == STATE_COUNT ? STATE_FAILED : next;
}
