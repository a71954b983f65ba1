/* SPDX-License-Identifier: MIT */
/* Progress of a thread over time: a point every 100 ms, which it takes at a message boundary. When
 * all 600 are taken, every second point is dropped and the interval doubles. */
#pragma once

#include "base/clock.h"

#include <jansson.h>

#define SAMPLES_MAX 600
#define SAMPLES_INTERVAL_NS (100 * NS_PER_MS)

struct samples {
    uint64_t messages, bytes; /* since the start */
    uint64_t start_ns, next_ns, interval_ns;
    uint32_t count;
    struct sample {
        uint64_t ns, messages, bytes;
    } points[SAMPLES_MAX];

    /* Called at every point, ten times a second at most: for cheap readings. NULL: none. */
    void (*on_point)(void *context);
    void *context;
};

void samples_restart(struct samples *samples, uint64_t now_ns);

/* Takes the point that is due. For samples_reached() only. */
void samples_take(struct samples *samples, uint64_t now_ns);

static inline void samples_count(struct samples *samples, uint64_t messages, uint64_t bytes)
{
    samples->messages += messages;
    samples->bytes += bytes;
}

/* Takes a point if one is due. Call it at a message boundary. */
static inline void samples_reached(struct samples *samples, uint64_t now_ns)
{
    if (now_ns >= samples->next_ns)
        samples_take(samples, now_ns);
}

/* {"interval_ns": I, "points": [[t_ns, messages, bytes], ...]}. New reference; NULL: no point. */
json_t *samples_to_json(const struct samples *samples);
