/* SPDX-License-Identifier: MIT */
/*
 * What a captured frame says of TCP. A pure function over bytes that come from outside: nothing in them is
 * believed before it was compared with how many there are.
 */
#ifndef UNCORK_CAPTURE_FRAME_H
#define UNCORK_CAPTURE_FRAME_H

#include "net/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands before the IP header, by the numbers that libpcap has for it. */
enum frame_link {
    FRAME_NULL = 0, /* loopback of the BSDs: four bytes */
    FRAME_ETHERNET = 1,
    FRAME_RAW = 12, /* nothing */
    FRAME_RAW_IN_FILE = 101,
    FRAME_LOOP = 108,       /* as NULL, in the order of the network */
    FRAME_LINUX_SLL = 113,  /* "cooked", of the device "any" */
    FRAME_LINUX_SLL2 = 276, /* the same with the number of the device */
};

/* One side of a connection. An IPv4 address has its 4 bytes in front and zeros behind. */
struct endpoint {
    int family; /* AF_INET, AF_INET6 */
    uint8_t host[16];
    uint16_t port;
};

#define SEGMENT_FIN 0x01u
#define SEGMENT_SYN 0x02u
#define SEGMENT_ACK 0x10u

struct segment {
    struct endpoint source, destination;
    uint32_t sequence; /* of its first byte, or of its SYN */
    uint8_t flags;
    uint16_t window;        /* as it stands there, not scaled */
    uint16_t mss;           /* option; 0: absent */
    int shift;              /* option: by how much windows are scaled; -1: absent */
    uint32_t option_bytes;  /* of all of its options */
    uint32_t payload_bytes; /* of the whole packet, also where only its beginning was captured */
};

/* The same host and port as an endpoint; IPv4 that is spelled as IPv6 is taken for what it is. False where it
 * is neither. */
bool endpoint_of(struct endpoint *endpoint, const struct address *address);
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);

/* Reads the first `size` bytes of a frame that had `wire_bytes` on `link`. False where it is no whole header
 * of TCP, or the lengths in it contradict each other. */
bool frame_parse(struct segment *segment, int link, const uint8_t *bytes, size_t size, size_t wire_bytes);

#endif
