/* SPDX-License-Identifier: MIT */
#include "base/threads.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define STACK_BYTES ((size_t)2 << 20) /* by libuv, if the size of a stack is not limited */

#ifndef RLIMIT_AS /* OpenBSD */
#define RLIMIT_AS RLIMIT_DATA
#endif

/* The size that uv_thread_create() gives a stack. */
static size_t stack_bytes(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (size_t)limit.rlim_cur
                                                                                   : STACK_BYTES;
}

static bool has_memory(size_t size)
{
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return stack != MAP_FAILED && munmap(stack, size) == 0;
}

int thread_failure(struct problem *problem, int error, const char *name)
{
    size_t size = stack_bytes();
    char reason[160] = "", stack[UNITS_TEXT_MAX];
    struct rlimit space;

    units_format(&units_size, stack, size);
    if (!has_memory(size) && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        snprintf(reason, sizeof reason,
                 "there is no room for its stack of %s (ulimit -s): ulimit -v is %" PRIu64, stack,
                 (uint64_t)space.rlim_cur / 1024);
    else if (!has_memory(size))
        snprintf(reason, sizeof reason, "there is no memory for its stack of %s (ulimit -s)", stack);
    else
        snprintf(reason, sizeof reason, "%s; ulimit -u or pids.max of the control group may be too low",
                 strerror(-error));
    return problem_failure(problem, "cannot start %s: %s", name, reason);
}

/* ThreadSanitizer knows a descriptor by its number only, whatever the table. */
#if defined __linux__ && !defined UNCORK_THREAD_SANITIZER
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNSHARE 2u /* CLOSE_RANGE_UNSHARE of linux/close_range.h */

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool close_between(unsigned first, unsigned last, unsigned flags)
{
    return first > last || syscall(SYS_close_range, first, last, flags) == 0;
}

/* Leaves those of a fault, which a sanitizer reports, and that by which control ends a call. */
static void block_signals(void)
{
    static const int left[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGURG};
    sigset_t signals;

    sigfillset(&signals);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        sigdelset(&signals, left[i]);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

/* Begins above the largest: the kernel then copies no descriptor that is closed again. */
bool descriptors_own(int *kept, size_t count)
{
    unsigned last = ~0u;

    block_signals();
    if (count)
        qsort(kept, count, sizeof *kept, compare);
    while (count && kept[count - 1] > STDERR_FILENO) {
        unsigned next = (unsigned)kept[--count];

        if (!close_between(next + 1, last, last == ~0u ? UNSHARE : 0))
            return false;
        last = next - 1;
    }
    return close_between(STDERR_FILENO + 1, last, last == ~0u ? UNSHARE : 0);
}
#else
bool descriptors_own(int *kept, size_t count)
{
    return false;
}
#endif
