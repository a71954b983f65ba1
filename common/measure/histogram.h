/* SPDX-License-Identifier: MIT */
/* A latency histogram: log-linear, 1 ns to 100 s.
 *
 * Each value below 128 has a bin of its own. Above, every power of two is divided into 64 bins of
 * the same width. A bin is at most 1/64 of its lower bound wide, so its middle is within 0.8 % of
 * every value counted in it. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define HISTOGRAM_STEP_BITS 6                   /* 64 bins to a power of two */
#define HISTOGRAM_TOP_NS UINT64_C(100000000000) /* 2^36 <= 100 s < 2^37 ns */
#define HISTOGRAM_BINS ((37 - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

struct histogram {
    uint64_t count, sum, minimum, maximum; /* ns, exact */
    uint64_t bins[HISTOGRAM_BINS];
};

void histogram_reset(struct histogram *histogram);

/* The bin of a value; all values above 100 s are in the last bin. */
static inline uint32_t histogram_bin(uint64_t ns)
{
    uint32_t shift;

    if (ns > HISTOGRAM_TOP_NS)
        ns = HISTOGRAM_TOP_NS;
    if (ns < 2u << HISTOGRAM_STEP_BITS)
        return (uint32_t)ns;
    shift = 63u - (uint32_t)__builtin_clzll(ns) - HISTOGRAM_STEP_BITS;
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

/* The value in ns at quantile q (0 to 1): the middle of the bin with the value of rank ceil(q *
 * count) (nearest rank), limited to the exact minimum and maximum. 0 if nothing was recorded. */
double histogram_quantile(const struct histogram *histogram, double q);

/* {"unit": "ns", "count", "minimum", "maximum", "sum", "bins": [[low, width, count], ...]}. New
 * reference, NULL when nothing was recorded. */
json_t *histogram_to_json(const struct histogram *histogram);
