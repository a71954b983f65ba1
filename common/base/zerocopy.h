/* SPDX-License-Identifier: MIT */
/* Zero-copy sends (MSG_ZEROCOPY, Linux 4.14), and received pages of a TCP socket that are mapped
 * (TCP_ZEROCOPY_RECEIVE, Linux 4.18). On other systems zerocopy_enable() and mapping_open() fail;
 * zerocopy_take_notification() and mapping_receive() do not exist.
 *
 * The kernel numbers the zero-copy sends of a socket, from 0 on. The memory of a send must not
 * change until a notification in the error queue of the socket reports that it is completed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Completed sends: all from `first` to `last`. Numbers wrap: `last` may be less than `first`. */
struct zerocopy_notification {
    uint32_t first, last;
    bool copied; /* the kernel copied their bytes */
};

/* MSG_ZEROCOPY, a flag of sendmsg(2); 0 on a system without it. */
extern const int zerocopy_flag;

/* Enables zero-copy sends on this socket (SO_ZEROCOPY). 0 or a negative errno value. */
int zerocopy_enable(int fd);

/* Takes the first message of the error queue, by one non-blocking recvmsg(2). 0, or -1 with errno:
 * EAGAIN if the queue is empty, EPROTO if the message is not a zero-copy notification. */
int zerocopy_take_notification(int fd, struct zerocopy_notification *notification);

struct mapping {
    uint8_t *pages;
    size_t size; /* whole pages */
};

/* Argument and result of one mapping_receive(): it maps whole pages, then copies the rest. */
struct mapped {
    uint8_t *pages; /* in a mapping of this socket; the call unmaps the pages of the last call */
    size_t most;    /* bytes that may be mapped at `pages` */
    uint8_t *rest;  /* buffer for less than a page */
    size_t rest_most;

    size_t mapped, copied; /* bytes that the call has mapped and copied */
    size_t skip;           /* bytes to receive by recv(2) before the kernel maps pages again */
    int error;             /* of the connection, a negative errno value, reported once; or 0 */
};

size_t mapping_page(void);

/* Maps `size` bytes of the socket, rounded down to whole pages, at least one. 0 or -errno. */
int mapping_open(struct mapping *mapping, int fd, size_t size);
void mapping_close(struct mapping *mapping);

/* Takes received bytes by one non-blocking getsockopt(2). 0, or -1 with errno; EIO at the end. */
int mapping_receive(int fd, struct mapped *mapped);
