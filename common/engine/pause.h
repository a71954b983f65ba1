/* SPDX-License-Identifier: MIT */
/* Waiting for the next start of an open loop, to the nanosecond if the system has such timers. */
#pragma once

#include "connection/thread_shared.h"

/* Sleeps until `due_ns` and returns false. Returns true as soon as `fd` is readable or has an
 * error. Counts its calls and sets shared->now_ns. Without a descriptor (-1) it checks every 200 ms
 * whether the thread is cancelled, and returns false then. With pace=spin it polls the clock
 * instead, without a system call, and also until the thread is cancelled. */
bool pause_until(struct thread_shared *shared, int fd, uint64_t due_ns);

/* Sleeps until `fd` has one of these `events`, POLLERR or POLLHUP: poll(2). Counts its calls. */
void pause_for(struct thread_shared *shared, int fd, short events);

/* Sets the timer slack of the calling thread to 1 ns: prctl(2), PR_SET_TIMERSLACK. By default the
 * kernel may end a sleep up to 50 us late, to merge it with others. */
void pause_set_timer_slack(void);
