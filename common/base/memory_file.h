/* SPDX-License-Identifier: MIT */
/* Memory to send from: page-aligned heap memory, or for sendfile(2) pages of an unnamed file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
    uint8_t *bytes; /* page-aligned */
    size_t size;
    int file; /* the file behind the pages; -1: heap memory */
};

/* Allocates memory, as a file if `as_file`. 0 or -errno; call memory_close() in both cases. */
int memory_open(struct memory *memory, size_t size, bool as_file);
void memory_close(struct memory *memory);
