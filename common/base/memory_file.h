/* SPDX-License-Identifier: MIT */
/* Memory to send from: pages of its own, or the pages of a file without a name, for sendfile(2). */
#ifndef UNCORK_BASE_MEMORY_FILE_H
#define UNCORK_BASE_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory {
    uint8_t *bytes; /* at the beginning of a page */
    size_t size;
    int file; /* whose pages they are; -1: nobody's */
};

/* Memory of `size` bytes, of a file if `as_file`. 0 or a negative errno value; memory_close() it in both
 * cases. */
int memory_open(struct memory *memory, size_t size, bool as_file);
void memory_close(struct memory *memory);

/* sendfile(2) as Linux has it, from byte `offset` of `file` on; elsewhere -1 and ENOSYS. */
ssize_t memory_send(int fd, int file, off_t offset, size_t size);

#endif
