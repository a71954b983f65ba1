/* SPDX-License-Identifier: MIT */
/* Integers in network byte order, at any address. */
#ifndef UNCORK_BASE_WIRE_H
#define UNCORK_BASE_WIRE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define WIRE_INTEGER(bits)                                                                                   \
    static inline void wire_put##bits(uint8_t *data, uint##bits##_t value)                                   \
    {                                                                                                        \
        uint##bits##_t big = htobe##bits(value);                                                             \
                                                                                                             \
        memcpy(data, &big, sizeof big);                                                                      \
    }                                                                                                        \
                                                                                                             \
    static inline uint##bits##_t wire_get##bits(const uint8_t *data)                                         \
    {                                                                                                        \
        uint##bits##_t big;                                                                                  \
                                                                                                             \
        memcpy(&big, data, sizeof big);                                                                      \
        return be##bits##toh(big);                                                                           \
    }
WIRE_INTEGER(16)
WIRE_INTEGER(32)
WIRE_INTEGER(64)
#undef WIRE_INTEGER

#endif
