/* SPDX-License-Identifier: MIT */
/*
 * A thread for each connection, in blocking calls: for half-duplex plans, in which an end never has to send
 * and receive at the same moment.
 */
#include "engine/engine.h"

#include "reading/reading.h"
#include "security/security.h"
#include "strategy/strategy.h"
#include "workload/workload.h"

static int receive(struct connection *connection, size_t wanted)
{
    const uint8_t *data;
    ssize_t size = connection->reading->read(connection, wanted, &data);

    if (size < 0)
        return engine_broken(connection, "receive from", (int)size);
    if (size == 0)
        return engine_peer_ended(connection);
    return connection->half->arrived(connection, data, (size_t)size);
}

static int block_run(struct connection *connection, size_t count)
{
    (void)count; /* one: one_each */
    for (;;) {
        size_t wanted;
        bool sends;
        int result;

        connection->half->fill(connection);
        sends = !queue_is_idle(&connection->queue);
        if (sends && (result = connection->strategy->push(connection)) < 0)
            return engine_broken(connection, "send to", result);
        wanted = connection->half->wants(connection);
        if (!wanted && !sends)
            return 0;
        if (wanted && (result = receive(connection, wanted)) < 0)
            return result;
    }
}

static int read_to_end(struct connection *connection)
{
    char byte;
    ssize_t size = connection->security->recv(connection, &byte, 1, 0);

    if (size < 0)
        return engine_broken(connection, "receive from", (int)size);
    if (size == 0)
        return 0;
    problem_failure(&connection->problem, "more came back than was due");
    return -EBADMSG;
}

static int block_finish(struct connection *connection, size_t count)
{
    int result = connection->security->finish(connection);

    (void)count;
    if (result < 0)
        return engine_broken(connection, "half-close towards", result);
    return connection->drives ? read_to_end(connection) : 0;
}

const struct engine engine_block = {
    .variant = {"block", "a thread for each connection, in blocking calls"},
    .one_each = true,
    .run = block_run,
    .finish = block_finish,
};
