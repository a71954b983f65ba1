/* SPDX-License-Identifier: MIT */
#include "ring.h"

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
