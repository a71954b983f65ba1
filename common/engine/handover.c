/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include "base/clock.h"

void handover_open(struct handover *handover, struct connection *connection)
{
    *handover = (struct handover){.connection = connection, .is_open = true};
    uv_sem_init(&handover->posted, 0);
    uv_sem_init(&handover->done, 0);
}

void handover_close(struct handover *handover)
{
    if (!handover->is_open)
        return;
    uv_sem_destroy(&handover->posted);
    uv_sem_destroy(&handover->done);
    handover->is_open = false;
}

void handover_post(struct handover *handover, enum handover_order order)
{
    handover->order = order;
    handover->is_pending = true;
    handover->posted_ns = clock_now_ns();
    uv_sem_post(&handover->posted);
}

int handover_wait(struct handover *handover)
{
    if (handover->is_pending)
        uv_sem_wait(&handover->done);
    handover->is_pending = false;
    return handover->result;
}

bool handover_trywait(struct handover *handover)
{
    if (handover->is_pending && uv_sem_trywait(&handover->done) == 0)
        handover->is_pending = false;
    return !handover->is_pending;
}

enum handover_order handover_serve(struct handover *handover)
{
    struct connection *connection = handover->connection;

    for (;;) {
        uv_sem_wait(&handover->posted);
        if (handover->order != HANDOVER_SEND)
            return handover->order;
        handover->woken_ns = clock_now_ns();
        int fd = connection->calls.fd; /* the owner closes it only when this thread has ended */
        int result = handover->result = strategy_push(connection);
        uv_sem_post(&handover->done);
        if (result < 0)
            shutdown(fd, SHUT_RDWR);
    }
}
