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
    return hex_read(bytes, size, text);
}

static int value_of(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

int hex_read(uint8_t *bytes, size_t size, const char *pairs)
{
    for (size_t i = 0; i < size; i++) {
        int high = value_of(pairs[2 * i]), low = value_of(pairs[2 * i + 1]);

        if (high < 0 || low < 0)
            return -1;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}
