/* SPDX-License-Identifier: MIT */
#include "team/session.h"

#include "base/clock.h"

#include <assert.h>

#define LIMIT_JOIN_MS 3000    /* for all data connections, plus 1 ms for each */
#define LIMIT_CAPTURE_MS 3000 /* more if the client captures, which starts first */
#define LIMIT_RELAY_MS 5000   /* more if a subject relays, which starts last */

static uint64_t join_limit_ms(const struct plan *plan)
{
    return LIMIT_JOIN_MS + plan->connections + (plan_captures(plan) ? LIMIT_CAPTURE_MS : 0) +
           (plan_has_subject(plan) ? LIMIT_RELAY_MS + plan->ready_ns / NS_PER_MS : 0);
}

#define NONE 0
#define TO(name) (1u << SESSION_##name)
#define IS(type) (1u << CONTROL_##type)
#define COORDINATION (IS(DRAIN) | IS(DRAINING) | IS(MARKED))
#define ALWAYS(is_client) (IS(PING) | IS(FAILED) | (is_client ? IS(REFUSED) : NONE))

#define STATE(name, text, limit_of_client, limit, follow, of_client, of_server)                              \
    [SESSION_##name] = {follow, {of_server, of_client}},
static const struct {
    unsigned follow;     /* bits 1 << enum session_state */
    unsigned accepts[2]; /* of a server, of a client: bits 1 << enum control_type */
} table[SESSION_STATE_COUNT] = {
#include "team/session.def"
};
#undef STATE

uint64_t session_limit_ms(enum session_state state, bool is_client, const struct plan *plan)
{
    switch (state) {
#define STATE(name, text, limit_of_client, limit, ...)                                                       \
    case SESSION_##name:                                                                                     \
        return is_client ? (uint64_t)(limit_of_client) : (uint64_t)(limit);
#include "team/session.def"
    default:
        return 0;
    }
}

bool session_may_enter(enum session_state from, enum session_state to)
{
    return (table[from].follow & 1u << to) || (to == SESSION_CLOSING && from != SESSION_CLOSING);
}

bool session_accepts(const struct session *session, enum control_type type)
{
    return (table[session->state].accepts[session->is_client] | ALWAYS(session->is_client)) & 1u << type;
}

static void on_timer(uv_timer_t *timer)
{
    struct session *session = timer->data;
    session->timed_out(session->owner);
}

static void begin(struct session *session, enum session_state state)
{
    uint64_t limit_ms = session_limit_ms(state, session->is_client, session->plan);
    session->state = state;
    uv_timer_stop(&session->timer);
    if (limit_ms)
        uv_timer_start(&session->timer, on_timer, limit_ms, 0);
}

void session_open(struct session *session, uv_loop_t *loop, enum session_state state)
{
    uv_timer_init(loop, &session->timer);
    session->timer.data = session;
    begin(session, state);
}

void session_enter(struct session *session, enum session_state state)
{
    bool may = session_may_enter(session->state, state);
    assert(may);
    begin(session, may ? state : SESSION_CLOSING);
    if (!may)
        uv_timer_start(&session->timer, on_timer, 0, 0);
}

static void on_closed(uv_handle_t *timer)
{
    const struct session *session = timer->data;
    session->closed(session->owner);
}

void session_close(struct session *session)
{
    uv_close((uv_handle_t *)&session->timer, on_closed);
}
