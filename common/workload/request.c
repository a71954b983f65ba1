/* SPDX-License-Identifier: MIT */
/* Request and reply over persistent connections, in a protocol with heads; exchange.c has none. */
#include "base/digest.h"
#include "connection/protocol.h"
#include "workload/roles.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#define HEAD_MIN 2u /* bytes of the shortest request of any protocol that has a reply: an empty line */

/* ---- sending ---- */

static struct span *append(struct connection *connection, const void *data, uint64_t size)
{
    struct span *span = queue_append(&connection->queue);
    *span = (struct span){.data = data, .size = (uint32_t)size};
    return span;
}

/* The memory of the head belongs to the span until its release, because a strategy may lend it to
 * the kernel. With verify=on, byte n of the content is byte n of the pattern. */
static struct span *append_piece(struct connection *connection,
                                 size_t (*write)(uint8_t *, const struct call *), const struct call *call,
                                 bool has_payload, const char *end)
{
    const struct send_queue *queue = &connection->queue;
    const struct source *source = &connection->shared->source;
    uint8_t *head = connection->framing->heads + (queue->appended & queue->mask) * PROTOCOL_SENT_MAX;
    struct span *last = append(connection, head, write(head, call));

    if (has_payload) {
        const uint8_t *content = source->patterned
                                     ? source->memory.bytes + call->offset % source->period
                                     : source_take(source, &connection->source_position, call->bytes);
        last = append(connection, content, call->bytes);
    }
    if (has_payload && end)
        last = append(connection, end, strlen(end));
    last->marks = FRAGMENT_ENDS_MESSAGE;
    return last;
}

/* Returns the offset of the next request in the content. */
static uint64_t next_offset(struct connection *connection, uint64_t bytes)
{
    struct framing *framing = connection->framing;
    uint64_t at = framing->next + bytes > framing->share ? 0 : framing->next;
    if (connection->plan->protocol->has_keys)
        return framing->next++ % PROTOCOL_KEYS(bytes) * bytes;
    framing->next = at + bytes;
    return framing->first + at;
}

static void fill_requests(struct connection *connection)
{
    struct requester *requester = connection->role_state;
    const struct plan *plan = connection->plan;
    uint64_t room = connection_room(connection);
    struct span *last = NULL;

    for (; room && requester_is_due(connection, requester) && connection_may_begin(connection, false);
         room--) {
        const struct operation *operation = operations_at(&plan->operations, requester->begun);
        uint64_t offset = next_offset(connection, operation->bytes);
        struct call *call = framing_take(connection->framing, operation->kind, operation->bytes, offset);
        requester_note_begun(connection->shared, requester, (uint32_t)call->cookie);
        last = append_piece(connection, plan->protocol->write_request, call, call->kind->stores,
                            plan->protocol->request_end);
    }
    if (last)
        last->marks |= FRAGMENT_ENDS_GROUP;
}

static uint64_t bytes_of_requests(const struct connection *connection, uint64_t count)
{
    const struct requester *requester = connection->role_state;
    const struct operations *operations = &connection->plan->operations;
    const struct protocol *protocol = connection->plan->protocol;
    size_t end = protocol->request_end ? strlen(protocol->request_end) : 0;
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < count; i++) {
        const struct operation *operation = operations_at(operations, requester->begun + i);
        struct call call = {.kind = operation->kind, .bytes = operation->bytes};
        uint8_t head[PROTOCOL_SENT_MAX];
        bytes += protocol->write_request(head, &call) + (call.kind->stores ? call.bytes + end : 0);
    }
    return bytes;
}

/* ---- receiving ---- */

/* Whether op= allows this request: the source has memory for the largest reply of op= only. Without
 * addresses framing->size is 0. Values of foreign clients are not stored, but must fit into the
 * content. */
static bool is_in_op(const struct connection *connection, const struct call *call)
{
    const struct shape *shape = call->kind->fetches ? connection->outgoing : connection->incoming;
    const struct source *content = connection->shared->content;
    uint64_t size = content ? content->period : connection->framing->size;
    if (call->kind->refused || (!call->kind->fetches && !call->kind->stores))
        return true;
    if (content && call->kind->stores && connection->plan->protocol->has_keys)
        return call->bytes <= size;
    return call->bytes && call->bytes <= shape->longest_span &&
           (!size || (call->offset <= size && call->bytes <= size - call->offset));
}

static int refuse_long_head(struct connection *connection)
{
    return framing_refuse(connection, "sent a head of more than %u bytes", PROTOCOL_HEAD_MAX);
}

/* A foreign client has broken the protocol: drops what it sends, answers this, and ends. */
static int read_violation(struct connection *connection, size_t size, struct call *call)
{
    call->kind = connection->plan->protocol->violation;
    call->field = NULL;
    connection->framing->piece = (struct piece){.call = call, .is_last = true};
    connection->framing->quits = true;
    return (int)size;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size)
{
    const struct plan *plan = connection->plan;
    const struct protocol *protocol = plan->protocol;
    struct framing *framing = connection->framing;
    uint64_t slot = framing->received & framing->mask;
    struct call *call = &framing->calls[slot];

    if (framing->keys)
        call->key = framing->keys + slot * (PROTOCOL_KEY_MAX + 1);
    if (framing->received - framing->answered == plan->depth)
        return framing_refuse(connection, "sent more than depth=%" PRIu64 " requests at once", plan->depth);
    int head = protocol->read_request(connection, data, size, call);
    if (head > (int)PROTOCOL_HEAD_MAX && (size_t)head > size)
        head = refuse_long_head(connection);
    if (head == -EBADMSG && framing->keys && protocol->violation)
        return read_violation(connection, size, call);
    if (head < 0 || (size_t)head > size)
        return head;
    if (!is_in_op(connection, call)) {
        if (!framing->keys || !protocol->reject)
            return framing_refuse(connection,
                                  "asked for a %s of %" PRIu64 " bytes at byte %" PRIu64
                                  ", which op= does not allow",
                                  call->kind->name, call->bytes, call->offset);
        protocol->reject(connection, call);
    }
    uint64_t payload = call->kind->stores ? call->bytes : 0;
    framing->piece =
        (struct piece){call, payload, call->offset, !call->kind->stores || !protocol->request_end};
    return head;
}

/* Reads the head of the next piece, as read_reply(), or the text after the payload of a request. */
static int parse(struct connection *connection, const uint8_t *data, size_t size)
{
    const struct protocol *protocol = connection->plan->protocol;
    const char *end = protocol->request_end;
    struct piece *piece = &connection->framing->piece;

    if (connection->drives)
        return protocol->read_reply(connection, data, size, piece);
    if (!piece->call || piece->is_last)
        return read_request(connection, data, size);
    if (memcmp(data, end, MIN(size, strlen(end))) != 0) {
        int result = framing_refuse_text(connection, data, size, NO_REQUEST);
        return connection->framing->keys && protocol->violation
                   ? read_violation(connection, size, piece->call)
                   : result;
    }
    if (size >= strlen(end))
        *piece = (struct piece){.call = piece->call, .is_last = true};
    return (int)strlen(end);
}

/* Collects and parses a head. Returns how many bytes of `data` belong to it, or a negative errno
 * value. framing->held is 0 if the head is complete. */
static ssize_t take_head(struct connection *connection, const uint8_t *data, size_t size)
{
    struct framing *framing = connection->framing;
    bool in_place = !framing->held;
    int needed = in_place ? parse(connection, data, size) : parse(connection, framing->head, framing->held);
    size_t taken = 0;

    if (needed < 0 || (in_place && (size_t)needed <= size)) /* most heads arrive whole */
        return needed;
    while ((size_t)needed > framing->held && taken < size) {
        if ((size_t)needed > sizeof framing->head)
            return refuse_long_head(connection);
        size_t part = MIN((size_t)needed - framing->held, size - taken);
        memcpy(framing->head + framing->held, data + taken, part);
        framing->held += part;
        taken += part;
        needed = parse(connection, framing->head, framing->held);
        if (needed < 0)
            return needed;
    }
    if ((size_t)needed <= framing->held)
        framing->held = 0;
    return (ssize_t)taken;
}

/* Handles all bytes. Adds the number of requests or replies that they complete to `whole`. Verifies
 * payload, as the plan says. A server for foreign clients stores it, if the content has addresses.
 * Clients that write and read the same bytes at the same time race, as on a disk: each byte is the
 * old one or the new one. No test does that, so ThreadSanitizer needs no exception. */
static int take(struct connection *connection, const uint8_t *data, size_t size, uint64_t *whole)
{
    const struct plan *plan = connection->plan;
    struct framing *framing = connection->framing;
    const struct piece *piece = &framing->piece;
    const uint8_t *end = data + size;

    while (data < end && !framing->quits) {
        if (!framing->left) {
            ssize_t taken = take_head(connection, data, (size_t)(end - data));
            if (UNLIKELY(taken < 0)) {
                framing->quits = taken == -ESHUTDOWN;
                return framing->quits ? 0 : (int)taken;
            }
            data += taken;
            if (framing->held)
                break;
            framing->left = piece->payload;
        }
        size_t part = MIN(framing->left, (size_t)(end - data));
        uint64_t offset = piece->offset + piece->payload - framing->left;
        size_t agree = plan->verify ? pattern_compare(data, part, offset) : part;
        if (agree != part)
            return framing_refuse(connection, "sent wrong content at byte %" PRIu64 " of a %s",
                                  offset + agree, piece->call->kind->name);
        if (part && connection->shared->content && !plan->protocol->has_keys && !piece->call->kind->refused)
            memcpy(connection->shared->source.memory.bytes + offset, data, part);
        framing->left -= part;
        data += part;
        if (framing->left || !piece->is_last)
            continue;
        ++*whole;
        if (connection->drives) {
            requester_note_reply(connection->shared, connection->role_state, (uint32_t)piece->call->cookie);
            framing_release(framing, piece->call);
        } else {
            framing->received += !piece->call->kind->silent;
        }
    }
    connection->arrivals.partial = framing->held || framing->left || !piece->is_last;
    return 0;
}

/* All replies that the bytes complete have the same time: the clock is read once. */
static int framed_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    uint64_t whole = 0;
    if (connection->drives)
        connection->shared->now_ns = clock_now_ns();
    if (connection->digest)
        digest_update(connection->digest, data, size);
    int result = take(connection, data, size, &whole);
    connection_count_bytes(connection, size, whole);
    return result;
}

/* ---- the roles ---- */

/* Only the head of a reply says how long it is. */
static size_t client_wants(const struct connection *connection)
{
    const struct requester *requester = connection->role_state;
    return requester->begun == requester->answered ? 0 : connection->shared->pool.size;
}

static void fill_replies(struct connection *connection)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct framing *framing = connection->framing;
    uint64_t room = connection_room(connection), count = MIN(room, framing->received - framing->answered);
    struct span *last = NULL;

    if (count && connection->plan->spin_ns)
        responder_spin(connection->shared, count);
    if (count && connection->shared->content)
        atomic_store_explicit(&connection->shared->has_answered, true, memory_order_relaxed);
    for (; count; count--) {
        const struct call *call = &framing->calls[framing->answered++ & framing->mask];
        const char *end = call->kind->reply_end ? call->kind->reply_end : protocol->reply_end;
        last = append_piece(connection, protocol->write_reply, call, call->kind->fetches, end);
    }
    if (last)
        last->marks |= FRAGMENT_ENDS_GROUP;
}

/* A foreign client may send any number of requests at once: the server accepts the rest of the
 * payload, and no more heads than the ring has room for. One byte may complete a held head. */
static size_t server_wants(const struct connection *connection)
{
    const struct framing *framing = connection->framing;
    size_t wanted = framing->quits ? 0 : role_wants_all(connection);
    uint64_t room = connection->plan->depth - (framing->received - framing->answered);
    uint64_t heads = room ? HEAD_MIN * room - (framing->held > 0) : 0;
    if (connection->shared->content && wanted > heads && wanted - heads > framing->left)
        wanted = framing->left + heads;
    return wanted;
}

static bool server_is_over(const struct connection *connection)
{
    return connection->framing->quits || responder_is_over(connection);
}

static const struct role framed_client = {
    REQUESTER,
    .fill = fill_requests,
    .wants = client_wants,
    .arrived = framed_arrived,
    .bytes_of = bytes_of_requests,
};

static const struct role framed_server = {
    .receives = true,
    .answers = true,
    .fill = fill_replies,
    .wants = server_wants,
    .arrived = framed_arrived,
    .over = server_is_over,
};

const struct workload workload_request = {
    .variant = {"request", "the client sends message, the server answers each with reply"},
    .roles = {[ROLE_DRIVER] = &requester_role, [ROLE_FOLLOWER] = &responder_role},
    .framed = {[ROLE_DRIVER] = &framed_client, [ROLE_FOLLOWER] = &framed_server},
};
