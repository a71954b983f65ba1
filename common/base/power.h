/* SPDX-License-Identifier: MIT */
/* Sizes of rings, whose index is masked. */
#pragma once

#include <stdint.h>

/* The least power of two that is `size` or more; 1 for 0. `size` is at most 2^63. */
static inline uint64_t power_of_two(uint64_t size)
{
    uint64_t power = 1;

    while (power < size)
        power *= 2;
    return power;
}
