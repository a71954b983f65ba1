/* SPDX-License-Identifier: MIT */
/* Any text is an address or is none; nothing is looked up unless it has the form of one. */
#include "transport/address.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), spelled[ADDRESS_MAX];
    struct problem problem = {0};
    struct address address, again;
    /* only what needs no name server: numbers, and paths */
    int numeric = strspn(text, "0123456789.:[]") == strlen(text) || !strncmp(text, "unix:", 5);

    if (address_check(text) == 0 && numeric && address_parse(&address, text, &problem) == 0) {
        address_format(spelled, &address);
        if (address_check(spelled) < 0 || address_parse(&again, spelled, &problem) < 0 ||
            again.size != address.size)
            abort();
    }
    free(text);
    return 0;
}
