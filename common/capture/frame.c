/* SPDX-License-Identifier: MIT */
#include "capture/capture.h"

#include "base/bytes.h"

#include <sys/param.h>

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

/* Where a header has its fields. */
static const struct ip_layout {
    int family;
    size_t size, length_at, protocol_at, hosts_at, host_size;
} ipv4 = {AF_INET, 20, 2, 9, 12, 4}, ipv6 = {AF_INET6, 40, 4, 6, 8, 16};

/* Length 0: the packet is too big for the field, because the kernel has not segmented it yet. All
 * bytes of the frame belong to it. Fragments are ignored: only the first has a TCP header. IPv6 with
 * extension headers does not pass the filter: pcap-filter(7) compares the first header only. */
static bool take_ip(struct cursor *cursor, struct segment *segment)
{
    const uint8_t *header = cursor->at;
    unsigned version = cursor->left ? header[0] >> 4 : 0;
    const struct ip_layout *ip = version == 4 ? &ipv4 : &ipv6;

    if ((version != 4 && version != 6) || cursor->left < ip->size || header[ip->protocol_at] != IPPROTO_TCP)
        return false;
    size_t size = version == 4 ? (size_t)(header[0] & 15) * 4 : ip->size;
    size_t length = wire_get16(header + ip->length_at), before = version == 4 ? 0 : size;
    size_t whole = length ? before + length : cursor->wire_left;
    if (size < ip->size || whole < size || whole > cursor->wire_left ||
        (version == 4 && wire_get16(header + 6) & 0x3fff))
        return false;
    cursor->wire_left = whole; /* the link may add padding */
    cursor->left = MIN(cursor->left, whole);
    if (!take(cursor, size))
        return false;
    segment->source.family = segment->destination.family = ip->family;
    memcpy(segment->source.host, header + ip->hosts_at, ip->host_size);
    memcpy(segment->destination.host, header + ip->hosts_at + ip->host_size, ip->host_size);
    return true;
}

bool frame_parse(struct segment *segment, int link, const uint8_t *bytes, size_t size, size_t wire_bytes)
{
    struct cursor cursor = {bytes, size, wire_bytes};
    *segment = (struct segment){.shift = -1};
    if (wire_bytes < size || wire_bytes > UINT32_MAX || !take_link(&cursor, link) ||
        !take_ip(&cursor, segment))
        return false;
    const uint8_t *header = take(&cursor, 20);
    size_t header_size = header ? (size_t)(header[12] >> 4) * 4 : 0;
    if (header_size < 20 || header_size - 20 > cursor.wire_left)
        return false;
    segment->source.port = wire_get16(header);
    segment->destination.port = wire_get16(header + 2);
    segment->sequence = wire_get32(header + 4);
    segment->flags = header[13];
    segment->window = wire_get16(header + 14);
    segment->option_bytes = (uint32_t)header_size - 20;
    segment->payload_bytes = (uint32_t)(cursor.wire_left - segment->option_bytes);
    /* The options, as far as they were captured. */
    cursor.left = MIN(cursor.left, segment->option_bytes);
    while (cursor.left > 0 && cursor.at[0] != 0) {
        const uint8_t *option = cursor.at;
        size_t length = option[0] == 1 ? 1 : cursor.left > 1 ? option[1] : 0;
        if ((option[0] != 1 && length < 2) || !take(&cursor, length))
            break;
        if (option[0] == 2 && length == 4)
            segment->mss = wire_get16(option + 2);
        if (option[0] == 3 && length == 3)
            segment->shift = option[2] > 14 ? 14 : option[2]; /* RFC 7323 */
    }
    return true;
}

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
