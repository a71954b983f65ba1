/* SPDX-License-Identifier: MIT */
/* Any text is an address or is none; one with a numeric host is spelled so that it reads back as the same. */
#include "text.h"

#include "transport/address.h"

#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing that a name server would be asked for. */
static int is_numeric(const char *text)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const char *colon = strrchr(text, ':');
    char *host = strndup(text + (*text == '['), (size_t)(colon - text) - 2 * (*text == '['));
    int result = getaddrinfo(host, colon + 1, &hints, &found);

    free(host);
    if (result == 0)
        freeaddrinfo(found);
    return result == 0;
}

static void check_spelling(const char *text)
{
    char spelled[ADDRESS_MAX];
    struct problem problem = {0};
    struct address address, again;

    if (address_parse(&address, text, &problem) < 0)
        abort();
    address_format(spelled, &address);
    if (address_check(spelled) < 0 || address_parse(&again, spelled, &problem) < 0 ||
        again.size != address.size || memcmp(&again.storage, &address.storage, address.size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    struct problem problem = {0};
    struct address address;

    if (address_check(text) < 0) {
        if (address_parse(&address, text, &problem) == 0 || problem.kind != PROBLEM_USAGE)
            abort();
    } else if (!strncmp(text, "unix:", 5) || is_numeric(text)) {
        check_spelling(text);
    }
    free(text);
    return 0;
}
