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

bool prefix_holds(const struct prefix *prefix, const struct address *address)
{
    unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;
    uint8_t host[16];

    if (address_host(host, address) != prefix->family || memcmp(host, prefix->bytes, whole) != 0)
        return false;
    return !rest || (host[whole] ^ prefix->bytes[whole]) >> (8 - rest) == 0;
}
