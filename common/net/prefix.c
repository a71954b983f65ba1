/* SPDX-License-Identifier: MIT */
#include "net/prefix.h"

#include "base/units.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static unsigned longest(int family)
{
    return family == AF_INET ? 32 : 128;
}

static int parse_host(struct prefix *prefix, const char *host)
{
    if (inet_pton(AF_INET, host, prefix->bytes) == 1)
        prefix->family = AF_INET;
    else if (inet_pton(AF_INET6, host, prefix->bytes) == 1)
        prefix->family = AF_INET6;
    else
        return -1;
    prefix->bits = longest(prefix->family);
    return 0;
}

static int parse_bits(struct prefix *prefix, const char *text)
{
    uint64_t bits;

    if (units_parse_count(text, &bits) < 0 || bits > longest(prefix->family))
        return -1;
    prefix->bits = (unsigned)bits;
    return 0;
}

int prefix_parse(struct prefix *prefix, const char *text, struct problem *problem)
{
    char host[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");

    *prefix = (struct prefix){.family = AF_UNIX};
    if (!strcmp(text, "unix"))
        return 0;
    if (length < sizeof host) {
        memcpy(host, text, length);
        host[length] = '\0';
        if (parse_host(prefix, host) == 0 && (!text[length] || parse_bits(prefix, text + length + 1) == 0))
            return 0;
    }
    return problem_usage(problem,
                         "'%.60s' is no prefix; write it like 10.0.0.0/8, fd00::/8, 192.0.2.1 or unix", text);
}

/* The bytes of an address, and its family. */
static const uint8_t *bytes_of(const struct address *address, int *family)
{
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;

    *family = address->storage.ss_family;
    if (*family == AF_INET)
        return (const uint8_t *)&((const struct sockaddr_in *)&address->storage)->sin_addr;
    if (*family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(in6))
        return in6->s6_addr;
    *family = AF_INET;
    return in6->s6_addr + 12;
}

bool prefix_holds(const struct prefix *prefix, const struct address *address)
{
    int family;
    const uint8_t *bytes = bytes_of(address, &family);
    unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;

    if (family != prefix->family || (family != AF_UNIX && memcmp(bytes, prefix->bytes, whole) != 0))
        return false;
    return !rest || (bytes[whole] ^ prefix->bytes[whole]) >> (8 - rest) == 0;
}
