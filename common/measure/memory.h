/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_MEASURE_MEMORY_H
#define UNCORK_MEASURE_MEMORY_H

#include <stdint.h>

/* Resident memory of this process in bytes, shared libraries included; 0 where the system does not
 * report it. */
uint64_t memory_resident_bytes(void);

#endif
