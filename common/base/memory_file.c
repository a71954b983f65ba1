/* SPDX-License-Identifier: MIT */
#include "base/memory_file.h"

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
    (void)memory;
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
