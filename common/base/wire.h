/* SPDX-License-Identifier: MIT */
/* Integers in network byte order, at any address. macOS has no endian.h, the BSDs have two. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Its own inverse. */
#define WIRE_ORDER(bits, value)                                                                              \
    (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? (value) : __builtin_bswap##bits(value))

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
