/* SPDX-License-Identifier: MIT */
/* The states of a session, which client, server and proxy go through alike: the table is
 * session.def. */
#pragma once

#include "control/codec.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <uv.h>

#define STATE(name, ...) SESSION_##name,
enum session_state {
#include "team/session.def"
    SESSION_STATE_COUNT
};
#undef STATE

struct session {
    enum session_state state;
    bool is_client;
    const struct plan *plan;
    uv_timer_t timer; /* the time limit of the state */
    void (*timed_out)(void *owner);
    void (*closed)(void *owner); /* after session_close() */
    void *owner;
};

/* Begins in `state`: ACCEPTED at a server. The other fields but for the timer are set. */
void session_open(struct session *session, uv_loop_t *loop, enum session_state state);

/* Enters a state and starts its time limit. A state that may not follow aborts a debug build. In
 * others the session enters CLOSING, and its time is up at once: the owner then closes. */
void session_enter(struct session *session, enum session_state state);

/* Whether a message of the other end belongs into this state. */
bool session_accepts(const struct session *session, enum control_type type);

/* The table, for tests. session_limit_ms(): 0 if the state has no time limit. */
bool session_may_enter(enum session_state from, enum session_state to);
uint64_t session_limit_ms(enum session_state state, bool is_client, const struct plan *plan);

/* Closes the timer, in CLOSING. */
void session_close(struct session *session);
