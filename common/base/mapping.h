/* SPDX-License-Identifier: MIT */
/* Pages of what a TCP socket received, mapped instead of copied: TCP_ZEROCOPY_RECEIVE (Linux 4.18). */
#ifndef UNCORK_BASE_MAPPING_H
#define UNCORK_BASE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

/* Where pages of a socket appear. */
struct mapping {
    uint8_t *pages;
    size_t size; /* whole pages */
};

/* What one call is to take, and took: first whole pages, which are mapped, then what could not be mapped. */
struct mapped {
    uint8_t *pages; /* of a mapping of this socket; those of the last call go back */
    size_t most;    /* bytes that may be mapped there */
    uint8_t *rest;  /* room for what is less than a page */
    size_t rest_most;

    size_t mapped, copied; /* bytes that were taken */
    size_t skip;           /* bytes that have to be received before anything is mapped again */
    int error;             /* of the connection, a negative errno value, which is told once; or 0 */
};

/* Bytes of a page. */
size_t mapping_page(void);

/* Maps `size` bytes of the socket, rounded down to whole pages, at least one. 0 or a negative errno value. */
int mapping_open(struct mapping *mapping, int fd, size_t size);
void mapping_close(struct mapping *mapping);

/* Takes what there is, by one getsockopt(2) that never waits. 0, or -1 with errno: EIO where nothing is there
 * and nothing more will come. */
int mapping_receive(int fd, struct mapped *mapped);

#endif
