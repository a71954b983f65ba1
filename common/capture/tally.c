/* SPDX-License-Identifier: MIT */
#include "capture/capture.h"

#include "base/cleanup.h"

#include <string.h>
#include <sys/param.h>

#define PORTS 65536
#define SIZES 65536             /* the MSS has 16 bits */
#define SIZES_MAX 64            /* sizes that are listed, the most frequent ones */
#define FIRST_MAX 64            /* packets that are listed, in order */
#define CLOSE_NOTIFY_BYTES 24   /* header, alert, type, tag: with every cipher of uncork */
#define MSS_WITHOUT_OPTION 536  /* RFC 9293 */
#define WINDOW_TO_BE_HALVED 536 /* Linux, tcp_bound_to_half_wnd(): halves a larger window */

/* A packet with payload. */
struct packet {
    uint32_t payload_bytes, mss; /* mss: the largest segment that its sender makes */
    uint64_t new_bytes;          /* not captured before */
};

struct stream {
    bool known;              /* its SYN was captured */
    bool is_first;           /* the first stream with a packet: its packets are listed in order */
    uint32_t first_sequence; /* sequence number of byte 0 */
    uint64_t highest;        /* the byte after the last one captured */
    uint64_t from;           /* the interval begins at this byte */
    struct ranges seen;
    uint16_t mss; /* option in the SYN of its sender */
    int shift;    /* window scale of its sender */
    uint32_t largest_window;
    struct packet last; /* not counted yet: it may be a close_notify. Payload 0: none */
};

/* A connection, from the client's SYN on. */
struct flow {
    bool counts, begun;
    struct stream streams[WAY_COUNT];
};

struct total {
    json_int_t segments, packets, super_packets, payload_bytes;
    json_int_t retransmitted_segments, retransmitted_bytes, shared_close_notifies;
    json_int_t sizes[SIZES]; /* segments, by bytes of payload */
    uint32_t first[FIRST_MAX];
    size_t first_count;
};

struct tally {
    struct endpoint server;
    unsigned close_notify_ways; /* bits 1 << way */
    bool reconnects;
    uint64_t skipped;          /* with reconnects: connections to skip before the interval */
    struct flow *flows[PORTS]; /* by port of the client */
    struct total totals[WAY_COUNT];
};

uint64_t ranges_add(struct ranges *ranges, uint64_t begin, uint64_t end)
{
    struct range joined = {begin, end};
    uint64_t added = end - begin;
    size_t next = ranges->count;

    while (next > 0 && ranges->list[next - 1].begin > end) /* new ranges are usually last */
        next--;
    size_t first = next;
    for (; first > 0 && ranges->list[first - 1].end >= begin; first--) {
        const struct range *known = &ranges->list[first - 1];
        added -= MIN(known->end, end) - MAX(known->begin, begin);
        joined.begin = MIN(known->begin, joined.begin);
        joined.end = MAX(known->end, joined.end);
    }
    /* `joined` replaces the ranges `first` to `next` - 1; there may be none. */
    ranges->list = xrealloc(ranges->list, (ranges->count + 1) * sizeof *ranges->list);
    memmove(ranges->list + first + 1, ranges->list + next, (ranges->count - next) * sizeof *ranges->list);
    ranges->list[first] = joined;
    ranges->count += 1 - (next - first);
    return added;
}

void ranges_free(struct ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ranges){0};
}

/* ---- a stream ---- */

/* Counts the last packet, if there is one. A packet above the MSS is not segmented yet: the kernel
 * or the device will do that. It counts as the segments that it becomes, as in TCP_INFO. */
static void count_last(struct total *total, struct stream *stream)
{
    struct packet last = stream->last;

    if (!last.payload_bytes)
        return;
    stream->last = (struct packet){0};
    stream->is_first |= total->packets == 0;
    if (stream->is_first && total->first_count < FIRST_MAX)
        total->first[total->first_count++] = last.payload_bytes;
    uint32_t whole = (last.payload_bytes - 1) / last.mss; /* full segments before the last one */
    total->packets++;
    total->super_packets += whole > 0;
    total->payload_bytes += (json_int_t)last.new_bytes;
    total->segments += whole + 1;
    total->sizes[last.mss] += whole;
    total->sizes[last.payload_bytes - whole * last.mss]++;
}

static void begin_stream(struct stream *stream, const struct segment *segment)
{
    stream->known = true;
    stream->first_sequence = segment->sequence + 1;
    stream->mss = segment->mss ? segment->mss : MSS_WITHOUT_OPTION;
    stream->shift = segment->shift;
}

/* ---- a connection ---- */

/* Ends a connection: the next segment of its port belongs to another one. A close_notify that is
 * alone in its segment is not counted; one that shares a segment is. */
static void end_flow(struct tally *tally, struct flow *flow)
{
    for (int way = 0; way < WAY_COUNT; way++) {
        struct stream *stream = &flow->streams[way];
        struct total *total = &tally->totals[way];
        if (tally->close_notify_ways & 1u << way) {
            total->shared_close_notifies += stream->last.payload_bytes > CLOSE_NOTIFY_BYTES;
            if (stream->last.payload_bytes == CLOSE_NOTIFY_BYTES)
                stream->last = (struct packet){0};
        }
        count_last(total, stream);
        ranges_free(&stream->seen);
    }
}

/* The connection from this port, which may not have begun. */
static struct flow *flow_of(struct tally *tally, uint16_t port)
{
    struct flow **flow = &tally->flows[port];
    return *flow ? *flow : (*flow = xcalloc(1, sizeof **flow));
}

/* The client's SYN begins a connection, unless the SYN is a retransmission. If connections stay
 * open, a second connection from the same port is not part of the interval. */
static void begin_flow(struct tally *tally, const struct segment *segment)
{
    struct flow *flow = flow_of(tally, segment->source.port);

    if (flow->begun && flow->streams[WAY_SENT].first_sequence == segment->sequence + 1)
        return;
    if (flow->begun) {
        end_flow(tally, flow);
        *flow = (struct flow){0};
    }
    flow->begun = true;
    if (tally->reconnects)
        flow->counts = tally->skipped == 0;
    tally->skipped -= tally->skipped > 0;
    begin_stream(&flow->streams[WAY_SENT], segment);
}

static void add_to_flow(struct tally *tally, struct flow *flow, enum way way, const struct segment *segment)
{
    struct stream *stream = &flow->streams[way], *back = &flow->streams[WAY_COUNT - 1 - way];
    struct total *total = &tally->totals[way];

    if (segment->flags & SEGMENT_SYN && !stream->known)
        begin_stream(stream, segment);
    bool is_scaled = !(segment->flags & SEGMENT_SYN) && stream->shift >= 0 && back->shift >= 0;
    uint32_t window = (uint32_t)segment->window << (is_scaled ? stream->shift : 0);
    stream->largest_window = MAX(window, stream->largest_window);
    /* Sequence numbers wrap every 4 GiB: `begin` is the offset nearest to the highest one. It is
     * negative before the first byte, as in a keep-alive probe. */
    int64_t begin = (int64_t)stream->highest +
                    (int32_t)(segment->sequence - stream->first_sequence - (uint32_t)stream->highest);
    if (!segment->payload_bytes || !stream->known || !back->known || begin < 0)
        return;
    /* As Linux does it: the smaller MSS of both ends, minus the options of this packet, and at most
     * half of the largest window that the receiver has advertised. */
    uint32_t mss = MIN(stream->mss, back->mss);
    mss = mss > segment->option_bytes ? mss - segment->option_bytes : 1;
    if (back->largest_window > WINDOW_TO_BE_HALVED)
        mss = MIN(mss, back->largest_window / 2);
    uint64_t end = (uint64_t)begin + segment->payload_bytes;
    struct packet packet = {segment->payload_bytes, mss, ranges_add(&stream->seen, (uint64_t)begin, end)};
    stream->highest = MAX(end, stream->highest);
    if ((uint64_t)begin < stream->from)
        return;
    if (packet.new_bytes) {
        count_last(total, stream);
        stream->last = packet;
    } else {
        total->retransmitted_segments += (packet.payload_bytes - 1) / packet.mss + 1;
        total->retransmitted_bytes += packet.payload_bytes;
    }
}

void tally_add(struct tally *tally, const struct segment *segment)
{
    bool is_sent = endpoint_equal(&segment->destination, &tally->server);
    uint16_t port = is_sent ? segment->source.port : segment->destination.port;
    bool begins = is_sent && (segment->flags & (SEGMENT_SYN | SEGMENT_ACK)) == SEGMENT_SYN;
    if (!is_sent && !endpoint_equal(&segment->source, &tally->server))
        return;
    if (begins)
        begin_flow(tally, segment);
    if (tally->flows[port] && tally->flows[port]->counts)
        add_to_flow(tally, tally->flows[port], is_sent ? WAY_SENT : WAY_RECEIVED, segment);
}

/* ---- the summary ---- */

static void end_flows(struct tally *tally)
{
    for (size_t port = 0; port < PORTS; port++)
        if (tally->flows[port])
            end_flow(tally, tally->flows[port]);
}

/* Lists the most frequent sizes, ordered by size, and the number of the other segments. */
json_t *tally_to_json(struct tally *tally, enum way way)
{
    const struct total *total = &tally->totals[way];
    uint32_t listed[SIZES_MAX + 1];
    json_int_t smallest = 0, largest = 0, others = 0;
    size_t count = 0;

    end_flows(tally);
    json_t *summary =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o*}", "data_segments", total->segments, "payload_bytes",
                  total->payload_bytes, "packets", total->packets, "super_packets", total->super_packets,
                  "retransmitted_segments", total->retransmitted_segments, "retransmitted_bytes",
                  total->retransmitted_bytes, "shared_close_notifies",
                  total->shared_close_notifies ? json_integer(total->shared_close_notifies) : NULL);
    if (!total->segments)
        return summary;
    for (uint32_t bytes = 1; bytes < SIZES; bytes++) {
        if (!total->sizes[bytes])
            continue;
        smallest = smallest ? smallest : bytes;
        largest = bytes;
        listed[count++] = bytes;
        if (count <= SIZES_MAX)
            continue;
        size_t rarest = 0;
        for (size_t i = 1; i < count; i++)
            if (total->sizes[listed[i]] <= total->sizes[listed[rarest]])
                rarest = i;
        others += total->sizes[listed[rarest]];
        count--;
        memmove(listed + rarest, listed + rarest + 1, (count - rarest) * sizeof *listed);
    }
    json_t *sizes = json_array(), *first = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(sizes, json_pack("[I, I]", (json_int_t)listed[i], total->sizes[listed[i]]));
    for (size_t i = 0; i < total->first_count; i++)
        json_array_append_new(first, json_integer(total->first[i]));
    json_object_update_new(summary, json_pack("{s:I, s:I, s:o, s:o*, s:o}", "smallest_bytes", smallest,
                                              "largest_bytes", largest, "sizes", sizes, "other_sizes",
                                              others ? json_integer(others) : NULL, "first", first));
    return summary;
}

/* ---- create, begin, free ---- */

struct tally *tally_create(const struct endpoint *server, unsigned close_notify_ways)
{
    struct tally *tally = xcalloc(1, sizeof *tally);
    tally->server = *server;
    tally->close_notify_ways = close_notify_ways;
    return tally;
}

void tally_begin_at(struct tally *tally, uint16_t port, uint64_t sent, uint64_t received)
{
    struct flow *flow = flow_of(tally, port);
    flow->counts = true;
    flow->streams[WAY_SENT].from = sent;
    flow->streams[WAY_RECEIVED].from = received;
}

void tally_begin_after(struct tally *tally, uint64_t connections)
{
    tally->reconnects = true;
    tally->skipped = connections;
}

void tally_free(struct tally *tally)
{
    end_flows(tally);
    for (size_t port = 0; port < PORTS; port++)
        free(tally->flows[port]);
    free(tally);
}
