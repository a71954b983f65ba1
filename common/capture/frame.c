/* SPDX-License-Identifier: MIT */
#include "capture/capture.h"

#include "base/wire.h"

#include <netinet/in.h>
#include <string.h>

/* The unread bytes: how many were captured, how many were on the wire. */
struct cursor {
    const uint8_t *at;
    size_t left, wire_left;
};

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_VLAN_OUTER 0x88a8

/* The next `size` bytes; NULL where fewer are left. */
static const uint8_t *take(struct cursor *cursor, size_t size)
{
    const uint8_t *taken = cursor->at;

    if (size > cursor->left)
        return NULL;
    cursor->at += size;
    cursor->left -= size;
    cursor->wire_left -= size;
    return taken;
}

/* Limits the cursor to `size` bytes, the length of the IP packet: the link may add padding. */
static bool limit(struct cursor *cursor, size_t size)
{
    if (size > cursor->wire_left)
        return false;
    cursor->wire_left = size;
    if (cursor->left > size)
        cursor->left = size;
    return true;
}

/* ---- link layer ---- */

/* Skips VLAN tags. Returns true if the type after them is IP. */
static bool is_ip(struct cursor *cursor, const uint8_t *type)
{
    while (type && (wire_get16(type) == ETHERTYPE_VLAN || wire_get16(type) == ETHERTYPE_VLAN_OUTER))
        type = take(cursor, 4) ? cursor->at - 2 : NULL;
    return type && (wire_get16(type) == ETHERTYPE_IPV4 || wire_get16(type) == ETHERTYPE_IPV6);
}

static bool take_link(struct cursor *cursor, int link)
{
    static const struct {
        int link;
        size_t size;
        int type_at; /* offset of the type; -1: no type, IP follows */
    } links[] = {{FRAME_ETHERNET, 14, 12}, {FRAME_NULL, 4, -1},        {FRAME_LOOP, 4, -1},
                 {FRAME_RAW, 0, -1},       {FRAME_RAW_IN_FILE, 0, -1}, {FRAME_LINUX_SLL, 16, 14},
                 {FRAME_LINUX_SLL2, 20, 0}};

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        const uint8_t *header = links[i].link == link ? take(cursor, links[i].size) : NULL;

        if (header)
            return links[i].type_at < 0 || is_ip(cursor, header + links[i].type_at);
    }
    return false;
}

/* ---- IP ---- */

static void set_hosts(struct segment *segment, int family, const uint8_t *hosts, size_t size)
{
    segment->source.family = segment->destination.family = family;
    memcpy(segment->source.host, hosts, size);
    memcpy(segment->destination.host, hosts + size, size);
}

/* Length 0 means that the packet is too big for the field, because the kernel has not segmented it
 * yet. Then all bytes of the frame belong to it. Fragments are ignored: only the first fragment of
 * a packet has a TCP header. */
static bool take_ipv4(struct cursor *cursor, struct segment *segment)
{
    const uint8_t *header = cursor->at;
    size_t size = cursor->left >= 20 ? (size_t)(header[0] & 15) * 4 : 0, whole;

    if (size < 20 || header[9] != IPPROTO_TCP || (wire_get16(header + 6) & 0x3fff) != 0)
        return false;
    whole = wire_get16(header + 2) ? wire_get16(header + 2) : cursor->wire_left;
    if (whole < size || !limit(cursor, whole) || !take(cursor, size))
        return false;
    set_hosts(segment, AF_INET, header + 12, 4);
    return true;
}

/* A packet with extension headers does not pass the filter of the capture: pcap-filter(7) compares
 * the first header only. */
static bool take_ipv6(struct cursor *cursor, struct segment *segment)
{
    const uint8_t *header = take(cursor, 40);
    size_t whole = header ? wire_get16(header + 4) : 0;

    if (!header || header[6] != IPPROTO_TCP || !limit(cursor, whole ? whole : cursor->wire_left))
        return false;
    set_hosts(segment, AF_INET6, header + 8, 16);
    return true;
}

/* ---- TCP ---- */

/* `size`: bytes of options that were captured. */
static void read_options(struct segment *segment, const uint8_t *at, size_t size)
{
    while (size > 0 && at[0] != 0) {
        size_t length = at[0] == 1 ? 1 : size > 1 ? at[1] : 0;

        if (length == 0 || length > size || (at[0] != 1 && length < 2))
            return;
        if (at[0] == 2 && length == 4)
            segment->mss = wire_get16(at + 2);
        if (at[0] == 3 && length == 3)
            segment->shift = at[2] > 14 ? 14 : at[2]; /* RFC 7323 */
        at += length;
        size -= length;
    }
}

static bool take_tcp(struct cursor *cursor, struct segment *segment)
{
    const uint8_t *header = take(cursor, 20);
    size_t size = header ? (size_t)(header[12] >> 4) * 4 : 0;

    if (size < 20 || size - 20 > cursor->wire_left)
        return false;
    segment->source.port = wire_get16(header);
    segment->destination.port = wire_get16(header + 2);
    segment->sequence = wire_get32(header + 4);
    segment->flags = header[13];
    segment->window = wire_get16(header + 14);
    segment->option_bytes = (uint32_t)size - 20;
    segment->payload_bytes = (uint32_t)(cursor->wire_left - segment->option_bytes);
    read_options(segment, cursor->at,
                 cursor->left < segment->option_bytes ? cursor->left : segment->option_bytes);
    return true;
}

bool frame_parse(struct segment *segment, int link, const uint8_t *bytes, size_t size, size_t wire_bytes)
{
    struct cursor cursor = {bytes, size, wire_bytes};

    *segment = (struct segment){.shift = -1};
    if (wire_bytes < size || wire_bytes > UINT32_MAX || !take_link(&cursor, link) || !cursor.left)
        return false;
    if (cursor.at[0] >> 4 == 4)
        return take_ipv4(&cursor, segment) && take_tcp(&cursor, segment);
    return cursor.at[0] >> 4 == 6 && take_ipv6(&cursor, segment) && take_tcp(&cursor, segment);
}

/* ---- endpoints ---- */

bool endpoint_of(struct endpoint *endpoint, const struct address *address)
{
    endpoint->family = address_host(endpoint->host, address);
    endpoint->port = (uint16_t)address_port(address);
    return endpoint->family == AF_INET || endpoint->family == AF_INET6;
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
    return a->family == b->family && a->port == b->port && !memcmp(a->host, b->host, sizeof a->host);
}
