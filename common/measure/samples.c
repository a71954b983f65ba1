/* SPDX-License-Identifier: MIT */
#include "measure/samples.h"

void samples_restart(struct samples *samples, uint64_t now_ns)
{
    samples->start_ns = now_ns;
    samples->interval_ns = SAMPLES_INTERVAL_NS;
    samples->next_ns = now_ns + SAMPLES_INTERVAL_NS;
    samples->messages = samples->bytes = 0;
    samples->count = 0;
}

/* When the array is full, keeps points 2, 4, 6 ...: those at multiples of the doubled interval. */
void samples_take(struct samples *samples, uint64_t now_ns)
{
    uint64_t passed = now_ns - samples->start_ns;

    samples->points[samples->count++] = (struct sample){passed, samples->messages, samples->bytes};
    if (samples->count == SAMPLES_MAX) {
        samples->count /= 2;
        for (uint32_t i = 0; i < samples->count; i++)
            samples->points[i] = samples->points[2 * i + 1];
        samples->interval_ns *= 2;
    }
    samples->next_ns = samples->start_ns + (passed / samples->interval_ns + 1) * samples->interval_ns;
    if (samples->on_point)
        samples->on_point(samples->context);
}

json_t *samples_to_json(const struct samples *samples)
{
    if (!samples->count)
        return NULL;
    json_t *points = json_array();
    for (const struct sample *point = samples->points; point < samples->points + samples->count; point++)
        json_array_append_new(points, json_pack("[I, I, I]", (json_int_t)point->ns,
                                                (json_int_t)point->messages, (json_int_t)point->bytes));
    return json_pack("{s:I, s:o}", "interval_ns", (json_int_t)samples->interval_ns, "points", points);
}
