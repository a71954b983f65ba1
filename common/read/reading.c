/* SPDX-License-Identifier: MIT */
#include "read/multishot.h"

#define AXIS reading
#define AXIS_NAME "reading"
#define AXIS_LIST "read/list.def"
#include "base/axis.def"

#define BYTES (4u << 20)
#define BUFFERS_MIN 16u
#define BUFFERS_MAX 1024u

uint32_t multishot_buffers(size_t size)
{
    uint32_t buffers = BUFFERS_MIN;

    while (buffers < BUFFERS_MAX && 2 * buffers * size <= BYTES)
        buffers *= 2;
    return buffers;
}
