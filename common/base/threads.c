/* SPDX-License-Identifier: MIT */
#include "base/threads.h"

#include "base/units.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <uv.h>

#define STACK_BYTES (2u << 20) /* uv_thread_create() gives a stack the limit, or this without one */

#define POOL_THREADS 4 /* of libuv, unless UV_THREADPOOL_SIZE is set */

#ifndef RLIMIT_AS /* OpenBSD */
#define RLIMIT_AS RLIMIT_DATA
#endif

/* The limit of this process; `otherwise` without one. */
static uint64_t limit_of(int resource, uint64_t otherwise)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : otherwise;
}

uint64_t address_space_limit(void)
{
    return limit_of(RLIMIT_AS, 0);
}

int thread_failure(struct problem *problem, int error, const char *name)
{
    uint64_t size = limit_of(RLIMIT_STACK, STACK_BYTES), space = address_space_limit();
    const char *text = units_text(&units_size, size);
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stack != MAP_FAILED && munmap(stack, size) == 0)
        return problem_failure(
            problem, "cannot start %s: %s; ulimit -u or pids.max of the control group may be too low", name,
            strerror(-error));
    if (space)
        return problem_failure(
            problem,
            "cannot start %s: there is no room for its stack of %s (ulimit -s): ulimit -v is %" PRIu64, name,
            text, space / 1024);
    return problem_failure(problem, "cannot start %s: there is no memory for its stack of %s (ulimit -s)",
                           name, text);
}

static void pass(void *mutex)
{
    uv_mutex_lock(mutex);
    uv_mutex_unlock(mutex);
}

int threads_try_pool(struct problem *problem)
{
    uv_thread_t threads[POOL_THREADS];
    uv_mutex_t held; /* until all of them have started */
    size_t count = 0;
    int error = uv_mutex_init(&held);

    if (error < 0)
        return problem_failure(problem, "cannot make a mutex: %s", strerror(-error));
    uv_mutex_lock(&held);
    while (error == 0 && count < POOL_THREADS)
        if ((error = uv_thread_create(&threads[count], pass, &held)) == 0)
            count++;
    if (error < 0)
        thread_failure(problem, error, "the threads that run checks");
    uv_mutex_unlock(&held);
    while (count)
        uv_thread_join(&threads[--count]);
    uv_mutex_destroy(&held);
    return error < 0 ? -1 : 0;
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

bool descriptors_own(int *kept, size_t count)
{
    /* those of a fault, which a sanitizer or a sandbox reports, and that by which control ends a call */
    static const int left[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGURG};
    sigset_t signals;

    sigfillset(&signals);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        sigdelset(&signals, left[i]);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    /* Begins above the largest: the kernel then copies no descriptor that is closed again. */
    if (count)
        qsort(kept, count, sizeof *kept, compare);
    for (unsigned last = ~0u, next = last; next != STDERR_FILENO; last = next - 1) {
        next = count && kept[count - 1] > STDERR_FILENO ? (unsigned)kept[--count] : STDERR_FILENO;
        if (next < last && syscall(SYS_close_range, next + 1, last, last == ~0u ? UNSHARE : 0) != 0)
            return false;
    }
    return true;
}
#else
bool descriptors_own(int *kept, size_t count)
{
    return false;
}
#endif
