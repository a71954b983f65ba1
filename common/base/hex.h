/* SPDX-License-Identifier: MIT */
/* Hexadecimal digits. A build may lack GnuTLS and OpenSSL, which have such functions; stdio would
 * leave copies of keys in its buffers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes as lower-case hexadecimal digits, 2 for each byte; `text` has 2 * size + 1 characters. */
void hex_format(char *text, const uint8_t *bytes, size_t size);

/* The inverse; accepts upper-case digits too. Returns the number of bytes, or -1 if `text` is not
 * pairs of digits or holds more than `room` bytes. */
int hex_read(uint8_t *bytes, size_t room, const char *text, size_t length);

/* 0, or -1 if the text is not exactly 2 * size digits. */
int hex_parse(uint8_t *bytes, size_t size, const char *text);
