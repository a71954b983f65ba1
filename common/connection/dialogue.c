/* SPDX-License-Identifier: MIT */
#include "connection/dialogue.h"

#include "base/cleanup.h"
#include "connection/layer.h"
#include "connection/protocol.h"
#include "connection/source.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static const struct layer *layer_of(const struct connection *connection)
{
    return connection->filter_state ? connection->top : connection->bottom;
}

#define SILENT_MS 5000
#define SILENT_EACH_MS 5 /* for each connection of the run: this may be the last one */

static int silent_ms(const struct connection *connection)
{
    return SILENT_MS + SILENT_EACH_MS * (int)connection->plan->connections;
}

/* Returns `result` unless it means that the descriptor is not ready: then waits, and returns 0, or
 * -ETIMEDOUT. */
static ssize_t wait_if_blocked(struct connection *connection, ssize_t result, short events)
{
    struct pollfd ready = {connection->calls.fd, events, 0};

    connection->calls.flags = 0;
    if (result != -EAGAIN)
        return result;
    return poll(&ready, 1, silent_ms(connection)) == 0 ? -ETIMEDOUT : 0;
}

static int fail(struct connection *connection, ssize_t result)
{
    if (result == -ETIMEDOUT)
        return framing_refuse(connection, "was silent for %d s while the connection began",
                              silent_ms(connection) / 1000);
    return framing_refuse(connection, "ended the connection while it began: %s", strerror((int)-result));
}

int dialogue_send(struct connection *connection, const void *data, size_t size)
{
    const struct layer *layer = layer_of(connection);

    for (size_t done = 0; done < size;) {
        ssize_t sent;

        connection->calls.flags = MSG_DONTWAIT;
        sent = layer->send(connection, (const char *)data + done, size - done, 0);
        if ((sent = wait_if_blocked(connection, sent, POLLOUT)) < 0)
            return fail(connection, sent);
        done += (size_t)sent;
    }
    return 0;
}

int dialogue_receive(struct connection *connection, void *data, size_t size)
{
    const struct layer *layer = layer_of(connection);

    for (size_t done = 0; done < size;) {
        ssize_t received;

        connection->calls.flags = MSG_DONTWAIT;
        received = layer->receive(connection, (char *)data + done, size - done, 0);
        if (received == 0)
            received = -ECONNRESET;
        if ((received = wait_if_blocked(connection, received, POLLIN)) < 0)
            return fail(connection, received);
        done += (size_t)received;
    }
    return 0;
}

int dialogue_store(struct connection *connection, const struct call *what)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct call *call = framing_take(connection->framing);
    CLEANUP_FREE uint8_t *data = malloc(what->bytes);
    uint8_t head[PROTOCOL_SENT_MAX];
    struct piece piece = {0};
    int result = data ? 0 : -ENOMEM, needed;
    size_t held = 0;

    call->kind = what->kind;
    call->bytes = what->bytes;
    call->offset = what->offset;
    if (result < 0 || (result = dialogue_send(connection, head, protocol->ask(head, call))) < 0)
        return result;
    pattern_fill(data, call->bytes, call->offset);
    result = dialogue_send(connection, data, call->bytes);
    if (result == 0 && protocol->ask_end)
        result = dialogue_send(connection, protocol->ask_end, strlen(protocol->ask_end));
    while (result == 0 && !piece.is_last) {
        needed = protocol->reply(connection, head, held, &piece);
        if (needed > (int)sizeof head)
            return framing_refuse(connection, "sent a head of more than %u bytes", PROTOCOL_SENT_MAX);
        if (needed < 0)
            return needed;
        result = needed ? dialogue_receive(connection, head + held, (size_t)needed - held) : 0;
        held = (size_t)needed;
    }
    framing_release(connection->framing, call);
    return result;
}
