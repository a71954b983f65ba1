/* SPDX-License-Identifier: MIT */
/* Integers in network byte order, at any address. */
#ifndef UNCORK_BASE_WIRE_H
#define UNCORK_BASE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_INTEGER(bits)                                                                                   \
    static inline void wire_put##bits(uint8_t *data, uint##bits##_t value)                                   \
    {                                                                                                        \
        for (size_t i = 0; i < sizeof value; i++)                                                            \
            data[i] = (uint8_t)(value >> (bits - 8 - 8 * i));                                                \
    }                                                                                                        \
                                                                                                             \
    static inline uint##bits##_t wire_get##bits(const uint8_t *data)                                         \
    {                                                                                                        \
        uint64_t value = 0;                                                                                  \
                                                                                                             \
        for (size_t i = 0; i < bits / 8; i++)                                                                \
            value = value << 8 | data[i];                                                                    \
        return (uint##bits##_t)value;                                                                        \
    }
WIRE_INTEGER(16)
WIRE_INTEGER(32)
WIRE_INTEGER(64)
#undef WIRE_INTEGER

#endif
