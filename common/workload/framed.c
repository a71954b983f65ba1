/* SPDX-License-Identifier: MIT */
#include "workload/framed.h"

#include "base/digest.h"
#include "connection/protocol.h"
#include "workload/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define HEAD_LEAST 2u /* bytes of the shortest request that any protocol reads: an empty line */

/* ---- sending ---- */

static struct span *append(struct connection *connection, const uint8_t *data, uint64_t size)
{
    struct span *span = queue_append(&connection->queue);

    *span = (struct span){.data = data, .size = (uint32_t)size};
    return span;
}

/* Under verify=on, byte n of the content is byte n of the pattern. */
static const uint8_t *content(struct connection *connection, uint64_t offset, uint64_t size)
{
    const struct source *source = &connection->shared->source;

    if (!source->patterned)
        return source_take(source, &connection->source_position, size);
    return source->memory.bytes + offset % source->period;
}

/* The head has its memory until the span is released, for a strategy may lend it to the kernel. */
static struct span *append_piece(struct connection *connection,
                                 size_t (*write)(uint8_t *, const struct call *), const struct call *call,
                                 bool has_payload, const char *end)
{
    const struct send_queue *queue = &connection->queue;
    uint8_t *head = connection->framing->heads + (queue->appended & queue->mask) * PROTOCOL_SENT_MAX;
    struct span *last = append(connection, head, write(head, call));

    if (has_payload)
        last = append(connection, content(connection, call->offset, call->bytes), call->bytes);
    if (has_payload && end)
        last = append(connection, (const uint8_t *)end, strlen(end));
    last->marks = FRAGMENT_ENDS_MESSAGE;
    return last;
}

static uint64_t place(struct connection *connection, uint64_t bytes)
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
    struct asking *asking = connection->role_state;
    const struct plan *plan = connection->plan;
    uint64_t room = connection_room(connection);
    struct span *last = NULL;

    for (; room && asking_is_due(connection, asking) && connection_may_begin(connection, false); room--) {
        const struct operation *operation = operations_at(&plan->operations, asking->begun);
        struct call *call = framing_take(connection->framing);

        call->kind = operation->kind;
        call->bytes = operation->bytes;
        call->offset = place(connection, operation->bytes);
        asking_note_begun(connection->shared, asking, (uint32_t)call->cookie);
        last = append_piece(connection, plan->protocol->write_request, call, call->kind->stores,
                            plan->protocol->request_end);
    }
    if (last)
        last->marks |= FRAGMENT_ENDS_GROUP;
}

static uint64_t bytes_of_requests(const struct connection *connection, uint64_t count)
{
    const struct asking *asking = connection->role_state;
    const struct operations *operations = &connection->plan->operations;
    const struct protocol *protocol = connection->plan->protocol;
    size_t end = protocol->request_end ? strlen(protocol->request_end) : 0;
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < count; i++) {
        const struct operation *operation = operations_at(operations, asking->begun + i);
        struct call call = {.kind = operation->kind, .bytes = operation->bytes};
        uint8_t head[PROTOCOL_SENT_MAX];

        bytes += protocol->write_request(head, &call) + (call.kind->stores ? call.bytes + end : 0);
    }
    return bytes;
}

/* ---- receiving ---- */

static int inspect(struct connection *connection, const uint8_t *data, size_t size)
{
    const struct framing *framing = connection->framing;
    uint64_t offset = framing->piece.offset + framing->piece.payload - framing->left;
    size_t agree = pattern_compare(data, size, offset);

    if (agree == size)
        return 0;
    return framing_refuse(connection, "sent wrong content at byte %" PRIu64 " of a %s", offset + agree,
                          framing->piece.call->kind->name);
}

/* A server for foreign clients keeps what they write where its content has addresses. Clients that
 * write and read the same bytes at the same time race, as on a disk: each byte is the old one or
 * the new one. No test of ours does that, so ThreadSanitizer needs no exception. */
static void store(struct connection *connection, const uint8_t *data, size_t size)
{
    const struct framing *framing = connection->framing;
    uint64_t offset = framing->piece.offset + framing->piece.payload - framing->left;

    if (size && !connection->plan->protocol->has_keys)
        memcpy(connection->shared->source.memory.bytes + offset, data, size);
}

/* Takes bytes of a head, up to where it ends. Returns their number, or a negative errno value. */
static ssize_t take_head(struct connection *connection, const uint8_t *data, size_t size,
                         int (*parse)(struct connection *, const uint8_t *, size_t, struct piece *))
{
    struct framing *framing = connection->framing;
    size_t taken = 0;
    int needed;

    if (!framing->held) { /* most heads arrive whole, and are read where they are */
        needed = parse(connection, data, size, &framing->piece);
        if (needed < 0)
            return needed;
        if (needed == 0)
            return (ssize_t)framing->piece.size;
    } else {
        needed = parse(connection, framing->head, framing->held, &framing->piece);
    }
    while (needed > 0 && taken < size) {
        size_t part = (size_t)needed - framing->held;

        if ((size_t)needed > sizeof framing->head)
            return framing_refuse(connection, "sent a head of more than %u bytes", PROTOCOL_HEAD_MAX);
        if (part > size - taken)
            part = size - taken;
        memcpy(framing->head + framing->held, data + taken, part);
        framing->held += part;
        taken += part;
        needed = parse(connection, framing->head, framing->held, &framing->piece);
    }
    if (needed == 0)
        framing->held = 0;
    return needed < 0 ? needed : (ssize_t)taken;
}

/* Takes all bytes. Calls `whole` for each request or reply that they complete. */
static int take(struct connection *connection, const uint8_t *data, size_t size,
                int (*parse)(struct connection *, const uint8_t *, size_t, struct piece *),
                int (*whole)(struct connection *connection))
{
    struct framing *framing = connection->framing;
    const uint8_t *end = data + size;
    int result = 0;

    if (connection->digest)
        digest_library->update(connection->digest, data, size);
    while (data < end && result == 0) {
        size_t part;

        if (!framing->left) {
            ssize_t taken = take_head(connection, data, (size_t)(end - data), parse);

            framing->quits = taken == -ESHUTDOWN;
            if (taken < 0)
                return framing->quits ? 0 : (int)taken;
            data += taken;
            if (framing->held)
                break;
            framing->left = framing->piece.payload;
        }
        part = framing->left < (size_t)(end - data) ? framing->left : (size_t)(end - data);
        if (connection->plan->verify && inspect(connection, data, part) < 0)
            return -EBADMSG;
        if (connection->shared->content)
            store(connection, data, part);
        framing->left -= part;
        data += part;
        if (!framing->left && framing->piece.is_last)
            result = whole(connection);
    }
    connection->arrivals.partial = framing->held || framing->left || !framing->piece.is_last;
    return result;
}

/* ---- the client ---- */

static int client_whole(struct connection *connection)
{
    struct call *call = connection->framing->piece.call;

    asking_note_answered(connection->shared, connection->role_state, (uint32_t)call->cookie);
    framing_release(connection->framing, call);
    return 0;
}

/* One reading of the clock times all replies that the bytes complete. */
static int client_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    const struct asking *asking = connection->role_state;
    struct thread_shared *shared = connection->shared;
    uint64_t before = asking->answered;
    int result;

    shared->now_ns = clock_now_ns();
    result = take(connection, data, size, connection->plan->protocol->read_reply, client_whole);
    connection_count(connection, size, asking->answered - before);
    return result;
}

/* How long the reply is stands in its head. */
static size_t client_wants(const struct connection *connection)
{
    const struct asking *asking = connection->role_state;

    return asking->begun != asking->answered ? connection->shared->pool.size : 0;
}

/* ---- the server ---- */

/* A ring of requests that are whole, then one that arrives. */
struct owing {
    uint64_t received, answered;
    struct call calls[]; /* plan_slots() */
};

static size_t server_size(const struct plan *plan)
{
    return sizeof(struct owing) + plan_slots(plan) * sizeof(struct call);
}

static struct call *call_at(const struct connection *connection, uint64_t number)
{
    struct owing *owing = connection->role_state;

    return &owing->calls[number & connection->framing->mask];
}

/* Whether a request is one that op= can ask for: the source has the memory of its largest reply. A
 * protocol whose content has no addresses leaves framing->size at 0. Values that foreign clients
 * set are not kept. */
static bool is_in_op(const struct connection *connection, const struct call *call)
{
    const struct shape *shape = call->kind->fetches ? connection->outgoing : connection->incoming;
    const struct source *content = connection->shared->content;
    uint64_t size = content ? content->period : connection->framing->size;

    if (content && call->kind->stores && connection->plan->protocol->has_keys)
        return call->bytes > 0;
    if (!call->kind->fetches && !call->kind->stores)
        return true;
    return call->bytes && call->bytes <= shape->longest_span &&
           (!size || (call->offset <= size && call->bytes <= size - call->offset));
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    const struct owing *owing = connection->role_state;
    const struct plan *plan = connection->plan;
    struct framing *framing = connection->framing;
    struct call *call = piece->call = call_at(connection, owing->received);
    int result;

    if (framing->keys)
        call->key = framing->keys + (owing->received & framing->mask) * (PROTOCOL_KEY_MAX + 1);
    if (owing->received - owing->answered == plan->depth)
        return framing_refuse(connection, "sent more than depth=%" PRIu64 " requests at once", plan->depth);
    result = plan->protocol->read_request(connection, data, size, piece);
    if (result != 0 || is_in_op(connection, call))
        return result;
    return framing_refuse(connection,
                          "asked for a %s of %" PRIu64 " bytes at byte %" PRIu64 ", which op= does not have",
                          call->kind->name, call->bytes, call->offset);
}

static int server_whole(struct connection *connection)
{
    struct owing *owing = connection->role_state;

    owing->received++;
    return 0;
}

static int server_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct owing *owing = connection->role_state;
    uint64_t before = owing->received;
    int result = take(connection, data, size, read_request, server_whole);

    connection_count(connection, size, owing->received - before);
    return result;
}

static void fill_replies(struct connection *connection)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct owing *owing = connection->role_state;
    uint64_t room = connection_room(connection), count = owing->received - owing->answered;
    struct span *last = NULL;

    if (count > room)
        count = room;
    answering_burn(connection->shared, count);
    for (; count; count--) {
        const struct call *call = call_at(connection, owing->answered++);

        last =
            append_piece(connection, protocol->write_reply, call, call->kind->fetches, protocol->reply_end);
    }
    if (last)
        last->marks |= FRAGMENT_ENDS_GROUP;
}

/* A foreign client may have any number of requests under way: so many bytes that their heads fit
 * into the ring. A byte may end a head that is held. */
static size_t server_wants(const struct connection *connection)
{
    const struct owing *owing = connection->role_state;
    size_t wanted = connection->framing->quits ? 0 : role_wants_all(connection);
    uint64_t room = connection->plan->depth - (owing->received - owing->answered);
    uint64_t heads = room ? HEAD_LEAST * room - (connection->framing->held > 0) : 0;

    if (connection->shared->content && wanted > heads && wanted - heads > connection->framing->left)
        wanted = connection->framing->left + heads;
    return wanted;
}

static bool server_is_over(const struct connection *connection)
{
    return connection->framing->quits || answering_is_over(connection);
}

static const struct role client_role = {
    .sends = true,
    .receives = true,
    .clocks = true,
    .times = true,
    .frames = true,
    .state_size = asking_size,
    .begin = asking_begin,
    .fill = fill_requests,
    .wants = client_wants,
    .arrived = client_arrived,
    .answered = asking_answered,
    .next = asking_next,
    .bytes_of = bytes_of_requests,
    .missed = asking_missed,
};

static const struct role server_role = {
    .sends = true,
    .receives = true,
    .frames = true,
    .state_size = server_size,
    .fill = fill_replies,
    .wants = server_wants,
    .arrived = server_arrived,
    .answered = answering_answered,
    .over = server_is_over,
};

const struct role *const framed_roles[ROLE_COUNT] = {
    [ROLE_DRIVER] = &client_role, [ROLE_FOLLOWER] = &server_role};
