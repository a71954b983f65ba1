/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_BASE_HEX_H
#define UNCORK_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Bytes as hexadecimal digits, two for each, small letters: 2 * size + 1 characters. */
void hex_format(char *text, const uint8_t *bytes, size_t size);

/* And back: 0, or -1 where the text is not exactly so many such digits. */
int hex_parse(uint8_t *bytes, size_t size, const char *text);

/* The same of 2 * size characters in a text that goes on: digits as people write them, capital letters too.
 */
int hex_read(uint8_t *bytes, size_t size, const char *pairs);

#endif
