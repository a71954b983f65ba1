/* SPDX-License-Identifier: MIT */
#include "contract.h"

#include "unit.h"

#define REQUESTS_MAX 64
#define VECTORS_MAX 64

/* ---- the ring ---- */

struct late_request {
    struct connection *connection;
    struct iovec vectors[VECTORS_MAX];
    int count;
    bool sent;      /* completed, but its memory is still lent */
    uint64_t turns; /* until it returns the memory */
};

static struct late_request requests[REQUESTS_MAX]; /* oldest first */
static size_t request_count;
static struct dice dice;

void ring_reset(uint64_t seed)
{
    request_count = 0;
    dice.state = seed;
}

bool ring_is_empty(void)
{
    return request_count == 0;
}

static void ring_submit(struct connection *connection, const struct iovec *vectors, int count)
{
    struct late_request *request = &requests[request_count++];

    assert_true(request_count <= REQUESTS_MAX && count <= VECTORS_MAX);
    *request = (struct late_request){.connection = connection, .count = count};
    memcpy(request->vectors, vectors, (size_t)count * sizeof *vectors);
}

/* Sends a part of the request, never more than some 3000 bytes. */
static ssize_t carry_out(struct late_request *request)
{
    struct msghdr message = {.msg_iov = request->vectors,
                             .msg_iovlen = 1 + dice_roll(&dice, (uint64_t)request->count)};
    struct iovec *last = &request->vectors[message.msg_iovlen - 1];
    size_t some = 1 + dice_roll(&dice, 3000);

    if (last->iov_len > some)
        last->iov_len = some;
    return sendmsg(request->connection->calls.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int complete(struct late_request *request)
{
    struct connection *connection = request->connection;
    struct late_request whole = *request;
    ssize_t sent = carry_out(request);

    *request = whole;
    if (sent < 0 && errno == EAGAIN)
        return 0; /* the ring waits by itself */
    request->sent = true;
    request->turns = dice_roll(&dice, 12);
    return connection->strategy->completed(
        connection, &(struct completion){.result = sent < 0 ? -errno : (int)sent, .more = true});
}

static bool is_oldest(const struct late_request *request)
{
    for (const struct late_request *other = requests; other < request; other++)
        if (other->connection == request->connection)
            return false;
    return true;
}

/* The memory of one connection comes back in the order in which it was lent. */
static int give_back(struct late_request *request)
{
    struct connection *connection = request->connection;

    memmove(request, request + 1, (size_t)(requests + request_count - request - 1) * sizeof *request);
    request_count--;
    return connection->strategy->completed(connection, &(struct completion){.is_notification = true});
}

int ring_turn(void)
{
    int result = 0;

    for (size_t i = 0; i < request_count && result == 0; i++) {
        struct late_request *request = &requests[i];

        if (!request->sent) {
            result = complete(request);
        } else if (request->turns) {
            request->turns--;
        } else if (is_oldest(request)) {
            result = give_back(request);
            i--;
        }
    }
    return result;
}

/* ---- the strategy ---- */

struct late {
    size_t left;    /* bytes of the group that are not sent */
    uint64_t begin; /* number of its first fragment */
    int first, count;
    uint64_t gives_back[REQUESTS_MAX]; /* up to which fragment each completion that is still to come does */
    size_t lent_count;
    struct iovec vectors[];
};

static int late_take_group(struct connection *connection)
{
    struct late *late = connection->strategy_state;
    struct queue_group group =
        queue_gather(&connection->queue, late->vectors, (int)connection->outgoing->count);

    late->begin = connection->queue.accepted;
    late->first = 0;
    late->count = group.count;
    late->left = group.bytes;
    queue_accept(&connection->queue, group.bytes);
    return 0;
}

static int late_send_rest(struct connection *connection)
{
    struct late *late = connection->strategy_state;

    if (!late->left)
        return 0;
    ring_submit(connection, late->vectors + late->first, late->count - late->first);
    connection->request.in_flight = true;
    return -EINPROGRESS;
}

static int late_give_back(struct connection *connection, struct late *late)
{
    queue_release_to(&connection->queue, late->gives_back[0]);
    memmove(late->gives_back, late->gives_back + 1, --late->lent_count * sizeof *late->gives_back);
    return 0;
}

static int late_completed(struct connection *connection, const struct completion *completion)
{
    struct late *late = connection->strategy_state;
    int result = completion->result;

    if (completion->is_notification)
        return late_give_back(connection, late);
    connection->request.in_flight = false;
    if (result < 0)
        return result;
    late->left -= (size_t)result;
    for (size_t gone = (size_t)result; gone;) {
        struct iovec *vector = &late->vectors[late->first];
        size_t part = vector->iov_len < gone ? vector->iov_len : gone;

        vector->iov_base = (char *)vector->iov_base + part;
        vector->iov_len -= part;
        gone -= part;
        late->first += !vector->iov_len;
    }
    late->gives_back[late->lent_count++] = late->left ? late->begin : connection->queue.accepted;
    return 0;
}

const struct strategy strategy_late = {
    .variant = {"late", "one request for the group, completed later"},
    .state_size = sizeof(struct late),
    .byte_size = sizeof(struct iovec),
    .send_group = late_take_group,
    .finish_group = late_send_rest,
    .lends = 1,
    .completed = late_completed,
};

/* ---- the layer of records ---- */

#define RECORD_MAX 1000u /* bytes of payload */
#define HEADER 2u
#define HELD_MAX (4u << 20)
#define DISGUISE 0x5a
#define SIDES 2

struct side {
    const struct connection *connection;
    uint8_t out[HELD_MAX], in[HEADER + RECORD_MAX];
    size_t out_size, out_sent; /* sealed records, and how much of them is gone */
    size_t taken;              /* bytes of the caller's that are in the record that is on its way */
    const void *offered;       /* where they stood, NULL for several vectors */
    size_t in_size, in_read;   /* of the record that is coming in; of its payload that was delivered */
};

/* By connection: struct connection has no place for the state of a layer. */
static struct side sides[SIDES];
unsigned records_blocked;

void records_reset(void)
{
    memset(sides, 0, sizeof sides);
    records_blocked = 0;
}

static struct side *side_of(const struct connection *connection)
{
    for (size_t i = 0; i < SIDES; i++) {
        if (!sides[i].connection)
            sides[i].connection = connection;
        if (sides[i].connection == connection)
            return &sides[i];
    }
    fail_msg("more connections than the layer has room for");
    return NULL;
}

static void seal(struct side *side, const uint8_t *data, size_t size)
{
    uint8_t *record = side->out + side->out_size;

    assert_true(size && size <= RECORD_MAX && side->out_size + HEADER + size <= HELD_MAX);
    record[0] = (uint8_t)(size >> 8);
    record[1] = (uint8_t)size;
    for (size_t i = 0; i < size; i++)
        record[HEADER + i] = data[i] ^ DISGUISE;
    side->out_size += HEADER + size;
}

/* Writes what is sealed. 0 when nothing is left, -EAGAIN to be called again. */
static int records_flush(struct connection *connection)
{
    struct side *side = side_of(connection);

    while (side->out_sent < side->out_size) {
        ssize_t sent =
            socket_send(connection, side->out + side->out_sent, side->out_size - side->out_sent, 0);

        if (sent < 0) {
            records_blocked += sent == -EAGAIN;
            return (int)sent;
        }
        side->out_sent += (size_t)sent;
    }
    side->out_sent = side->out_size = 0;
    return 0;
}

static ssize_t strict_send(struct connection *connection, const void *data, size_t size, int flags)
{
    struct side *side = side_of(connection);
    int result;

    assert_int_equal(flags, 0);
    if (side->taken) { /* the same bytes again */
        assert_ptr_equal(side->offered, data);
        assert_true(side->taken <= size);
    } else {
        side->taken = size < RECORD_MAX ? size : RECORD_MAX;
        side->offered = data;
        seal(side, data, side->taken);
    }
    if ((result = records_flush(connection)) < 0)
        return result;
    size = side->taken;
    side->taken = 0;
    return (ssize_t)size;
}

static ssize_t strict_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    return strict_send(connection, vectors[0].iov_base, vectors[0].iov_len, flags);
}

static size_t payload_size(const struct side *side)
{
    return (size_t)side->in[0] << 8 | side->in[1];
}

/* 1 when a record is whole, 0 at the end of the stream. */
static ssize_t read_record(struct connection *connection, struct side *side)
{
    for (;;) {
        size_t wanted = side->in_size < HEADER ? HEADER : HEADER + payload_size(side);

        if (side->in_size > HEADER && side->in_size == wanted)
            return 1;
        ssize_t size = socket_receive(connection, side->in + side->in_size, wanted - side->in_size, 0);
        if (size <= 0)
            return size;
        side->in_size += (size_t)size;
    }
}

static ssize_t records_recv(struct connection *connection, void *data, size_t size, int flags)
{
    struct side *side = side_of(connection);
    ssize_t result = read_record(connection, side);

    assert_int_equal(flags, 0);
    if (result <= 0)
        return result;
    if (size > payload_size(side) - side->in_read)
        size = payload_size(side) - side->in_read;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)data)[i] = side->in[HEADER + side->in_read + i] ^ DISGUISE;
    side->in_read += size;
    if (side->in_read == payload_size(side))
        side->in_size = side->in_read = 0;
    return (ssize_t)size;
}

static int records_part(struct connection *connection)
{
    const struct side *side = side_of(connection);

    assert_int_equal(side->out_sent, side->out_size); /* nothing may be held back at the end of a phase */
    return 0;
}

const struct security security_strict = {
    .variant = {"strict", "a record is taken when it is out"},
    .layer = {.send = strict_send, .sendv = strict_sendv, .receive = records_recv},
    .close_notify = records_part,
};
