/* SPDX-License-Identifier: MIT */
#include "engine/event_loop.h"

#include <poll.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* macOS has no ppoll(2): poll(2) waits whole milliseconds, and the caller spins for the rest. */
static int poll_for(struct pollfd *watched, uint64_t ns)
{
#ifdef __APPLE__
    return poll(watched, 1, (int)(ns / NS_PER_MS));
#else
    struct timespec timeout = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

    return ppoll(watched, 1, &timeout, NULL);
#endif
}

#define CANCEL_CHECK_NS (200 * NS_PER_MS)
#define LONG_NS (3600 * NS_PER_S)

bool pause_until(struct thread_shared *shared, int fd, uint64_t due_ns)
{
    bool spins = shared->plan->pace == PACE_SPIN;
    uint64_t longest_ns = fd < 0 ? CANCEL_CHECK_NS : UINT64_MAX;

    for (;;) {
        shared->now_ns = clock_now_ns();
        if (shared->now_ns >= due_ns || ((spins || fd < 0) && thread_shared_is_cancelled(shared)))
            return false;
        if (spins)
            continue;
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        uint64_t left_ns = due_ns - shared->now_ns;
        shared->waits.made[CALL_PPOLL]++;
        if (poll_for(&readable, left_ns < longest_ns ? left_ns : longest_ns) > 0)
            return true;
    }
}

void pause_for(struct thread_shared *shared, int fd, short events)
{
    struct pollfd watched = {.fd = fd, .events = events};
    do
        shared->waits.made[CALL_PPOLL]++;
    while (poll_for(&watched, LONG_NS) <= 0);
}

void pause_set_timer_slack(void)
{
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
#endif
}
