/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/cleanup.h"
#include "capture/capture.h"

#include <netinet/in.h>

#define SERVER_PORT 7007
#define CLIENT_PORT 40000
#define CLIENT_ZERO 0xffffff00u /* first sequence number; it wraps soon */
#define SERVER_ZERO 77u
#define MSS 1460
#define TIMESTAMPS 12

static const struct endpoint server = {AF_INET, {127, 0, 0, 1}, SERVER_PORT};

static struct tally *tally;
static uint16_t client_port;

static void add(enum way way, struct segment segment)
{
    struct endpoint client = server;

    client.port = client_port;
    segment.source = way == WAY_SENT ? client : server;
    segment.destination = way == WAY_SENT ? server : client;
    tally_add(tally, &segment);
}

static void open_with(uint32_t zero, uint16_t window)
{
    struct segment syn = {.sequence = zero, .flags = SEGMENT_SYN, .window = window, .mss = MSS, .shift = 7};
    struct segment answer = {.sequence = SERVER_ZERO,
                             .flags = SEGMENT_SYN | SEGMENT_ACK,
                             .window = window,
                             .mss = MSS,
                             .shift = 7};

    add(WAY_SENT, syn);
    add(WAY_RECEIVED, answer);
}

/* `bytes` from byte number `offset` of the stream. */
static void carry(enum way way, uint32_t offset, uint32_t bytes)
{
    uint32_t zero = way == WAY_SENT ? CLIENT_ZERO : SERVER_ZERO;

    add(way, (struct segment){.sequence = zero + 1 + offset,
                              .flags = SEGMENT_ACK,
                              .window = 512,
                              .shift = -1,
                              .option_bytes = TIMESTAMPS,
                              .payload_bytes = bytes});
}

static void begin(unsigned close_notify_ways)
{
    tally = tally_create(&server, close_notify_ways);
    assert_non_null(tally);
    client_port = CLIENT_PORT;
}

/* Counts from the first byte of each stream. */
static void begin_whole(unsigned close_notify_ways)
{
    begin(close_notify_ways);
    tally_begin_at(tally, CLIENT_PORT, 0, 0);
    open_with(CLIENT_ZERO, 64240);
}

static void end(void)
{
    if (tally)
        tally_free(tally);
    tally = NULL;
}

struct unit_fixture unit_fixture = {.after = end};

static void assert_summary(enum way way, const char *wanted)
{
    CLEANUP_JSON json_t *summary = tally_to_json(tally, way), *expected = json_loads(wanted, 0, NULL);
    CLEANUP_FREE char *text = json_dumps(summary, JSON_COMPACT);

    assert_non_null(expected);
    if (!json_equal(summary, expected))
        fail_msg("%s is not %s", text, wanted);
}

/* A figure, or the number of items of a list; -1: the summary does not have it. */
static json_int_t figure(enum way way, const char *key)
{
    CLEANUP_JSON json_t *summary = tally_to_json(tally, way);
    const json_t *value = json_object_get(summary, key);

    if (!value)
        return -1;
    return json_is_array(value) ? (json_int_t)json_array_size(value) : json_integer_value(value);
}

#define NOTHING                                                                                              \
    "{\"data_segments\": 0, \"payload_bytes\": 0, \"packets\": 0, \"super_packets\": 0, "                    \
    "\"retransmitted_segments\": 0, \"retransmitted_bytes\": 0}"

TEST(segments_are_counted_by_size_and_listed_in_order)
{
    begin_whole(0);
    carry(WAY_SENT, 0, 32);
    carry(WAY_SENT, 32, 1000);
    carry(WAY_RECEIVED, 0, 16);
    carry(WAY_SENT, 1032, 32);
    assert_summary(WAY_SENT,
                   "{\"data_segments\": 3, \"payload_bytes\": 1064, \"packets\": 3, \"super_packets\": 0, "
                   "\"retransmitted_segments\": 0, \"retransmitted_bytes\": 0, \"smallest_bytes\": 32, "
                   "\"largest_bytes\": 1000, \"sizes\": [[32, 2], [1000, 1]], \"first\": [32, 1000, 32]}");
    assert_summary(WAY_RECEIVED,
                   "{\"data_segments\": 1, \"payload_bytes\": 16, \"packets\": 1, \"super_packets\": 0, "
                   "\"retransmitted_segments\": 0, \"retransmitted_bytes\": 0, \"smallest_bytes\": 16, "
                   "\"largest_bytes\": 16, \"sizes\": [[16, 1]], \"first\": [16]}");
}

TEST(the_interval_begins_at_a_byte_of_each_stream)
{
    begin(0);
    tally_begin_at(tally, CLIENT_PORT, 320, 16);
    open_with(CLIENT_ZERO, 64240);
    for (uint32_t at = 0; at < 640; at += 32)
        carry(WAY_SENT, at, 32); /* wraps */
    carry(WAY_RECEIVED, 0, 16);
    assert_summary(WAY_SENT,
                   "{\"data_segments\": 10, \"payload_bytes\": 320, \"packets\": 10, \"super_packets\": 0, "
                   "\"retransmitted_segments\": 0, \"retransmitted_bytes\": 0, \"smallest_bytes\": 32, "
                   "\"largest_bytes\": 32, \"sizes\": [[32, 10]], "
                   "\"first\": [32, 32, 32, 32, 32, 32, 32, 32, 32, 32]}");
    assert_summary(WAY_RECEIVED, NOTHING);
}

TEST(what_was_seen_before_is_a_retransmission_and_what_fills_a_gap_is_not)
{
    begin_whole(0);
    carry(WAY_SENT, 0, 100);
    carry(WAY_SENT, 200, 100);
    carry(WAY_SENT, 0, 100);
    carry(WAY_SENT, 100, 100);
    carry(WAY_SENT, 150, 150);
    assert_summary(WAY_SENT,
                   "{\"data_segments\": 3, \"payload_bytes\": 300, \"packets\": 3, \"super_packets\": 0, "
                   "\"retransmitted_segments\": 2, \"retransmitted_bytes\": 250, \"smallest_bytes\": 100, "
                   "\"largest_bytes\": 100, \"sizes\": [[100, 3]], \"first\": [100, 100, 100]}");
}

TEST(a_packet_above_the_mss_counts_as_the_segments_that_it_becomes)
{
    begin_whole(0);
    carry(WAY_SENT, 0, 3000);
    carry(WAY_SENT, 3000, MSS - TIMESTAMPS);
    assert_summary(WAY_SENT,
                   "{\"data_segments\": 4, \"payload_bytes\": 4448, \"packets\": 2, \"super_packets\": 1, "
                   "\"retransmitted_segments\": 0, \"retransmitted_bytes\": 0, \"smallest_bytes\": 104, "
                   "\"largest_bytes\": 1448, \"sizes\": [[104, 1], [1448, 3]], \"first\": [3000, 1448]}");
}

TEST(no_segment_is_above_half_of_the_largest_window_that_was_given)
{
    begin(0);
    tally_begin_at(tally, CLIENT_PORT, 0, 0);
    open_with(CLIENT_ZERO, 2000);
    carry(WAY_SENT, 0, 1001);
    carry(WAY_RECEIVED, 0, 1); /* with it a window of 512 << 7 */
    carry(WAY_SENT, 1001, 1001);
    assert_int_equal(figure(WAY_SENT, "data_segments"), 3);
    assert_int_equal(figure(WAY_SENT, "super_packets"), 1);
}

TEST(connections_of_others_count_nothing)
{
    begin(0);
    tally_begin_at(tally, CLIENT_PORT + 1, 0, 0);
    open_with(CLIENT_ZERO, 64240);
    carry(WAY_SENT, 0, 100);
    client_port = CLIENT_PORT + 1;
    carry(WAY_SENT, 0, 100); /* its SYN was not captured */
    assert_summary(WAY_SENT, NOTHING);
}

TEST(with_reconnects_the_connections_of_the_warm_up_are_not_counted)
{
    begin(0);
    tally_begin_after(tally, 1);
    for (uint32_t turn = 0; turn < 3; turn++) { /* all from one port */
        open_with(CLIENT_ZERO + turn, 64240);
        open_with(CLIENT_ZERO + turn, 64240); /* the SYN again */
        carry(WAY_SENT, turn, 100 + turn);
    }
    assert_summary(WAY_SENT,
                   "{\"data_segments\": 2, \"payload_bytes\": 203, \"packets\": 2, \"super_packets\": 0, "
                   "\"retransmitted_segments\": 0, \"retransmitted_bytes\": 0, \"smallest_bytes\": 101, "
                   "\"largest_bytes\": 102, \"sizes\": [[101, 1], [102, 1]], \"first\": [101]}");
}

TEST(a_close_notify_alone_in_its_segment_is_not_counted)
{
    begin_whole(1u << WAY_SENT | 1u << WAY_RECEIVED);
    carry(WAY_SENT, 0, 24);
    carry(WAY_SENT, 24, 24);
    carry(WAY_RECEIVED, 0, 48); /* it shares a segment */
    assert_int_equal(figure(WAY_SENT, "data_segments"), 1);
    assert_int_equal(figure(WAY_SENT, "shared_close_notifies"), -1);
    assert_int_equal(figure(WAY_RECEIVED, "data_segments"), 1);
    assert_int_equal(figure(WAY_RECEIVED, "shared_close_notifies"), 1);
}

TEST(a_stream_that_ends_without_a_close_notify_is_counted_whole)
{
    begin_whole(1u << WAY_RECEIVED);
    carry(WAY_SENT, 0, 24);
    assert_int_equal(figure(WAY_SENT, "data_segments"), 1);
}

TEST(of_many_sizes_the_most_frequent_and_the_extremes_are_listed)
{
    uint32_t at = 0;

    begin_whole(0);
    for (uint32_t bytes = 1; bytes <= 100; bytes++)
        for (uint32_t times = 0; times < (bytes == 50 ? 3 : 1); times++, at += bytes)
            carry(WAY_SENT, at, bytes);
    assert_int_equal(figure(WAY_SENT, "sizes"), 64);
    assert_int_equal(figure(WAY_SENT, "other_sizes"), 102 - 66);
    assert_int_equal(figure(WAY_SENT, "smallest_bytes"), 1);
    assert_int_equal(figure(WAY_SENT, "largest_bytes"), 100);
    assert_int_equal(figure(WAY_SENT, "first"), 64);
}

TEST(ranges_know_every_byte_that_was_added_to_them)
{
    struct dice dice = {.state = 11};
    struct ranges ranges = {0};
    bool known[400] = {false};

    for (int turn = 0; turn < 300; turn++) {
        uint64_t begin = dice_roll(&dice, 380), end = begin + 1 + dice_roll(&dice, 20), wanted = 0;

        for (uint64_t at = begin; at < end; at++) {
            wanted += !known[at];
            known[at] = true;
        }
        assert_int_equal(ranges_add(&ranges, begin, end), wanted);
        for (size_t i = 1; i < ranges.count; i++)
            assert_true(ranges.list[i - 1].end < ranges.list[i].begin);
    }
    ranges_free(&ranges);
}
