/* SPDX-License-Identifier: MIT */
#include "engine/handover.h"

#include "base/clock.h"
#include "connection/strategy.h"

void handover_open(struct handover *handover, struct connection *connection)
{
    *handover = (struct handover){.connection = connection, .is_open = true};
    uv_sem_init(&handover->given, 0);
    uv_sem_init(&handover->done, 0);
}

void handover_close(struct handover *handover)
{
    if (!handover->is_open)
        return;
    uv_sem_destroy(&handover->given);
    uv_sem_destroy(&handover->done);
    handover->is_open = false;
}

void handover_post(struct handover *handover, enum handover_order order)
{
    handover->order = order;
    handover->out = true;
    handover->given_ns = clock_now_ns();
    uv_sem_post(&handover->given);
}

int handover_wait(struct handover *handover)
{
    if (handover->out)
        uv_sem_wait(&handover->done);
    handover->out = false;
    return handover->result;
}

bool handover_trywait(struct handover *handover)
{
    if (handover->out && uv_sem_trywait(&handover->done) == 0)
        handover->out = false;
    return !handover->out;
}

void handover_done(struct handover *handover)
{
    uv_sem_post(&handover->done);
}

/* The descriptor stays open until this thread has ended. */
enum handover_order handover_serve(struct handover *handover)
{
    struct connection *connection = handover->connection;

    for (;;) {
        int fd, result;

        uv_sem_wait(&handover->given);
        if (handover->order != HANDOVER_SEND)
            return handover->order;
        handover->taken_ns = clock_now_ns();
        fd = connection->calls.fd;
        handover->result = result = strategy_push(connection);
        handover_done(handover);
        if (result < 0)
            shutdown(fd, SHUT_RDWR);
    }
}
