/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "capture/capture.h"

#include <netinet/in.h>

#define SERVER_PORT 7007
#define CLIENT_PORT 40000
#define CLIENT_ZERO 0xffffff00u /* first sequence number; it wraps soon */
#define SERVER_ZERO 77u
#define MSS 1460
#define TIMESTAMPS 12

static const struct endpoint server = {AF_INET, {127, 0, 0, 1}, SERVER_PORT};

static struct segment parsed; /* of the last frame */
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

    add(WAY_SENT, syn);
    syn.sequence = SERVER_ZERO;
    syn.flags |= SEGMENT_ACK;
    add(WAY_RECEIVED, syn);
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

/* Counts from these bytes of each stream. */
static void begin_at(uint16_t port, uint64_t sent, uint64_t received, uint16_t window)
{
    begin(0);
    tally_begin_at(tally, port, sent, received);
    open_with(CLIENT_ZERO, window);
}

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
    parsed = (struct segment){0};
}

struct unit_fixture unit_fixture = {.after = end};

/* The figures that every summary has, and the others as the members of an object. */
struct figures {
    int data_segments, payload_bytes, packets, super_packets, retransmitted_segments, retransmitted_bytes;
};

static void assert_summary(enum way way, struct figures figures, const char *others)
{
    CLEANUP_JSON json_t *summary = tally_to_json(tally, way);
    CLEANUP_FREE char *text = json_dumps(summary, JSON_COMPACT);
    CLEANUP_JSON json_t *expected = json_loads(others, 0, NULL);
    CLEANUP_JSON json_t *always =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "data_segments", figures.data_segments, "payload_bytes",
                  figures.payload_bytes, "packets", figures.packets, "super_packets", figures.super_packets,
                  "retransmitted_segments", figures.retransmitted_segments, "retransmitted_bytes",
                  figures.retransmitted_bytes);

    assert_non_null(expected);
    assert_int_equal(json_object_update(expected, always), 0);
    if (!json_equal(summary, expected))
        fail_msg("%s is not as expected, with %s", text, others);
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

TEST(segments_are_counted_by_size_and_listed_in_order)
{
    begin_whole(0);
    carry(WAY_SENT, 0, 32);
    carry(WAY_SENT, 32, 1000);
    carry(WAY_RECEIVED, 0, 16);
    carry(WAY_SENT, 1032, 32);
    assert_summary(WAY_SENT, (struct figures){3, 1064, 3, 0, 0, 0},
                   "{\"smallest_bytes\": 32, \"largest_bytes\": 1000, \"sizes\": [[32, 2], [1000, 1]], "
                   "\"first\": [32, 1000, 32]}");
    assert_summary(WAY_RECEIVED, (struct figures){1, 16, 1, 0, 0, 0},
                   "{\"smallest_bytes\": 16, \"largest_bytes\": 16, \"sizes\": [[16, 1]], \"first\": [16]}");
}

TEST(the_interval_begins_at_a_byte_of_each_stream)
{
    begin_at(CLIENT_PORT, 320, 16, 64240);
    for (uint32_t at = 0; at < 640; at += 32)
        carry(WAY_SENT, at, 32); /* wraps */
    carry(WAY_RECEIVED, 0, 16);
    assert_summary(WAY_SENT, (struct figures){10, 320, 10, 0, 0, 0},
                   "{\"smallest_bytes\": 32, \"largest_bytes\": 32, \"sizes\": [[32, 10]], "
                   "\"first\": [32, 32, 32, 32, 32, 32, 32, 32, 32, 32]}");
    assert_summary(WAY_RECEIVED, (struct figures){0}, "{}");
}

TEST(what_was_seen_before_is_a_retransmission_and_what_fills_a_gap_is_not)
{
    begin_whole(0);
    carry(WAY_SENT, 0, 100);
    carry(WAY_SENT, 200, 100);
    carry(WAY_SENT, 0, 100);
    carry(WAY_SENT, 100, 100);
    carry(WAY_SENT, 150, 150);
    assert_summary(WAY_SENT, (struct figures){3, 300, 3, 0, 2, 250},
                   "{\"smallest_bytes\": 100, \"largest_bytes\": 100, \"sizes\": [[100, 3]], "
                   "\"first\": [100, 100, 100]}");
}

TEST(a_packet_above_the_mss_counts_as_the_segments_that_it_becomes)
{
    begin_whole(0);
    carry(WAY_SENT, 0, 3000);
    carry(WAY_SENT, 3000, MSS - TIMESTAMPS);
    assert_summary(WAY_SENT, (struct figures){4, 4448, 2, 1, 0, 0},
                   "{\"smallest_bytes\": 104, \"largest_bytes\": 1448, \"sizes\": [[104, 1], [1448, 3]], "
                   "\"first\": [3000, 1448]}");
}

TEST(no_segment_is_above_half_of_the_largest_window_that_was_given)
{
    begin_at(CLIENT_PORT, 0, 0, 2000);
    carry(WAY_SENT, 0, 1001);
    carry(WAY_RECEIVED, 0, 1); /* with it a window of 512 << 7 */
    carry(WAY_SENT, 1001, 1001);
    assert_int_equal(figure(WAY_SENT, "data_segments"), 3);
    assert_int_equal(figure(WAY_SENT, "super_packets"), 1);
}

TEST(connections_of_others_count_nothing)
{
    begin_at(CLIENT_PORT + 1, 0, 0, 64240);
    carry(WAY_SENT, 0, 100);
    client_port = CLIENT_PORT + 1;
    carry(WAY_SENT, 0, 100); /* its SYN was not captured */
    assert_summary(WAY_SENT, (struct figures){0}, "{}");
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
    assert_summary(WAY_SENT, (struct figures){2, 203, 2, 0, 0, 0},
                   "{\"smallest_bytes\": 101, \"largest_bytes\": 102, \"sizes\": [[101, 1], [102, 1]], "
                   "\"first\": [101]}");
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

/* ---- frames ---- */

/* A SYN from 192.0.2.1:40000 to 198.51.100.2:7007 with an MSS of 1460, SACK, timestamps, no-op and
 * a scale of 7; the bytes in front of it are those of the link. */
#define SYN_TCP                                                                                              \
    0x9c, 0x40, 0x1b, 0x5f, 0x01, 0x02, 0x03, 0x04, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0, 0, 0, 0, /* */    \
        2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7
#define IPV4(length, fragment)                                                                               \
    0x45, 0, (length) >> 8, (length)&255, 0, 0, fragment, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2
#define ETHERNET(type) 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, (type) >> 8, (type)&255
#define DATA_TCP 0x9c, 0x40, 0x1b, 0x5f, 0, 0, 0, 9, 0, 0, 0, 1, 0x50, 0x18, 0, 64, 0, 0, 0, 0

static struct endpoint endpoint(const char *text)
{
    struct address address;
    struct endpoint made;

    assert_accepted(address_parse_numeric(&address, text, &unit_problem));
    assert_true(endpoint_of(&made, &address));
    return made;
}

#define parse(link, bytes) frame_parse(&parsed, link, bytes, sizeof(bytes), sizeof(bytes))

static void assert_from_to(const char *source, const char *destination)
{
    struct endpoint from = endpoint(source), to = endpoint(destination);

    assert_true(endpoint_equal(&parsed.source, &from));
    assert_true(endpoint_equal(&parsed.destination, &to));
}

TEST(a_syn_has_its_endpoints_and_its_options)
{
    const uint8_t frame[] = {ETHERNET(0x0800), IPV4(60, 0), SYN_TCP};

    assert_true(parse(FRAME_ETHERNET, frame));
    assert_from_to("192.0.2.1:40000", "198.51.100.2:7007");
    assert_int_equal(parsed.sequence, 0x01020304);
    assert_int_equal(parsed.flags, SEGMENT_SYN);
    assert_int_equal(parsed.window, 64240);
    assert_int_equal(parsed.mss, 1460);
    assert_int_equal(parsed.shift, 7);
    assert_int_equal(parsed.option_bytes, 20);
    assert_int_equal(parsed.payload_bytes, 0);
}

TEST(the_same_packet_is_found_behind_every_link)
{
    const uint8_t loopback[] = {2, 0, 0, 0, IPV4(60, 0), SYN_TCP}, raw[] = {IPV4(60, 0), SYN_TCP},
                  tagged[] = {ETHERNET(0x8100), 0, 7, 0x08, 0x00, IPV4(60, 0), SYN_TCP},
                  cooked[] = {0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x08, 0x00, IPV4(60, 0), SYN_TCP},
                  cooked2[] = {0x08, 0x00, 0, 0, 0, 0, 0, 2, 0, 1,           4,
                               6,    2,    0, 0, 0, 0, 1, 0, 0, IPV4(60, 0), SYN_TCP};

    assert_true(parse(FRAME_NULL, loopback));
    assert_true(parse(FRAME_LOOP, loopback));
    assert_true(parse(FRAME_RAW, raw));
    assert_true(parse(FRAME_RAW_IN_FILE, raw));
    assert_true(parse(FRAME_ETHERNET, tagged));
    assert_true(parse(FRAME_LINUX_SLL, cooked));
    assert_true(parse(FRAME_LINUX_SLL2, cooked2));
    assert_from_to("192.0.2.1:40000", "198.51.100.2:7007");
    assert_false(parse(147, raw));
}

TEST(payload_is_what_ip_says_and_not_what_was_captured_or_padded)
{
    const uint8_t frame[] = {ETHERNET(0x0800), IPV4(42, 0), DATA_TCP, 1, 2, 0, 0, 0, 0};
    const uint8_t cut[] = {ETHERNET(0x0800), IPV4(8232, 0), DATA_TCP, 1, 2, 3};
    const uint8_t uncut[] = {ETHERNET(0x0800), IPV4(0, 0), DATA_TCP};

    assert_true(parse(FRAME_ETHERNET, frame));
    assert_int_equal(parsed.payload_bytes, 2);
    assert_true(frame_parse(&parsed, FRAME_ETHERNET, cut, sizeof cut, 14 + 8232));
    assert_int_equal(parsed.payload_bytes, 8192);
    assert_true(frame_parse(&parsed, FRAME_ETHERNET, uncut, sizeof uncut, 14 + 40 + 100000));
    assert_int_equal(parsed.payload_bytes, 100000); /* a packet too big for the field, not cut up yet */
}

#define IPV6(length, next)                                                                                   \
    0x60, 0, 0, 0, (length) >> 8, (length)&255, next, 64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
        0, 1, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2

TEST(a_segment_of_ipv6_has_no_extension_headers)
{
    const uint8_t plain[] = {ETHERNET(0x86dd), IPV6(25, 6), DATA_TCP, 1, 2, 3, 4, 5};
    const uint8_t options[] = {ETHERNET(0x86dd), IPV6(20 + 8, 0), 6, 0, 0, 0, 0, 0, 0, 0, DATA_TCP};

    assert_true(parse(FRAME_ETHERNET, plain));
    assert_from_to("[2001:db8::1]:40000", "[2001:db8::2]:7007");
    assert_int_equal(parsed.payload_bytes, 5);
    assert_false(parse(FRAME_ETHERNET, options));
}

TEST(an_incomplete_tcp_header_is_no_segment)
{
    const uint8_t fragment[] = {IPV4(40, 0x20), DATA_TCP}, longer[] = {IPV4(41, 0), DATA_TCP},
                  shorter[] = {IPV4(19, 0), DATA_TCP}, headless[] = {IPV4(40, 0), 0, 0, 0, 0};
    uint8_t frame[] = {ETHERNET(0x0800), IPV4(60, 0), SYN_TCP};

    assert_false(parse(FRAME_RAW, fragment));
    assert_false(parse(FRAME_RAW, longer));
    assert_false(parse(FRAME_RAW, shorter));
    assert_false(parse(FRAME_RAW, headless));
    for (size_t size = 0; size < 14 + 20 + 20; size++)
        assert_false(frame_parse(&parsed, FRAME_ETHERNET, frame, size, sizeof frame));
    frame[14 + 9] = IPPROTO_UDP;
    assert_false(parse(FRAME_ETHERNET, frame));
    frame[13] = 6; /* ARP */
    assert_false(parse(FRAME_ETHERNET, frame));
}

TEST(options_that_were_cut_off_are_read_as_far_as_they_go)
{
    const uint8_t frame[] = {ETHERNET(0x0800), IPV4(60, 0), SYN_TCP};

    assert_true(frame_parse(&parsed, FRAME_ETHERNET, frame, 14 + 20 + 20 + 7, sizeof frame));
    assert_int_equal(parsed.mss, 1460);
    assert_int_equal(parsed.shift, -1);
    assert_int_equal(parsed.option_bytes, 20);
}

TEST(ipv4_that_is_spelled_as_ipv6_is_the_same_endpoint)
{
    struct endpoint four = endpoint("192.0.2.1:7"), mapped = endpoint("[::ffff:192.0.2.1]:7"),
                    other = endpoint("192.0.2.1:8");

    assert_true(endpoint_equal(&four, &mapped));
    assert_false(endpoint_equal(&four, &other));
}
