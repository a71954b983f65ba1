/* SPDX-License-Identifier: MIT */
#include "connection/protocol.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "connection/layer.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WITHIN_MS 5000
#define WITHIN_EACH_MS 5  /* for each connection of the run: this may be the last one */
#define BYTES_PER_MS 100u /* the slowest peer */

/* ---- requests in flight ---- */

uint64_t framing_bytes(const struct plan *plan, uint64_t spans, bool has_keys)
{
    uint64_t of_slot = sizeof(struct call) + sizeof(uint32_t) + (has_keys ? PROTOCOL_KEY_MAX + 1 : 0);
    return sizeof(struct framing) + plan_slots(plan) * of_slot + spans * PROTOCOL_SENT_MAX;
}

int framing_open(struct connection *connection)
{
    const struct plan *plan = connection->plan;
    uint64_t slots = plan_slots(plan), spans = connection->queue.mask + 1;
    bool has_keys = connection->shared->content;
    struct framing *framing = connection->framing = calloc(1, framing_bytes(plan, spans, has_keys));

    if (!framing)
        return -ENOMEM;
    framing->mask = slots - 1;
    framing->calls = (struct call *)(framing + 1);
    framing->spare = (uint32_t *)(framing->calls + slots);
    framing->heads = (uint8_t *)(framing->spare + slots);
    framing->keys = has_keys ? (char *)framing->heads + spans * PROTOCOL_SENT_MAX : NULL;
    for (uint32_t slot = 0; slot < plan->depth; slot++) {
        framing->calls[slot].cookie = slot;
        framing->spare[framing->freed++] = slot;
    }
    return 0;
}

void framing_set_size(struct connection *connection, uint64_t size)
{
    struct framing *framing = connection->framing;
    framing->size = size;
    framing->share = size / connection->plan->connections;
    framing->first = framing->share * connection->number;
    if (connection->plan->verify && framing->share > FRAMING_CHECKED_MAX)
        framing->share = FRAMING_CHECKED_MAX;
}

static struct call *call_at(const struct framing *framing, uint64_t number)
{
    return &framing->calls[framing->spare[number & framing->mask]];
}

/* A slot gets a new cookie for each request, so a second reply to the same request is detected. */
struct call *framing_take(struct framing *framing, const struct operation_kind *kind, uint64_t bytes,
                          uint64_t offset)
{
    struct call *call = call_at(framing, framing->taken++);
    *call = (struct call){.kind = kind,
                          .bytes = bytes,
                          .offset = offset,
                          .cookie = call->cookie + (UINT64_C(1) << 32),
                          .under_way = true};
    return call;
}

void framing_release(struct framing *framing, struct call *call)
{
    call->under_way = false;
    framing->spare[framing->freed++ & framing->mask] = (uint32_t)(call - framing->calls);
}

/* Replies come in order, so slots are freed in the order in which they were taken. */
struct call *framing_oldest(struct connection *connection)
{
    const struct framing *framing = connection->framing;
    struct call *call = call_at(framing, framing->freed - connection->plan->depth);
    if (call->under_way)
        return call;
    framing_refuse(connection, "sent a reply for which no request waits");
    return NULL;
}

struct call *framing_find(struct connection *connection, uint64_t cookie)
{
    uint32_t slot = (uint32_t)cookie;
    struct call *call = slot < connection->plan->depth ? &connection->framing->calls[slot] : NULL;
    if (call && call->under_way && call->cookie == cookie)
        return call;
    framing_refuse(connection, "sent a reply for which no request waits: cookie 0x%" PRIx64, cookie);
    return NULL;
}

int framing_refuse(struct connection *connection, const char *format, ...)
{
    const struct plan *plan = connection->plan;
    char text[400];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return connection_refuse(connection, "protocol=%s: the %s %s", plan->protocol->variant.name,
                             plan_name_of(plan, connection->peer), text);
}

void framing_show(char shown[FRAMING_SHOWN_MAX], const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size && i < FRAMING_SHOWN_MAX / 4; i++) {
        if (data[i] == '\r' || data[i] == '\n')
            shown += sprintf(shown, data[i] == '\r' ? "\\r" : "\\n");
        else
            shown += sprintf(shown, data[i] < ' ' || data[i] > '~' ? "\\x%02x" : "%c", data[i]);
    }
    *shown = '\0';
}

int framing_refuse_text(struct connection *connection, const uint8_t *data, size_t size, const char *what)
{
    char sent[FRAMING_SHOWN_MAX];
    framing_show(sent, data, size);
    return framing_refuse(connection, "sent \"%s\", %s", sent, what);
}

/* ---- the dialogue before the first request ---- */

/* Sends, or receives, all of `data`. */
static int move(struct connection *connection, char *data, size_t size, bool sends)
{
    const struct layer *layer = connection->filter_state ? connection->top : &layer_socket;
    uint64_t within_ms = WITHIN_MS + WITHIN_EACH_MS * connection->plan->connections + size / BYTES_PER_MS;
    uint64_t until_ns = clock_now_ns() + within_ms * NS_PER_MS;
    struct pollfd ready = {connection->calls.fd, sends ? POLLOUT : POLLIN, 0};

    for (size_t done = 0; done < size;) {
        connection->calls.flags = MSG_DONTWAIT;
        ssize_t moved = sends ? layer->send(connection, data + done, size - done, 0)
                              : layer->receive(connection, data + done, size - done, 0);
        connection->calls.flags = 0;
        uint64_t now_ns = clock_now_ns();
        if (moved > 0)
            done += (size_t)moved;
        else if (moved != -EAGAIN)
            return framing_refuse(connection, "ended the connection while it began: %s",
                                  strerror(moved ? (int)-moved : ECONNRESET));
        else if (now_ns < until_ns)
            poll(&ready, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
        else
            return framing_refuse(connection, "was %s for %d s while the connection began",
                                  done ? "too slow" : "silent", (int)(within_ms / 1000));
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
    const char *end = protocol->request_end ? protocol->request_end : "";
    CLEANUP_FREE uint8_t *data = malloc(bytes);
    uint8_t head[PROTOCOL_SENT_MAX];

    if (!data)
        return -ENOMEM;
    pattern_fill(data, bytes, offset);
    struct call *call = framing_take(connection->framing, kind, bytes, offset);
    if (dialogue_send(connection, head, protocol->write_request(head, call)) < 0 ||
        dialogue_send(connection, data, bytes) < 0 || dialogue_send(connection, end, strlen(end)) < 0)
        return -EBADMSG;
    struct piece piece = {0};
    for (int held = 0; !piece.is_last;) {
        int needed = protocol->read_reply(connection, head, (size_t)held, &piece);
        if (needed > (int)sizeof head)
            return framing_refuse(connection, "sent a head of more than %u bytes", PROTOCOL_SENT_MAX);
        if (needed < 0 || dialogue_receive(connection, head + held, (size_t)(needed - held)) < 0)
            return -EBADMSG;
        held = needed > held ? needed : 0;
    }
    framing_release(connection->framing, call);
    return 0;
}
