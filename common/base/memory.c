/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int memory_open(struct memory *memory, size_t size, bool as_file)
{
    void *bytes = NULL;

    *memory = (struct memory){.size = size ? size : 1, .file = -1};
    if (as_file) {
#ifdef __linux__
        int file = memfd_create("uncork", MFD_CLOEXEC);
        if (file < 0)
            return -errno;
        if (ftruncate(file, (off_t)memory->size) == 0)
            bytes = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (!bytes || bytes == MAP_FAILED) {
            close(file);
            return -ENOMEM;
        }
        memory->file = file;
#else /* other systems: sendfile(2) has other arguments, and macOS has no anonymous file */
        return -ENOSYS;
#endif
    } else if (posix_memalign(&bytes, (size_t)sysconf(_SC_PAGESIZE), memory->size) != 0) {
        return -ENOMEM;
    }
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
    /* A compiler merges malloc(3) and memset(3) to calloc(3), which leaves the pages absent. */
    for (size_t at = 0; at < stride * count; at += PAGE_LEAST)
        ((volatile uint8_t *)pool->memory)[at] = 0;
    for (uint32_t i = 0; i < count; i++)
        pool->spare[i] = count - 1 - i; /* buffer 0 is used first */
    pool->spare_count = count;
    return 0;
}

void pool_close(struct pool *pool)
{
    free(pool->memory);
    free(pool->spare);
    free(pool->kept);
    *pool = (struct pool){0};
}
