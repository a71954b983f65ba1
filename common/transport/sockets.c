/* SPDX-License-Identifier: MIT */
#include "transport/sockets.h"

#include <sys/ioctl.h>

#ifdef __linux__
#include <linux/sockios.h>
#endif

uint64_t sockets_unsent(int fd)
{
    int bytes = 0;

#ifdef SIOCOUTQ
    if (fd < 0 || ioctl(fd, SIOCOUTQ, &bytes) < 0)
        return 0;
#else
    (void)fd;
#endif
    return (uint64_t)bytes;
}
