/* SPDX-License-Identifier: MIT */
/*
 * Memory that sends lend to the kernel. The kernel returns it in any order; the queue releases it
 * in the order of its fragments.
 */
#ifndef UNCORK_STRATEGY_LENT_H
#define UNCORK_STRATEGY_LENT_H

#include "connection/send_queue.h"

#define LENT_WINDOWS 16u /* that may be lent at once */
#define LENT_SENDS 32u   /* that may lend memory at once */

struct lent {
    uint32_t sends, returned; /* counters, which wrap at 2^32 */
    struct loan {
        uint64_t end; /* number of the first fragment after those that it lends */
        bool back;
    } loans[LENT_SENDS];
};

static inline bool lent_is_full(const struct lent *lent)
{
    return lent->sends - lent->returned == LENT_SENDS;
}

static inline struct loan *lent_of(struct lent *lent, uint32_t number)
{
    return &lent->loans[number % LENT_SENDS];
}

/* Adds the next send, which lends the fragments before number `end` (0: not known yet). Returns the
 * number of the send. */
static inline uint32_t lent_add(struct lent *lent, uint64_t end)
{
    *lent_of(lent, lent->sends) = (struct loan){.end = end};
    return lent->sends++;
}

/* Releases the memory of the oldest sends, up to the first that has not returned. */
static inline void lent_release(struct lent *lent, struct send_queue *queue)
{
    while (lent->returned != lent->sends && lent_of(lent, lent->returned)->back)
        queue_release_to(queue, lent_of(lent, lent->returned++)->end);
}

#endif
