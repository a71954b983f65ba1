/* SPDX-License-Identifier: MIT */
/*
 * Memory that a send lends to the kernel (MSG_ZEROCOPY, Linux 4.14), and the notification of its
 * release.
 *
 * The kernel numbers the zero-copy sends of a socket, from 0 on. The error queue of the socket
 * reports which of these sends the kernel has completed: their memory may be reused.
 */
#ifndef UNCORK_BASE_LENDING_H
#define UNCORK_BASE_LENDING_H

#include <stdbool.h>
#include <stdint.h>

/* Completed sends: all from `first` to `last`. `last` is less than `first` where the 32-bit number
 * has wrapped. */
struct returned {
    uint32_t first, last;
    bool copied; /* the kernel has copied them after all */
};

/* The flag of sendmsg(2); 0 where the system has none. */
extern const int lending_flag;

/* Enables zero-copy sends on this socket (SO_ZEROCOPY). 0 or a negative errno value. */
int lending_allow(int fd);

/* Takes the first message of the error queue, by one non-blocking recvmsg(2). 0, or -1 with errno:
 * EAGAIN where the queue is empty, EPROTO where the message is not a zero-copy notification. */
int lending_take(int fd, struct returned *returned);

#endif
