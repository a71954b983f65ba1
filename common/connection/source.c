/* SPDX-License-Identifier: MIT */
#include "connection/source.h"

#include <pthread.h>
#include <string.h>
#include <sys/param.h>

static uint8_t pattern[PATTERN_PERIOD];
static pthread_once_t pattern_once = PTHREAD_ONCE_INIT;

/* xorshift64 (Marsaglia 2003). Any fixed sequence without short repeats would do. */
static void pattern_make(void)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < PATTERN_PERIOD; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pattern[i] = (uint8_t)(state >> 32);
    }
}

void pattern_fill(uint8_t *data, size_t size, uint64_t offset)
{
    pthread_once(&pattern_once, pattern_make);
    for (size_t done = 0, part; done < size; done += part) {
        size_t at = (offset + done) % PATTERN_PERIOD;

        part = MIN(size - done, PATTERN_PERIOD - at);
        memcpy(data + done, pattern + at, part);
    }
}

size_t pattern_compare(const uint8_t *data, size_t size, uint64_t offset)
{
    pthread_once(&pattern_once, pattern_make);
    for (size_t done = 0, part; done < size; done += part) {
        size_t at = (offset + done) % PATTERN_PERIOD;

        part = MIN(size - done, PATTERN_PERIOD - at);
        if (memcmp(data + done, pattern + at, part) != 0) {
            while (data[done] == pattern[at++])
                done++;
            return done;
        }
    }
    return size;
}

int source_open(struct source *source, struct source_kind kind)
{
    *source = (struct source){.period = kind.cold, .patterned = kind.patterned};
    if (kind.patterned)
        source->period = ((kind.cold ? kind.cold : 1) + PATTERN_PERIOD - 1) / PATTERN_PERIOD * PATTERN_PERIOD;
    size_t size = source->period + kind.longest;
    int result = memory_open(&source->memory, size, kind.as_file);
    if (result == 0)
        pattern_fill(source->memory.bytes, size, 0); /* also makes the pages present */
    return result;
}

size_t source_start(const struct source *source, uint64_t number, uint64_t count)
{
    size_t start = (size_t)(source->period / count * number);
    return source->patterned ? start / PATTERN_PERIOD * PATTERN_PERIOD : start;
}

void source_close(struct source *source)
{
    memory_close(&source->memory);
}
