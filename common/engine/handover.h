/* SPDX-License-Identifier: MIT */
/*
 * Handing over what is to be sent: the data thread makes a request, a second thread sends it.
 *
 *   data thread    make ▷ give ── receive the reply ───────────────── take back ▷ note the delay
 *
 *   sender thread  asleep ──▶ wakes, looks at the clock ▷ push ▷ done ▷ asleep
 *
 * Storage and database programs with a sender thread do the same. The thread sleeps in a semaphore
 * (a futex) and does not spin. The measured delay begins when the data thread reads the
 * clock, just before it posts the semaphore. It ends when the woken sender reads the clock.
 *
 * Nothing is locked, because at each moment one thread has what both use. From give to done the send queue,
 * the state of the strategy and the counts of the path of writes are the sender's; before and after, the data
 * thread's. What belongs to receiving, the role, the workbench and the histograms are never the sender's. The
 * semaphores order all that one wrote before what the other reads.
 */
#ifndef UNCORK_ENGINE_HANDOVER_H
#define UNCORK_ENGINE_HANDOVER_H

#include "connection/connection.h"

#include <uv.h>

enum handover_order {
    HANDOVER_SEND,       /* push what the queue has */
    HANDOVER_BEGIN_TIME, /* the measured interval begins: read what the thread has used */
    HANDOVER_END_TIME,   /* it has ended: read that again */
    HANDOVER_END,        /* come to the end */
};

struct handover {
    struct connection *connection;
    uv_sem_t given, done;
    bool is_open;
    bool out; /* the data thread's: something was given and not taken back */

    /* Of whoever has it. */
    enum handover_order order;
    uint64_t given_ns, taken_ns;
    int result; /* of the push: 0 or a negative errno value */
};

/* 0 or a negative errno value. */
int handover_open(struct handover *handover, struct connection *connection);
void handover_close(struct handover *handover);

/* ---- the data thread ---- */

void handover_post(struct handover *handover, enum handover_order order);

/* Waits until what was given is done; at once where nothing was. Its result. */
int handover_wait(struct handover *handover);

/* Whether it is done, without waiting; then it is taken back. */
bool handover_trywait(struct handover *handover);

/* From giving to the moment at which the sender had it, of what was taken back last. */
static inline uint64_t handover_delay_ns(const struct handover *handover)
{
    return handover->taken_ns - handover->given_ns;
}

/* ---- the sender thread ---- */

/* Sends as often as that is the order; returns what else is ordered, which handover_done() follows.
 * A push that fails shuts the descriptor down, so that the data thread does not wait for
 * a reply. */
enum handover_order handover_serve(struct handover *handover);
void handover_done(struct handover *handover);

#endif
