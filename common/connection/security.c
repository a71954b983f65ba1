/* SPDX-License-Identifier: MIT */
#include "connection/security.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <stdlib.h>

int security_begin(struct connection *connection)
{
    const struct security *security = connection->security;

    lifecycle_advance(&connection->state, EVENT_OPENED);
    if (security->state_size && !(connection->filter_state = calloc(1, security->state_size)))
        return -ENOMEM;
    int result = security->open ? security->open(connection) : 0;
    if (result < 0)
        return result;
    if (security->handshake)
        atomic_store_explicit(&connection->handshake_ns, clock_now_ns(), memory_order_release);
    else
        lifecycle_advance(&connection->state, EVENT_SECURED);
    return 0;
}

void security_end(struct connection *connection)
{
    if (connection->filter_state)
        connection->security->close(connection);
    free(connection->filter_state);
    connection->filter_state = NULL;
    atomic_store_explicit(&connection->handshake_ns, 0, memory_order_relaxed);
}

ssize_t security_receive_control_record(struct connection *connection, ssize_t result, uint8_t *byte)
{
    if ((result != -EIO && result != 0) || !connection->filter_state)
        return result;
    return connection->top->receive(connection, byte, 1, MSG_DONTWAIT);
}

int security_close_notify(struct connection *connection)
{
    struct call_counts *counts = &connection->calls.counts;
    uint64_t records = counts->records_sent, bytes = counts->tls_bytes_sent;
    int result = connection->security->close_notify ? connection->security->close_notify(connection) : 0;
    counts->records_sent = records;
    counts->tls_bytes_sent = bytes;
    return result;
}

int security_half_close(struct connection *connection)
{
    struct call_counts counts = connection->calls.counts;
    int result = security_close_notify(connection);
    connection->calls.counts = counts;
    if (result == 0 && !connection->security->lingers)
        result = shutdown(connection->calls.fd, SHUT_WR) < 0 ? -errno : 0;
    if (result == 0)
        lifecycle_advance(&connection->state, EVENT_HALF_CLOSED);
    return result;
}

int security_open_context(struct thread_shared *shared, enum end peer, const struct security_terms *terms)
{
    const struct security *security = shared->plan->ends[shared->end].security;
    struct security_terms *context = calloc(1, security->context_size);
    if (!context)
        return -ENOMEM;
    *context = *terms;
    shared->contexts[peer] = context;
    return security->context_open(context);
}

void security_close_context(struct thread_shared *shared, enum end peer)
{
    void *context = shared->contexts[peer];
    if (!context)
        return;
    const struct security *security = shared->plan->ends[shared->end].security;
    security->context_close(context);
    secret_wipe(context, security->context_size);
    free(context);
    shared->contexts[peer] = NULL;
}
