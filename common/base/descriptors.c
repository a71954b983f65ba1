/* SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

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
    (void)kept, (void)count;
    return false;
}
#endif
