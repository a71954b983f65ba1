/* SPDX-License-Identifier: MIT */
/* The readings of io_uring: a multishot receive into the receive buffers of the thread. */
#pragma once

#include "connection/reading.h"

/* As many buffers as fit in 4 MiB, but 16 to 1024: the kernel must not run out of them. */
uint32_t multishot_buffers(size_t size);
