/* SPDX-License-Identifier: MIT */
/* Handing over requests: the data thread makes a request, the sender thread sends it.
 *
 *   data thread    make ▷ post ── receive the reply ──────────── wait ▷ record the delay
 *   sender thread  sleep ──▶ wake, read the clock ▷ push ▷ done ▷ sleep
 *
 * The measured delay lies between the clock reading before the post and that of the woken sender,
 * which sleeps in a semaphore (a futex). From post to done the sender owns the send queue, the
 * state of the strategy and the counts of the write path, and else the data thread. The data thread
 * always owns the receive state, the role, the thread_shared and the histograms. So no lock is
 * needed: the semaphores order the writes of one thread before the reads of the other. */
#pragma once

#include "connection/connection.h"

#include <uv.h>

enum handover_order {
    HANDOVER_SEND,       /* push the queue */
    HANDOVER_BEGIN_TIME, /* the measured interval begins: read the usage of the thread */
    HANDOVER_END_TIME,   /* it has ended: read the usage again */
    HANDOVER_END,        /* exit */
};

struct handover {
    struct connection *connection;
    uv_sem_t posted, done;
    bool is_open;
    bool is_pending; /* used by the data thread: it has not waited for the order */

    /* From post to done the sender owns these, then the data thread. */
    enum handover_order order;
    uint64_t posted_ns, woken_ns;
    int result; /* of the push: 0 or a negative errno value */
};

void handover_open(struct handover *handover, struct connection *connection);
void handover_close(struct handover *handover);

/* ---- the data thread ---- */

void handover_post(struct handover *handover, enum handover_order order);

/* Waits until the posted order is done, if there is one. Returns its result. */
int handover_wait(struct handover *handover);

/* Returns true if the order is done. handover_wait() then returns at once. */
bool handover_trywait(struct handover *handover);

/* ---- the sender thread ---- */

/* Executes each HANDOVER_SEND. Returns any other order; the caller executes it and posts `done`. If
 * a push fails, shuts the descriptor down, which wakes the data thread. */
enum handover_order handover_serve(struct handover *handover);
