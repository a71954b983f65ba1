/* SPDX-License-Identifier: MIT */
#include "connection/dialogue.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "connection/layer.h"
#include "connection/protocol.h"
#include "connection/source.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define WITHIN_MS 5000
#define WITHIN_EACH_MS 5  /* for each connection of the run: this may be the last one */
#define BYTES_PER_MS 100u /* the slowest peer */

/* Sends, or receives, all of `data`. */
static int move(struct connection *connection, char *data, size_t size, bool sends)
{
    const struct layer *layer = connection->filter_state ? connection->top : connection->bottom;
    uint64_t within_ms = WITHIN_MS + WITHIN_EACH_MS * connection->plan->connections + size / BYTES_PER_MS;
    uint64_t until_ns = clock_now_ns() + within_ms * NS_PER_MS, now_ns;
    struct pollfd ready = {connection->calls.fd, sends ? POLLOUT : POLLIN, 0};
    ssize_t moved;

    for (size_t done = 0; done<size; done += moved> 0 ? (size_t)moved : 0) {
        connection->calls.flags = MSG_DONTWAIT;
        moved = sends ? layer->send(connection, data + done, size - done, 0)
                      : layer->receive(connection, data + done, size - done, 0);
        connection->calls.flags = 0;
        if (moved == -EAGAIN && (now_ns = clock_now_ns()) < until_ns)
            poll(&ready, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
        else if (moved == -EAGAIN)
            return framing_refuse(connection, "was %s for %d s while the connection began",
                                  done ? "too slow" : "silent", (int)(within_ms / 1000));
        if (moved == 0)
            moved = -ECONNRESET;
        if (moved < 0 && moved != -EAGAIN)
            return framing_refuse(connection, "ended the connection while it began: %s",
                                  strerror((int)-moved));
    }
    return 0;
}

int dialogue_send(struct connection *connection, const void *data, size_t size)
{
    return move(connection, (char *)(uintptr_t)data, size, true);
}

int dialogue_receive(struct connection *connection, void *data, size_t size)
{
    return move(connection, data, size, false);
}

int dialogue_store(struct connection *connection, const struct operation_kind *kind, uint64_t offset,
                   uint64_t bytes)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct call *call = framing_take(connection->framing);
    CLEANUP_FREE uint8_t *data = malloc(bytes);
    uint8_t head[PROTOCOL_SENT_MAX];
    struct piece piece = {0};
    int result = data ? 0 : -ENOMEM, needed;
    size_t held = 0;

    call->kind = kind;
    call->bytes = bytes;
    call->offset = offset;
    if (result < 0 || (result = dialogue_send(connection, head, protocol->write_request(head, call))) < 0)
        return result;
    pattern_fill(data, bytes, offset);
    result = dialogue_send(connection, data, bytes);
    if (result == 0 && protocol->request_end)
        result = dialogue_send(connection, protocol->request_end, strlen(protocol->request_end));
    while (result == 0 && !piece.is_last) {
        needed = protocol->read_reply(connection, head, held, &piece);
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
