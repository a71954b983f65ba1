/* SPDX-License-Identifier: MIT */
/* A latency histogram: log-linear, with a bin for every uint64_t.
 *
 * Each value below 128 has a bin of its own. Above, every power of two is divided into 64 bins of
 * the same width. A bin is at most 1/64 of its lower bound wide, so its middle is within 0.8 % of
 * every value counted in it. Only pages with counts need memory: 4 KiB for eight powers of two. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define HISTOGRAM_STEP_BITS 6 /* 64 bins to a power of two */
#define HISTOGRAM_BINS ((64 - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

struct histogram {
    uint64_t count, sum, minimum, maximum; /* ns, exact */
    uint64_t bins[HISTOGRAM_BINS];
};

/* Empties a histogram. Before the first call it must be all zero. Writes no bin if nothing was
 * recorded: a histogram that is never used then needs no memory. */
void histogram_reset(struct histogram *histogram);

static inline uint32_t histogram_bin(uint64_t ns)
{
    if (ns < 2u << HISTOGRAM_STEP_BITS)
        return (uint32_t)ns;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns) - HISTOGRAM_STEP_BITS;
    return (shift << HISTOGRAM_STEP_BITS) + (uint32_t)(ns >> shift);
}

static inline void histogram_record(struct histogram *histogram, uint64_t ns)
{
    histogram->bins[histogram_bin(ns)]++;
    histogram->count++;
    histogram->sum += ns;
    if (ns < histogram->minimum)
        histogram->minimum = ns;
    if (ns > histogram->maximum)
        histogram->maximum = ns;
}

/* Lower bound and width of a bin, in ns. */
uint64_t histogram_low(uint32_t bin);
uint64_t histogram_width(uint32_t bin);

/* The value in ns of that rank (1 to count): the middle of its bin, within minimum and maximum. */
double histogram_value(const struct histogram *histogram, uint64_t rank);

/* {"unit": "ns", "count", "minimum", "maximum", "sum", "bins": [[low, width, count], ...]}. New
 * reference, NULL when nothing was recorded. */
json_t *histogram_to_json(const struct histogram *histogram);
