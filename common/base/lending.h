/* SPDX-License-Identifier: MIT */
/*
 * Memory that a send lends to the kernel (MSG_ZEROCOPY, Linux 4.14), and what says that it has come back.
 *
 * The kernel numbers the sends of a socket that lent something, from 0 on, and says on the error queue of the
 * socket which of them have given their memory back.
 */
#ifndef UNCORK_BASE_LENDING_H
#define UNCORK_BASE_LENDING_H

#include <stdbool.h>
#include <stdint.h>

/* Sends that have given their memory back: all from `first` to `last`, which may be less where the numbers
 * have begun anew. */
struct returned {
    uint32_t first, last;
    bool copied; /* they had been copied after all */
};

/* The flag of sendmsg(2); 0 where there is none. */
extern const int lending_flag;

/* Lets sends of this socket lend (SO_ZEROCOPY). 0 or a negative errno value. */
int lending_allow(int fd);

/* Takes what the error queue says first, by one recvmsg(2) that never waits. 0, or -1 with errno: EAGAIN
 * where it says nothing, EPROTO where it says something else. */
int lending_take(int fd, struct returned *returned);

#endif
