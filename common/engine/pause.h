/* SPDX-License-Identifier: MIT */
/* Waiting for the next start of an open loop, to the nanosecond if the system has such timers. */
#pragma once

#include "connection/thread_shared.h"

/* Sleeps until `due_ns`: false. True if `fd` is readable or has an error before. Counts its calls
 * and sets `now_ns` of the thread. Without a descriptor (-1) it checks every 200 ms whether the
 * thread was cancelled, and returns then. */
bool pause_sleep(struct thread_shared *shared, int fd, uint64_t due_ns);

/* Sleeps until `fd` has one of these `events` of poll(2), or POLLERR or POLLHUP, which poll(2)
 * always reports. Counts its calls. */
void pause_for(struct thread_shared *shared, int fd, short events);

/* Busy-waits until `due_ns` or until the thread is cancelled, without a system call. */
void pause_spin(struct thread_shared *shared, uint64_t due_ns);

/* Sets the timer slack of the calling thread to 1 ns: prctl(2), PR_SET_TIMERSLACK. By default the
 * kernel may end a sleep up to 50 us late, to merge it with others. */
void pause_set_timer_slack(void);
