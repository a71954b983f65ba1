/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_BASE_HEX_H
#define UNCORK_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Bytes as lower-case hexadecimal digits, two for each byte: 2 * size + 1 characters with the
 * NUL. */
void hex_format(char *text, const uint8_t *bytes, size_t size);

/* The inverse: 0, or -1 where the text is not exactly 2 * size lower-case digits. */
int hex_parse(uint8_t *bytes, size_t size, const char *text);

/* The same, but of the first 2 * size characters of a longer text; upper-case digits are valid
 * too. */
int hex_read(uint8_t *bytes, size_t size, const char *pairs);

#endif
