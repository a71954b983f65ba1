/* SPDX-License-Identifier: MIT */
#include "base/mapping.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

size_t mapping_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef __linux__

#include <linux/tcp.h>
#include <netinet/in.h>

int mapping_open(struct mapping *mapping, int fd, size_t size)
{
    size_t page = mapping_page();
    void *pages;

    size = size < page ? page : size / page * page;
    pages = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (pages == MAP_FAILED)
        return -errno;
    *mapping = (struct mapping){.pages = pages, .size = size};
    return 0;
}

int mapping_receive(int fd, struct mapped *mapped)
{
    struct tcp_zerocopy_receive call = {.address = (uintptr_t)mapped->pages,
                                        .length = (uint32_t)mapped->most,
                                        .copybuf_address = (uintptr_t)mapped->rest,
                                        .copybuf_len = (int32_t)mapped->rest_most};
    socklen_t size = sizeof call;

    if (getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &call, &size) < 0)
        return -1;
    if (call.copybuf_len < 0) {
        errno = -call.copybuf_len;
        return -1;
    }
    mapped->mapped = call.length;
    mapped->copied = (size_t)call.copybuf_len;
    mapped->skip = call.recv_skip_hint;
    mapped->error = call.err;
    return 0;
}

#else

int mapping_open(struct mapping *mapping, int fd, size_t size)
{
    (void)mapping, (void)fd, (void)size;
    return -ENOSYS;
}

int mapping_receive(int fd, struct mapped *mapped)
{
    (void)fd, (void)mapped;
    errno = ENOSYS;
    return -1;
}

#endif

void mapping_close(struct mapping *mapping)
{
    if (mapping->pages)
        munmap(mapping->pages, mapping->size);
    *mapping = (struct mapping){0};
}
