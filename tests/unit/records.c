/* SPDX-License-Identifier: MIT */
#include "records.h"

#include "unit.h"

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
        ssize_t sent = below_send(connection, side->out + side->out_sent, side->out_size - side->out_sent, 0);

        if (sent < 0) {
            records_blocked += sent == -EAGAIN;
            return (int)sent;
        }
        side->out_sent += (size_t)sent;
    }
    side->out_sent = side->out_size = 0;
    return 0;
}

/* ---- the way out ---- */

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

/* ---- the way in ---- */

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
        ssize_t size = below_receive(connection, side->in + side->in_size, wanted - side->in_size, 0);
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
