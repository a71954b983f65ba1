/* SPDX-License-Identifier: MIT */
/* Reads the TCP segment in a captured frame. The functions are pure, and the bytes untrusted: every
 * length in them is compared with the captured size before use. */
#pragma once

#include "net/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Link types, by the numbers of libpcap: the header before the IP header. */
enum frame_link {
    FRAME_NULL = 0, /* loopback of the BSDs: four bytes */
    FRAME_ETHERNET = 1,
    FRAME_RAW = 12, /* nothing */
    FRAME_RAW_IN_FILE = 101,
    FRAME_LOOP = 108,       /* as FRAME_NULL, in network byte order */
    FRAME_LINUX_SLL = 113,  /* "cooked", of the device "any" */
    FRAME_LINUX_SLL2 = 276, /* the same with the index of the device */
};

/* One side of a connection. An IPv4 address has its 4 bytes in front and zeros behind. */
struct endpoint {
    int family; /* AF_INET, AF_INET6 */
    uint8_t host[16];
    uint16_t port;
};

#define SEGMENT_SYN 0x02u
#define SEGMENT_ACK 0x10u

struct segment {
    struct endpoint source, destination;
    uint32_t sequence; /* of its first byte, or of its SYN */
    uint8_t flags;
    uint16_t window;        /* as in the header, not scaled */
    uint16_t mss;           /* option; 0: absent */
    int shift;              /* option: window scale; -1: absent */
    uint32_t option_bytes;  /* of all of its options */
    uint32_t payload_bytes; /* of the whole packet, even if its capture is truncated */
};

/* Converts an address, IPv4-mapped IPv6 to IPv4. False if it is neither IPv4 nor IPv6. */
bool endpoint_of(struct endpoint *endpoint, const struct address *address);
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);

/* Parses the first `size` bytes of a frame of `wire_bytes` on `link`. False if there is no complete
 * TCP header, or if the lengths contradict each other. */
bool frame_parse(struct segment *segment, int link, const uint8_t *bytes, size_t size, size_t wire_bytes);
