/* SPDX-License-Identifier: MIT */
/* Memory that zero-copy sends lend to the kernel. The kernel returns it in any order; the queue
 * releases it in the order of its spans. */
#pragma once

#include "connection/send_queue.h"

#define LOANS_WINDOWS 16u /* windows whose memory may be lent at once */
#define LOANS_MAX 32u     /* sends that may lend memory at once */

struct loans {
    uint32_t sends, returned; /* counters, which wrap at 2^32 */
    struct loan {
        uint64_t end; /* number of the first span behind the lent ones */
        bool back;    /* the kernel has returned the memory */
    } list[LOANS_MAX];
};

static inline bool loans_full(const struct loans *loans)
{
    return loans->sends - loans->returned == LOANS_MAX;
}

static inline bool loans_outstanding(const struct loans *loans)
{
    return loans->sends != loans->returned;
}

static inline struct loan *loans_of(struct loans *loans, uint32_t number)
{
    return &loans->list[number % LOANS_MAX];
}

/* Returns the number of the oldest outstanding send whose bits in `mask` are those of `low`. */
static inline uint32_t loans_number(const struct loans *loans, uint32_t low, uint32_t mask)
{
    return loans->returned + ((low - loans->returned) & mask);
}

/* Adds the next send, which lends the spans before span `end` (0: not known yet). Returns the
 * number of the send. */
static inline uint32_t loans_add(struct loans *loans, uint64_t end)
{
    *loans_of(loans, loans->sends) = (struct loan){.end = end};
    return loans->sends++;
}

/* Releases the memory of the oldest sends, up to the first that has not returned. */
static inline void loans_release(struct loans *loans, struct send_queue *queue)
{
    while (loans_outstanding(loans) && loans_of(loans, loans->returned)->back)
        queue_release_to(queue, loans_of(loans, loans->returned++)->end);
}
