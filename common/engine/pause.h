/* SPDX-License-Identifier: MIT */
/* Waiting for the next start of an open loop, to the nanosecond where the system has such timers. */
#ifndef UNCORK_ENGINE_PAUSE_H
#define UNCORK_ENGINE_PAUSE_H

#include "connection/workbench.h"

/* Sleeps until `due_ns`, or until `fd` is readable or shows an error: true then. Counted as a call; leaves
 * the clock read. Without a descriptor (-1) that could wake it, it looks every now and then whether it was
 * cancelled, and comes back. */
bool pause_sleep(struct workbench *bench, int fd, uint64_t due_ns);

/* Sleeps until `fd` shows one of these `events` of poll(2), or an error or the end of its connection, which
 * are shown unasked. Counted as a call. */
void pause_for(struct workbench *bench, int fd, short events);

/* Burns until `due_ns` or until it is cancelled, without a system call. */
void pause_spin(struct workbench *bench, uint64_t due_ns);

/* Lets the calling thread's sleeps end when they are due and not up to 50 us later, to be merged with others:
 * prctl(2), PR_SET_TIMERSLACK. */
void pause_precisely(void);

#endif
