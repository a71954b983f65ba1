/* SPDX-License-Identifier: MIT */
/* Any bytes are a segment of TCP or none; a segment lies within its frame, and any row of them can
 * be summed up: each byte of a stream is counted once, in some segment. */
#include "fuzz.h"

#include "capture/capture.h"

/* What comes first in the input: link, which ways are encrypted, then frames behind their length
 * each. */
#define HEAD 2

static const int links[] = {FRAME_NULL, FRAME_ETHERNET,  FRAME_RAW,       FRAME_RAW_IN_FILE,
                            FRAME_LOOP, FRAME_LINUX_SLL, FRAME_LINUX_SLL2};

static json_int_t figure(const json_t *summary, const char *key)
{
    return json_integer_value(json_object_get(summary, key));
}

static void check_summary(struct tally *tally, enum way way)
{
    CLEANUP_JSON json_t *summary = tally_to_json(tally, way);
    json_t *pair;
    json_int_t segments = figure(summary, "other_sizes");
    size_t i;

    json_array_foreach(json_object_get(summary, "sizes"), i, pair)
        segments += json_integer_value(json_array_get(pair, 1));
    abort_if(segments != figure(summary, "data_segments") ||
             figure(summary, "packets") > figure(summary, "data_segments") ||
             figure(summary, "super_packets") > figure(summary, "packets"));
}

static void check_segment(const struct segment *segment, size_t wire_bytes)
{
    abort_if(segment->payload_bytes > wire_bytes || segment->option_bytes > 40 || segment->shift > 14 ||
             (segment->source.family != AF_INET && segment->source.family != AF_INET6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tally *tally = NULL;
    struct segment segment;

    if (size < HEAD)
        return 0;
    for (size_t at = HEAD; at < size;) {
        size_t length = data[at] < size - at - 1 ? data[at] : size - at - 1;
        size_t beyond = data[at] > 200 ? data[at] * 256u : 0; /* more was on the wire than was captured */

        if (frame_parse(&segment, links[data[0] % (sizeof links / sizeof *links)], data + at + 1, length,
                        length + beyond)) {
            check_segment(&segment, length + beyond);
            if (!tally) {
                tally = tally_create(&segment.destination, data[1] & 3);
                tally_begin_after(tally, data[1] >> 6);
            }
            tally_add(tally, &segment);
        }
        at += 1 + length;
    }
    for (int way = 0; tally && way < WAY_COUNT; way++)
        check_summary(tally, (enum way)way);
    if (tally)
        tally_free(tally);
    return 0;
}
