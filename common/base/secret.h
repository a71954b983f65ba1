/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Zeroes memory that the program does not read again. A compiler may remove such a memset(3); macOS
 * and NetBSD have no explicit_bzero(3). */
static inline void secret_wipe(void *memory, size_t size)
{
    volatile unsigned char *bytes = memory;

    while (size--)
        *bytes++ = 0;
}
