/* SPDX-License-Identifier: MIT */
/* The states of a connection and their transitions: the table is lifecycle.def. */
#pragma once

#define STATE(name, text) STATE_##name,
#define EVENT(name, text)
#define NEXT(state, event, next)
enum state {
#include "connection/lifecycle.def"
    STATE_COUNT
};
#undef STATE
#undef EVENT

#define STATE(name, text)
#define EVENT(name, text) EVENT_##name,
enum event {
#include "connection/lifecycle.def"
    EVENT_COUNT
};
#undef STATE
#undef EVENT
#undef NEXT

/* The state that follows `event` in `state`; STATE_COUNT if the event cannot happen there. */
enum state lifecycle_next(enum state state, enum event event);

/* The same, but an event that cannot happen aborts a debug build; others go to STATE_FAILED. */
void lifecycle_advance(enum state *state, enum event event);
