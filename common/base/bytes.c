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

int hex_read(uint8_t *bytes, size_t room, const char *text, size_t length)
{
    if (length % 2 || length / 2 > room)
        return -1;
    for (size_t i = 0; i < length; i++) {
        const char *digit = memchr(digits, tolower((unsigned char)text[i]), 16);

        if (!digit)
            return -1;
        bytes[i / 2] = (uint8_t)((i % 2 ? bytes[i / 2] << 4 : 0) | (digit - digits));
    }
    return (int)(length / 2);
}

int hex_parse(uint8_t *bytes, size_t size, const char *text)
{
    return hex_read(bytes, size, text, strlen(text)) == (int)size ? 0 : -1;
}
