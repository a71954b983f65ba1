/* SPDX-License-Identifier: MIT */
/* Any text is an address or is refused. The spelling of an address with a numeric host reads back
 * as the same address. Any text is a prefix or is refused. A prefix contains its own address. */
#include "fuzz.h"

#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>

/* Whether the host needs no name server. */
static int is_numeric(const char *text)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const char *colon = strrchr(text, ':');
    CLEANUP_FREE char *host = strndup(text + (*text == '['), (size_t)(colon - text) - 2 * (*text == '['));
    int result = getaddrinfo(host, colon + 1, &hints, &found);

    if (result == 0)
        freeaddrinfo(found);
    return result == 0;
}

static void check_spelling(const char *text)
{
    char spelled[ADDRESS_MAX];
    struct problem problem = {0};
    struct address address, again;

    abort_if(address_find(&address, 1, text, &problem) < 0);
    address_format(spelled, &address);
    abort_if(address_check(spelled) < 0 || address_find(&again, 1, spelled, &problem) < 0 ||
             again.size != address.size || memcmp(&again.storage, &address.storage, address.size) != 0);
}

static void check_prefix(const char *text)
{
    struct problem problem = {0};
    struct prefix prefix;
    struct address address = {.size = sizeof address.storage};

    if (prefix_parse(&prefix, text, &problem) < 0) {
        abort_if(problem.kind != PROBLEM_USAGE);
        return;
    }
    address.storage.ss_family = (sa_family_t)prefix.family;
    if (prefix.family == AF_INET)
        memcpy(&((struct sockaddr_in *)&address.storage)->sin_addr, prefix.bytes, 4);
    else if (prefix.family == AF_INET6)
        memcpy(&((struct sockaddr_in6 *)&address.storage)->sin6_addr, prefix.bytes, 16);
    /* ::ffff:192.0.2.1 counts as IPv4, so no IPv6 prefix contains it */
    abort_if(!prefix_contains(&prefix, &address) &&
             !IN6_IS_ADDR_V4MAPPED(&((struct sockaddr_in6 *)&address.storage)->sin6_addr));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = text_of(data, size);
    struct problem problem = {0};
    struct address address;

    if (address_check(text) < 0) {
        abort_if(address_find(&address, 1, text, &problem) >= 0 || problem.kind != PROBLEM_USAGE);
    } else if (!strncmp(text, "unix:", 5) || is_numeric(text)) {
        check_spelling(text);
    }
    check_prefix(text);
    return 0;
}
