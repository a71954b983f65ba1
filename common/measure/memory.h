/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_MEASURE_MEMORY_H
#define UNCORK_MEASURE_MEMORY_H

#include <stdint.h>

/* Bytes of this process that are in memory now, its shared libraries included; 0 where the system does not
 * tell. */
uint64_t memory_resident_bytes(void);

#endif
