/* SPDX-License-Identifier: MIT */
#include "base/netns.h"

#include <errno.h>

#ifdef __linux__
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

int netns_enter(const char *path)
{
    int before = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    int result = before < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0 ? -errno : before;

    if (there >= 0)
        close(there);
    if (result < 0 && before >= 0)
        close(before);
    return result;
}

int netns_leave(int before)
{
    int result = setns(before, CLONE_NEWNET) < 0 ? -errno : 0;

    close(before);
    return result;
}
#else
int netns_enter(const char *path)
{
    (void)path;
    return -ENOSYS;
}

int netns_leave(int before)
{
    (void)before;
    return -ENOSYS;
}
#endif
