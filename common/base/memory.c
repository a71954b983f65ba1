/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define KEPT_BYTES (128 << 10)

size_t mapping_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void memory_keep_little(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

void memory_share(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

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
    } else if (posix_memalign(&bytes, mapping_page(), memory->size) != 0) {
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

#ifdef __linux__

#include <linux/errqueue.h> /* uses struct timespec without its header */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

const int zerocopy_flag = MSG_ZEROCOPY;

int zerocopy_enable(int fd)
{
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) < 0 ? -errno : 0;
}

/* The first control message that carries an extended error is of IPv4 or IPv6. */
int zerocopy_take_notification(int fd, struct zerocopy_notification *notification)
{
    union {
        struct cmsghdr header;
        char bytes[256]; /* extended error, address, other control messages */
    } control;
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof control};
    struct sock_extended_err error;

    if (recvmsg(fd, &message, MSG_ERRQUEUE) < 0)
        return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    while (header && header->cmsg_len < CMSG_LEN(sizeof error))
        header = CMSG_NXTHDR(&message, header);
    if (header)
        memcpy(&error, CMSG_DATA(header), sizeof error);
    if (!header || error.ee_errno != 0 || error.ee_origin != SO_EE_ORIGIN_ZEROCOPY) {
        errno = EPROTO;
        return -1;
    }
    *notification = (struct zerocopy_notification){
        .first = error.ee_info, .last = error.ee_data, .copied = error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED};
    return 0;
}

int mapping_open(struct mapping *mapping, int fd, size_t size)
{
    size_t page = mapping_page();
    size = size < page ? page : size / page * page;
    void *pages = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
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

const int zerocopy_flag = 0;

int zerocopy_enable(int fd)
{
    return -EOPNOTSUPP;
}

int mapping_open(struct mapping *mapping, int fd, size_t size)
{
    return -ENOSYS;
}

#endif

void mapping_close(struct mapping *mapping)
{
    if (mapping->pages)
        munmap(mapping->pages, mapping->size);
    *mapping = (struct mapping){0};
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
    /* A compiler merges malloc(3) and memset(3) to calloc(3), which leaves the pages absent. */
    for (size_t at = 0; at < stride * count; at += 4096) /* no system has smaller pages */
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
