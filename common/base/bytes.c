/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

#include <ctype.h>

static const char digits[] = "0123456789abcdef";

void hex_format(char *text, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

static int value_of(char digit)
{
    const char *found = memchr(digits, tolower((unsigned char)digit), 16);
    return found ? (int)(found - digits) : -1;
}

int hex_read(uint8_t *bytes, size_t room, const char *text, size_t length)
{
    if (length % 2 || length / 2 > room)
        return -1;
    for (size_t i = 0; i < length / 2; i++) {
        int high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return -1;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return (int)(length / 2);
}

int hex_parse(uint8_t *bytes, size_t size, const char *text)
{
    return hex_read(bytes, size, text, strlen(text)) == (int)size ? 0 : -1;
}
