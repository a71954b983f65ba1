/* SPDX-License-Identifier: MIT */
#include "measure/histogram.h"

#include <math.h>
#include <string.h>

void histogram_reset(struct histogram *histogram)
{
    if (histogram->count)
        memset(histogram, 0, sizeof *histogram);
    histogram->minimum = UINT64_MAX;
}

static uint32_t shift_of(uint32_t bin)
{
    uint32_t octave = bin >> HISTOGRAM_STEP_BITS;
    return octave < 2 ? 0 : octave - 1;
}

uint64_t histogram_low(uint32_t bin)
{
    uint32_t shift = shift_of(bin);
    return (uint64_t)(bin - (shift << HISTOGRAM_STEP_BITS)) << shift;
}

uint64_t histogram_width(uint32_t bin)
{
    return UINT64_C(1) << shift_of(bin);
}

double histogram_value(const struct histogram *histogram, uint64_t rank)
{
    uint64_t seen = histogram->bins[0];
    uint32_t bin = 0;
    while (seen < rank && bin < HISTOGRAM_BINS - 1)
        seen += histogram->bins[++bin];
    double middle = (double)histogram_low(bin) + (double)(histogram_width(bin) - 1) / 2;
    return fmin(fmax(middle, (double)histogram->minimum), (double)histogram->maximum);
}

json_t *histogram_to_json(const struct histogram *histogram)
{
    if (!histogram->count)
        return NULL;
    json_t *bins = json_array();
    for (uint32_t bin = 0; bin < HISTOGRAM_BINS; bin++)
        if (histogram->bins[bin])
            json_array_append_new(bins, json_pack("[I, I, I]", (json_int_t)histogram_low(bin),
                                                  (json_int_t)histogram_width(bin),
                                                  (json_int_t)histogram->bins[bin]));
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "unit", "ns", "count", (json_int_t)histogram->count,
                     "minimum", (json_int_t)histogram->minimum, "maximum", (json_int_t)histogram->maximum,
                     "sum", (json_int_t)histogram->sum, "bins", bins);
}
