/* SPDX-License-Identifier: MIT */
#include "transport/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/sockios.h>
#endif

void sockets_set_blocking(int fd, bool blocking)
{
    int flags = fcntl(fd, F_GETFL);

    fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

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

/* A descriptor that is given up for a moment, so that a connection can be taken and dropped. */
static int spare = -1;

/* True if a connection waited. */
static bool drop_next(int listener)
{
    int fd;

    close(spare);
    fd = accept(listener, NULL, NULL);
    if (fd >= 0)
        close(fd);
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

int sockets_accept(int listener)
{
    bool again = true;
    int fd = -1;

    if (spare < 0)
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd < 0 && again) {
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        again = fd < 0 && (errno == EINTR || errno == ECONNABORTED);
        /* a full table is told also when nobody waits */
        if (fd < 0 && spare >= 0 && (errno == EMFILE || errno == ENFILE))
            again = drop_next(listener);
    }
    return fd;
}
