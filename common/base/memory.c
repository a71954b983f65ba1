/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_file(struct memory *memory)
{
#ifdef __linux__
    int file = memfd_create("uncork", MFD_CLOEXEC);
    void *bytes = MAP_FAILED;

    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)memory->size) == 0)
        bytes = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) {
        close(file);
        return -ENOMEM;
    }
    memory->bytes = bytes;
    memory->file = file;
    return 0;
#else /* other systems: sendfile(2) has other arguments, and macOS has no anonymous file */
    return -ENOSYS;
#endif
}

int memory_open(struct memory *memory, size_t size, bool as_file)
{
    void *bytes = NULL;

    *memory = (struct memory){.size = size ? size : 1, .file = -1};
    if (as_file)
        return open_file(memory);
    if (posix_memalign(&bytes, (size_t)sysconf(_SC_PAGESIZE), memory->size) != 0)
        return -ENOMEM;
    memory->bytes = bytes;
    return 0;
}

void memory_close(struct memory *memory)
{
    if (memory->bytes && memory->file >= 0) {
        munmap(memory->bytes, memory->size);
        close(memory->file);
    } else {
        free(memory->bytes);
    }
    *memory = (struct memory){.file = -1};
}

#define PAGE_LEAST 4096u /* of all systems */

/* Makes the pages present. A compiler merges malloc(3) and memset(3) to calloc(3), which leaves
 * them absent. */
static void touch(volatile uint8_t *memory, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE_LEAST)
        memory[at] = 0;
}

int pool_open(struct pool *pool, size_t size, size_t headroom, uint32_t count)
{
    size_t stride = size + headroom;

    *pool = (struct pool){.size = size, .headroom = headroom, .count = count};
    pool->shift = stride && !(stride & (stride - 1)) ? (unsigned)__builtin_ctzll(stride) : 0;
    pool->memory = calloc(count, stride);
    pool->spare = calloc(count, sizeof *pool->spare);
    pool->kept = calloc(count, sizeof *pool->kept);
    if (!pool->memory || !pool->spare || !pool->kept)
        return -ENOMEM;
    touch(pool->memory, stride * count);
    while (pool->spare_count < count) {
        pool->spare[pool->spare_count] = count - 1 - pool->spare_count; /* buffer 0 is used first */
        pool->spare_count++;
    }
    return 0;
}

void pool_close(struct pool *pool)
{
    free(pool->memory);
    free(pool->spare);
    free(pool->kept);
    *pool = (struct pool){0};
}
