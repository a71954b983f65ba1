/* SPDX-License-Identifier: MIT */
#include "base/zerocopy.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

size_t mapping_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
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
