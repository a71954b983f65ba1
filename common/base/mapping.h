/* SPDX-License-Identifier: MIT */
/* Received pages of a TCP socket, mapped instead of copied: TCP_ZEROCOPY_RECEIVE (Linux 4.18). */
#ifndef UNCORK_BASE_MAPPING_H
#define UNCORK_BASE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

/* The memory area in which received pages of a socket appear. */
struct mapping {
    uint8_t *pages;
    size_t size; /* whole pages */
};

/* Argument and result of one call. The call maps whole pages first, and then copies bytes that it
 * cannot map. */
struct mapped {
    uint8_t *pages; /* in a mapping of this socket; the call unmaps the pages of the last call */
    size_t most;    /* bytes that may be mapped at `pages` */
    uint8_t *rest;  /* buffer for less than a page */
    size_t rest_most;

    size_t mapped, copied; /* bytes that the call has mapped and copied */
    size_t skip;           /* bytes to receive by recv(2) before the kernel maps pages again */
    int error;             /* of the connection, a negative errno value, reported once; or 0 */
};

/* The page size in bytes. */
size_t mapping_page(void);

/* Maps `size` bytes of the socket, rounded down to whole pages, at least one. 0 or a negative errno
 * value. */
int mapping_open(struct mapping *mapping, int fd, size_t size);
void mapping_close(struct mapping *mapping);

/* Takes received bytes, by one non-blocking getsockopt(2). 0, or -1 with errno: EIO at the end of
 * the stream. */
int mapping_receive(int fd, struct mapped *mapped);

#endif
