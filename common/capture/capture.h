/* SPDX-License-Identifier: MIT */
/* Captures the packets of all connections to one endpoint, on the device that leads to it, and
 * sums up their segments. Only capture.c uses libpcap; the other functions are pure. */
#pragma once

#include "net/address.h"

#include <jansson.h>

/* ---- the TCP segment in a frame: frame.c ---- */

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

/* Parses the first `size` bytes of a frame of `wire_bytes` on `link`, which are untrusted. False if
 * there is no complete TCP header, or if the lengths in it contradict each other. */
bool frame_parse(struct segment *segment, int link, const uint8_t *bytes, size_t size, size_t wire_bytes);

/* ---- the packets of a run: capture.c ---- */

#define CAPTURE_PACKETS_MAX 500000u /* packets to store: at most 60 MB of memory */

struct capture;

/* Checks that this process may capture. 0, or -1 with an unsupported problem and its remedy. */
int capture_check(struct problem *problem);

/* Starts to store packets from and to `server`, in memory, by a separate thread on `cpu`; -1: on
 * any CPU. `path` is the file for capture_write(). NULL with a problem. */
struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem);

/* Stores all packets up to now and ends the thread. Returns what docs/record.md has of a capture
 * without its two ways. New reference; NULL with a failure. */
json_t *capture_stop(struct capture *capture, struct problem *problem);

/* After capture_stop(): the next packet that is a TCP segment. False after the last. */
bool capture_next(struct capture *capture, struct segment *segment);

/* After capture_stop(): writes the file. 0, or -1 with a failure; then there is no file. */
int capture_write(struct capture *capture, struct problem *problem);

/* Stops the capture if it still runs, and frees its memory. */
void capture_free(struct capture *capture);

/* ---- the summary of the segments in the measured interval: tally.c ---- */

/* Segments go in, in the order of their capture, and a summary comes out. A segment belongs to the
 * interval if it begins at the first byte of the interval or later (docs/design/interval.md). With
 * reconnects, the connections of the warm-up are skipped by their number. */
struct tally;

enum way { WAY_SENT, WAY_RECEIVED, WAY_COUNT }; /* as the client sees it */

/* Counts connections to `server`. `close_notify_ways`: bits 1 << way for the ways on which each
 * stream ends with a close_notify, which is no part of a message. Free it by tally_free(). */
struct tally *tally_create(const struct endpoint *server, unsigned close_notify_ways);
void tally_free(struct tally *tally);

/* Call before the first segment. Counts the connection of this client port, from these bytes on. */
void tally_begin_at(struct tally *tally, uint16_t port, uint64_t sent, uint64_t received);

/* Call before the first segment. Counts all connections except the first `connections`. */
void tally_begin_after(struct tally *tally, uint64_t connections);

void tally_add(struct tally *tally, const struct segment *segment);

/* Call after the last segment. Returns the summary of one way (docs/record.md). New reference. */
json_t *tally_to_json(struct tally *tally, enum way way);

/* The bytes of a stream that were captured: disjoint ranges, ascending. Nearly always one range. */
struct ranges {
    struct range {
        uint64_t begin, end; /* bytes `begin` to `end` - 1 */
    } * list;
    size_t count;
};

/* Adds a range. Returns how many of its bytes are new. */
uint64_t ranges_add(struct ranges *ranges, uint64_t begin, uint64_t end);
void ranges_free(struct ranges *ranges);
