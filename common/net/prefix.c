/* SPDX-License-Identifier: MIT */
#include "net/prefix.h"

#include "base/units.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

int prefix_parse(struct prefix *prefix, const char *text, struct problem *problem)
{
    size_t length = strcspn(text, "/");
    char host[INET6_ADDRSTRLEN] = "";
    uint64_t longest = 0, bits;

    *prefix = (struct prefix){.family = AF_UNIX};
    if (!strcmp(text, "unix"))
        return 0;
    if (length < sizeof host)
        memcpy(host, text, length);
    if (inet_pton(AF_INET, host, prefix->bytes) == 1) {
        prefix->family = AF_INET;
        longest = 32;
    } else if (inet_pton(AF_INET6, host, prefix->bytes) == 1) {
        prefix->family = AF_INET6;
        longest = 128;
    }
    bits = longest;
    if (longest && (!text[length] || units_parse(&units_count, text + length + 1, &bits) == 0) &&
        bits <= longest) {
        prefix->bits = (unsigned)bits;
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
