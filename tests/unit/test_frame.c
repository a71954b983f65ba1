/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "capture/capture.h"

#include <netinet/in.h>

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
    struct problem problem = {0};
    struct address address;
    struct endpoint made;

    if (address_parse_numeric(&address, text, &problem) < 0)
        fail_msg("%s", problem.text);
    assert_true(endpoint_of(&made, &address));
    return made;
}

static void assert_from_to(const struct segment *segment, const char *source, const char *destination)
{
    struct endpoint from = endpoint(source), to = endpoint(destination);

    assert_true(endpoint_equal(&segment->source, &from));
    assert_true(endpoint_equal(&segment->destination, &to));
}

#define parse(segment, link, bytes) frame_parse(segment, link, bytes, sizeof(bytes), sizeof(bytes))

TEST(a_syn_has_its_endpoints_and_its_options)
{
    const uint8_t frame[] = {ETHERNET(0x0800), IPV4(60, 0), SYN_TCP};
    struct segment segment;

    assert_true(parse(&segment, FRAME_ETHERNET, frame));
    assert_from_to(&segment, "192.0.2.1:40000", "198.51.100.2:7007");
    assert_int_equal(segment.sequence, 0x01020304);
    assert_int_equal(segment.flags, SEGMENT_SYN);
    assert_int_equal(segment.window, 64240);
    assert_int_equal(segment.mss, 1460);
    assert_int_equal(segment.shift, 7);
    assert_int_equal(segment.option_bytes, 20);
    assert_int_equal(segment.payload_bytes, 0);
}

TEST(the_same_packet_is_found_behind_every_link)
{
    const uint8_t loopback[] = {2, 0, 0, 0, IPV4(60, 0), SYN_TCP}, raw[] = {IPV4(60, 0), SYN_TCP},
                  tagged[] = {ETHERNET(0x8100), 0, 7, 0x08, 0x00, IPV4(60, 0), SYN_TCP},
                  cooked[] = {0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x08, 0x00, IPV4(60, 0), SYN_TCP},
                  cooked2[] = {0x08, 0x00, 0, 0, 0, 0, 0, 2, 0, 1,           4,
                               6,    2,    0, 0, 0, 0, 1, 0, 0, IPV4(60, 0), SYN_TCP};
    struct segment segment;

    assert_true(parse(&segment, FRAME_NULL, loopback));
    assert_true(parse(&segment, FRAME_LOOP, loopback));
    assert_true(parse(&segment, FRAME_RAW, raw));
    assert_true(parse(&segment, FRAME_RAW_IN_FILE, raw));
    assert_true(parse(&segment, FRAME_ETHERNET, tagged));
    assert_true(parse(&segment, FRAME_LINUX_SLL, cooked));
    assert_true(parse(&segment, FRAME_LINUX_SLL2, cooked2));
    assert_from_to(&segment, "192.0.2.1:40000", "198.51.100.2:7007");
    assert_false(parse(&segment, 147, raw));
}

TEST(payload_is_what_ip_says_and_not_what_was_captured_or_padded)
{
    const uint8_t frame[] = {ETHERNET(0x0800), IPV4(42, 0), DATA_TCP, 1, 2, 0, 0, 0, 0};
    const uint8_t cut[] = {ETHERNET(0x0800), IPV4(8232, 0), DATA_TCP, 1, 2, 3};
    const uint8_t uncut[] = {ETHERNET(0x0800), IPV4(0, 0), DATA_TCP};
    struct segment segment;

    assert_true(parse(&segment, FRAME_ETHERNET, frame));
    assert_int_equal(segment.payload_bytes, 2);
    assert_true(frame_parse(&segment, FRAME_ETHERNET, cut, sizeof cut, 14 + 8232));
    assert_int_equal(segment.payload_bytes, 8192);
    assert_true(frame_parse(&segment, FRAME_ETHERNET, uncut, sizeof uncut, 14 + 40 + 100000));
    assert_int_equal(segment.payload_bytes, 100000); /* a packet too big for the field, not cut up yet */
}

#define IPV6(length, next)                                                                                   \
    0x60, 0, 0, 0, (length) >> 8, (length)&255, next, 64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
        0, 1, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2

TEST(a_segment_of_ipv6_has_no_extension_headers)
{
    const uint8_t plain[] = {ETHERNET(0x86dd), IPV6(25, 6), DATA_TCP, 1, 2, 3, 4, 5};
    const uint8_t options[] = {ETHERNET(0x86dd), IPV6(20 + 8, 0), 6, 0, 0, 0, 0, 0, 0, 0, DATA_TCP};
    struct segment segment;

    assert_true(parse(&segment, FRAME_ETHERNET, plain));
    assert_from_to(&segment, "[2001:db8::1]:40000", "[2001:db8::2]:7007");
    assert_int_equal(segment.payload_bytes, 5);
    assert_false(parse(&segment, FRAME_ETHERNET, options));
}

TEST(an_incomplete_tcp_header_is_no_segment)
{
    const uint8_t fragment[] = {IPV4(40, 0x20), DATA_TCP}, longer[] = {IPV4(41, 0), DATA_TCP},
                  shorter[] = {IPV4(19, 0), DATA_TCP}, headless[] = {IPV4(40, 0), 0, 0, 0, 0};
    uint8_t frame[] = {ETHERNET(0x0800), IPV4(60, 0), SYN_TCP};
    struct segment segment;

    assert_false(parse(&segment, FRAME_RAW, fragment));
    assert_false(parse(&segment, FRAME_RAW, longer));
    assert_false(parse(&segment, FRAME_RAW, shorter));
    assert_false(parse(&segment, FRAME_RAW, headless));
    for (size_t size = 0; size < 14 + 20 + 20; size++)
        assert_false(frame_parse(&segment, FRAME_ETHERNET, frame, size, sizeof frame));
    frame[14 + 9] = IPPROTO_UDP;
    assert_false(parse(&segment, FRAME_ETHERNET, frame));
    frame[13] = 6; /* ARP */
    assert_false(parse(&segment, FRAME_ETHERNET, frame));
}

TEST(options_that_were_cut_off_are_read_as_far_as_they_go)
{
    const uint8_t frame[] = {ETHERNET(0x0800), IPV4(60, 0), SYN_TCP};
    struct segment segment;

    assert_true(frame_parse(&segment, FRAME_ETHERNET, frame, 14 + 20 + 20 + 7, sizeof frame));
    assert_int_equal(segment.mss, 1460);
    assert_int_equal(segment.shift, -1);
    assert_int_equal(segment.option_bytes, 20);
}

TEST(ipv4_that_is_spelled_as_ipv6_is_the_same_endpoint)
{
    struct endpoint four = endpoint("192.0.2.1:7"), mapped = endpoint("[::ffff:192.0.2.1]:7"),
                    other = endpoint("192.0.2.1:8");

    assert_true(endpoint_equal(&four, &mapped));
    assert_false(endpoint_equal(&four, &other));
}
