/* SPDX-License-Identifier: MIT */
#include "base/hex.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

void hex_format(char *text, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

int hex_parse(uint8_t *bytes, size_t size, const char *text)
{
    if (strlen(text) != 2 * size || strspn(text, digits) != 2 * size)
        return -1;
    for (size_t i = 0; i < size; i++, text += 2)
        bytes[i] = (uint8_t)((strchr(digits, text[0]) - digits) << 4 | (strchr(digits, text[1]) - digits));
    return 0;
}
