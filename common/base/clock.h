/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

/* The CLOCK_MONOTONIC of macOS counts in steps of 1 us. */
#ifdef __APPLE__
#define CLOCK_STEADY CLOCK_UPTIME_RAW
#else
#define CLOCK_STEADY CLOCK_MONOTONIC
#endif

/* CLOCK_MONOTONIC of macOS and the BSDs also counts while the machine sleeps. */
#ifdef CLOCK_BOOTTIME
#define CLOCK_WITH_SLEEP CLOCK_BOOTTIME
#else
#define CLOCK_WITH_SLEEP CLOCK_MONOTONIC
#endif

/* Of CLOCK_WITH_SLEEP for differences; of CLOCK_REALTIME, since the Unix epoch, for timestamps. */
static inline uint64_t clock_read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Monotonic time in nanoseconds, for differences only. A call takes about 20 ns with the vDSO. */
static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_STEADY);
}
