/* SPDX-License-Identifier: MIT */
/* Bytes: integers in network byte order, hexadecimal digits, secrets. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Its own inverse. macOS has no endian.h, the BSDs have two. */
#define WIRE_ORDER(bits, value)                                                                              \
    (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? (value) : __builtin_bswap##bits(value))

/* wire_put16() and so on write an integer at any address, wire_get16() and so on read it. */
#define WIRE_INTEGER(bits)                                                                                   \
    static inline void wire_put##bits(uint8_t *data, uint##bits##_t value)                                   \
    {                                                                                                        \
        value = WIRE_ORDER(bits, value);                                                                     \
        memcpy(data, &value, sizeof value);                                                                  \
    }                                                                                                        \
                                                                                                             \
    static inline uint##bits##_t wire_get##bits(const uint8_t *data)                                         \
    {                                                                                                        \
        uint##bits##_t value;                                                                                \
                                                                                                             \
        memcpy(&value, data, sizeof value);                                                                  \
        return WIRE_ORDER(bits, value);                                                                      \
    }
WIRE_INTEGER(16)
WIRE_INTEGER(32)
WIRE_INTEGER(64)
#undef WIRE_INTEGER
#undef WIRE_ORDER

/* Bytes as lower-case hexadecimal digits; `text` has 2 * size + 1 characters. A build may lack
 * GnuTLS and OpenSSL, which have such functions; stdio would leave copies of keys in buffers. */
void hex_format(char *text, const uint8_t *bytes, size_t size);

/* The inverse, of upper case too. The number of bytes; -1: not pairs of digits, or above `room`. */
int hex_read(uint8_t *bytes, size_t room, const char *text, size_t length);

/* 0, or -1 if the text is not exactly 2 * size digits. */
int hex_parse(uint8_t *bytes, size_t size, const char *text);

/* Zeroes memory; NULL is harmless. A compiler would remove a memset(3) before free(3), were it not for
 * the statement that could read the memory; macOS and NetBSD have no explicit_bzero(3). */
static inline void secret_wipe(void *memory, size_t size)
{
    if (memory)
        memset(memory, 0, size);
    __asm__ volatile("" : : "r"(memory) : "memory");
}
