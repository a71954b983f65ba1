/* SPDX-License-Identifier: MIT */
/* A header, then payload from a file. The first of several fragments of a group is the header;
 * MSG_MORE joins it to the payload. Each other fragment, or the only one, takes one sendfile(2).
 *
 * sendfile(2) has no MSG_MORE. So if a group has more than one fragment after the header, TCP's
 * cork holds them together. Without TCP nothing is joined.
 *
 * The kernel sends from the pages of the file and never reports when it is done with them. They
 * count as released once accepted, because the memory of a source never changes. */
#include "transport/transport.h"
#include "write/group.h"

HOT static bool corks(const struct connection *connection)
{
    const struct transport *transport = connection->plan->transport;
    struct queue_cursor cursor = queue_begin(&connection->queue);
    for (int i = 0; i < 2; i++)
        if (queue_next(&connection->queue, &cursor).marks & FRAGMENT_ENDS_GROUP)
            return false;
    return transport->is_tcp || !transport->has_other_end; /* null: as TCP */
}

HOT static int send_group(struct connection *connection)
{
    const struct memory *memory = &connection->shared->source.memory;
    struct send_queue *queue = &connection->queue;
    struct queue_cursor cursor = queue_begin(queue);
    int result = corks(connection) ? group_cork(connection) : 0;
    bool done = false;

    if (result < 0)
        return result;
    while (!done) {
        bool first = queue->accepted == queue->flushed && !cursor.before;
        struct fragment rest = queue_next(queue, &cursor);
        bool last = rest.marks & FRAGMENT_ENDS_GROUP;
        ssize_t sent = first && !last ? layer_send(connection, rest.data, rest.size, MSG_MORE)
                                      : calls_sendfile(&connection->calls, memory->file,
                                                       rest.data - memory->bytes, rest.size);

        if (sent < 0)
            return (int)sent;
        queue_accept(queue, (size_t)sent);
        done = last && (size_t)sent == rest.size;
        if ((size_t)sent < rest.size)
            cursor = queue_begin(queue);
    }
    return 0;
}

const struct strategy strategy_sendfile = {
    .variant = {"sendfile", "header by send(MSG_MORE), payload by sendfile() from a file in memory"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_SENDFILE | CAPABLE_BLOCKING_MODE,
    .joins = CAPABLE_MORE | CAPABLE_CORK,
    .from_file = true,
    .state_size = sizeof(bool),
    .send_group = send_group,
    .finish_group = group_uncork,
};
