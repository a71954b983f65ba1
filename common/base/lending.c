/* SPDX-License-Identifier: MIT */
#include "base/lending.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <time.h>

#ifdef __linux__

#include <linux/errqueue.h> /* uses struct timespec without its header */
#include <string.h>

const int lending_flag = MSG_ZEROCOPY;

int lending_allow(int fd)
{
    int on = 1;

    return setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) < 0 ? -errno : 0;
}

/* The first control message that carries an extended error, of IPv4 or IPv6. */
static const struct cmsghdr *find_error(struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);

    while (header && header->cmsg_len < CMSG_LEN(sizeof(struct sock_extended_err)))
        header = CMSG_NXTHDR(message, header);
    return header;
}

int lending_take(int fd, struct returned *returned)
{
    union {
        struct cmsghdr header;
        char bytes[256]; /* extended error, address, other control messages */
    } control;
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof control};
    struct sock_extended_err error;
    const struct cmsghdr *header;

    if (recvmsg(fd, &message, MSG_ERRQUEUE) < 0)
        return -1;
    header = find_error(&message);
    if (header)
        memcpy(&error, CMSG_DATA(header), sizeof error);
    if (!header || error.ee_errno != 0 || error.ee_origin != SO_EE_ORIGIN_ZEROCOPY) {
        errno = EPROTO;
        return -1;
    }
    *returned = (struct returned){
        .first = error.ee_info, .last = error.ee_data, .copied = error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED};
    return 0;
}

#else

const int lending_flag = 0;

int lending_allow(int fd)
{
    (void)fd;
    return -EOPNOTSUPP;
}

int lending_take(int fd, struct returned *returned)
{
    (void)fd, (void)returned;
    errno = EAGAIN;
    return -1;
}

#endif
