/* SPDX-License-Identifier: MIT */
#include "team/figures.h"

#include "transport/transport.h"

void figures_read_counts(const struct worker *worker, struct figures *figures)
{
    figures->messages_sent = figures->bytes_sent = figures->messages_received = figures->bytes_received = 0;
    figures->groups = figures->fragments = 0;
    figures->calls = worker->bench.waits;
    for (size_t i = 0; i < worker->count; i++) {
        const struct connection *connection = &worker->connections[i];

        figures->messages_sent += connection->queue.flushed_messages;
        figures->bytes_sent += connection->queue.flushed_bytes;
        figures->messages_received += connection->arrivals.messages;
        figures->groups += connection->groups;
        figures->fragments += connection->queue.flushed_fragments;
        figures->bytes_received += connection->arrivals.bytes;
        figures->calls = calls_sum(&figures->calls, &connection->calls.counts);
    }
}

/* Returns the next connection from `*at` on with TCP figures, or NULL. Of a proxy's pair that is
 * the sending one. */
static const struct connection *next_with_tcp(const struct worker *worker, size_t *at)
{
    const struct connection *connection = NULL;

    while (!connection && worker->team->plan->transport->counts_segments && *at < worker->count) {
        connection = &worker->connections[(*at)++];
        if (connection->twin && !connection->drives)
            connection = NULL;
    }
    return connection;
}

void figures_read_tcp(struct worker *worker, struct figures *figures,
                      void (*read)(int fd, struct tcp_reading *reading))
{
    const struct connection *connection;
    size_t at = 0;

    worker->tcp_count = 0;
    while ((connection = next_with_tcp(worker, &at)))
        read(connection->calls.fd, &figures->tcp[worker->tcp_count++]);
}

/* A close_notify is a segment with data each way, and part of no message. */
void figures_leave_out_close_notify(struct worker *worker)
{
    static const enum tcp_figure figures[] = {TCP_DATA_SEGS_OUT, TCP_DATA_SEGS_IN};

    for (size_t i = 0; i < worker->tcp_count; i++)
        for (size_t j = 0; j < sizeof figures / sizeof *figures; j++)
            if (worker->after.tcp[i].figures[figures[j]] > worker->before.tcp[i].figures[figures[j]])
                worker->after.tcp[i].figures[figures[j]]--;
}

#define WATCHED_MAX 64 /* connections whose window is sampled within the interval */

void figures_watch_windows(void *context)
{
    struct worker *worker = context;
    const struct connection *connection;
    size_t at = 0;

    for (size_t i = 0; i < WATCHED_MAX && (connection = next_with_tcp(worker, &at)); i++)
        tcp_info_watch_window(connection->calls.fd, &worker->after.tcp[i]);
}
