/* SPDX-License-Identifier: MIT */
#include "engine/event_loop.h"

#include "transport/transport.h"

#include <errno.h>

/* ---- the driver ---- */

int dial_fail(const struct dial *dial, struct connection *connection, int result)
{
    struct problem *problem = &connection->shared->problem;
    if (result == -ECANCELED)
        problem_failure(problem, "the run was ended");
    else
        address_refused(dial->target, -result, problem);
    lifecycle_advance(&connection->state, EVENT_BROKEN);
    return result;
}

int dial_open(struct dial *dial, struct connection *connection)
{
    const struct plan *plan = connection->plan;
    bool blocking = !plan->ends[connection->end].engine->nonblocking;
    int family = dial->target->storage.ss_family;
    int fd = sockets_make(family, SOCK_STREAM, plan->transport->protocol, blocking);
    int result = fd < 0 ? -errno : dial->adopt(dial->owner, connection, fd);

    connection->calls.counts.made[CALL_SOCKET]++;
    lifecycle_advance(&connection->state, EVENT_CONNECT);
    connection->hello_left = plan_is_foreign(plan) ? 0 : HELLO_SIZE;
    connection_restart_loans(connection);
    if (result == 0)
        result = transport_prepare_again(plan, connection->end, &connection->calls, true);
    return result < 0 ? dial_fail(dial, connection, result) : 0;
}

int dial_connect(struct dial *dial, struct connection *connection)
{
    int result = dial_open(dial, connection);

    if (result < 0)
        return result;
    connection->calls.counts.made[CALL_CONNECT]++;
    if (connect(connection->calls.fd, &dial->target->any, dial->target->size) < 0 && errno != EINPROGRESS)
        result = -errno;
    if (result == -EAGAIN) {
        dial_close(dial, connection);
        lifecycle_advance(&connection->state, EVENT_RELEASED);
        return result;
    }
    if (result < 0)
        return dial_fail(dial, connection, result);
    lifecycle_advance(&connection->state, EVENT_CONNECTED);
    return 0;
}

int dial_send_hello(const struct dial *dial, struct connection *connection)
{
    uint8_t hello[HELLO_SIZE];
    hello_make(hello, dial->token, connection->number);
    while (connection->hello_left) {
        ssize_t sent = calls_send(&connection->calls, hello + HELLO_SIZE - connection->hello_left,
                                  connection->hello_left, MSG_MORE);
        if (sent < 0)
            return (int)sent;
        connection->hello_left -= (uint32_t)sent;
    }
    return security_begin(connection);
}

/* ---- the follower ---- */

int dial_assign(struct dial *dial, struct connection *connection, int fd)
{
    int result = dial->adopt(dial->owner, connection, fd);
    connection_restart_loans(connection);
    if (result == 0)
        result = transport_prepare_again(connection->plan, connection->end, &connection->calls, false);
    if (result == 0 && !dial->proved &&
        transport_check_connection(connection->plan, connection->end, fd, &connection->shared->problem) < 0)
        result = -EPROTONOSUPPORT;
    dial->proved = true;
    return result < 0 ? result : security_begin(connection);
}

/* ---- both ends ---- */

/* A driver first sends close_notify: all requests were answered, so the socket buffer has room. */
void dial_close(struct dial *dial, struct connection *connection)
{
    if (connection->drives && connection->filter_state && connection_is_open(connection))
        security_close_notify(connection);
    security_end(connection);
    connection->calls.counts.made[CALL_CLOSE]++;
    dial->drop(dial->owner, connection);
    lifecycle_advance(&connection->state, EVENT_DROPPED);
}
