/* SPDX-License-Identifier: MIT */
/*
 * Memory that is lent, send by send: it comes back in any order, and the queue wants it in that of its
 * fragments.
 */
#ifndef UNCORK_STRATEGY_LENT_H
#define UNCORK_STRATEGY_LENT_H

#include "connection/send_queue.h"

#define LENT_WINDOWS 16u /* whose memory may be lent at once */
#define LENT_SENDS 32u   /* that may have lent at once */

struct lent {
    uint32_t sends, returned; /* numbers since the beginning, which begin anew at 2^32 */
    struct loan {
        uint64_t end; /* number of the first fragment that it does not touch */
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

/* The next send lends memory of the fragments before number `end`, where that is known. Returns its number.
 */
static inline uint32_t lent_add(struct lent *lent, uint64_t end)
{
    *lent_of(lent, lent->sends) = (struct loan){.end = end};
    return lent->sends++;
}

/* Releases what has come back, up to the oldest that has not. */
static inline void lent_release(struct lent *lent, struct send_queue *queue)
{
    while (lent->returned != lent->sends && lent_of(lent, lent->returned)->back)
        queue_release_to(queue, lent_of(lent, lent->returned++)->end);
}

#endif
