/* SPDX-License-Identifier: MIT */
#include "net/address.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#if defined __linux__
#include <linux/sockios.h>
#define UNSENT SIOCOUTQ
#elif defined __FreeBSD__ || defined __NetBSD__
#include <sys/filio.h>
#define UNSENT FIONWRITE
#endif

#ifdef SOCK_CLOEXEC
#define IN_ONE_CALL true
#else /* macOS */
#define IN_ONE_CALL false
#define SOCK_CLOEXEC 0
#define SOCK_NONBLOCK 0
#define accept4(listener, address, size, flags) accept(listener, address, size)
#endif

void sockets_set_blocking(int fd, bool blocking)
{
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

/* Sets close-on-exec and blocking on a system without SOCK_CLOEXEC and SOCK_NONBLOCK. */
static int set_up(int fd, bool blocking)
{
    if (!IN_ONE_CALL && fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        sockets_set_blocking(fd, blocking);
    }
    return fd;
}

int sockets_make(int family, int type, int protocol, bool blocking)
{
    return set_up(socket(family, type | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), protocol), blocking);
}

uint64_t sockets_unsent(int fd)
{
    int bytes = 0;
#if defined UNSENT
    ioctl(fd, UNSENT, &bytes);
#elif defined SO_NWRITE /* macOS */
    getsockopt(fd, SOL_SOCKET, SO_NWRITE, &bytes, &(socklen_t){sizeof bytes});
#endif
    return (uint64_t)bytes;
}

int sockets_error(int fd)
{
    int error = 0;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) < 0 ? -errno : -error;
}

bool sockets_can_watch(int fd)
{
    void *table = malloc(power_of_two((uint64_t)fd + 3) * sizeof(void *));
    free(table);
    return table;
}

/* A spare descriptor, which is closed for a moment to accept and drop a connection. The lock is
 * needed because the control thread and a data thread may accept at the same time. */
static _Atomic int spare = -1;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns true if it dropped a pending connection. */
static bool drop_next(int listener)
{
    int fd = -1;

    pthread_mutex_lock(&spare_lock);
    if (spare >= 0) {
        close(spare);
        fd = accept(listener, NULL, NULL);
        if (fd >= 0)
            close(fd);
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    pthread_mutex_unlock(&spare_lock);
    return fd >= 0;
}

int sockets_accept(int listener, bool blocking)
{
    bool again = true;
    int fd = -1;

    if (spare < 0) {
        pthread_mutex_lock(&spare_lock);
        if (spare < 0)
            spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        pthread_mutex_unlock(&spare_lock);
    }
    while (fd < 0 && again) {
        fd = set_up(accept4(listener, NULL, NULL, SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK)), blocking);
        again = fd < 0 && (errno == EINTR || errno == ECONNABORTED);
        /* EMFILE is also reported when no connection is pending */
        if (fd < 0 && (errno == EMFILE || errno == ENFILE))
            again = drop_next(listener);
    }
    return fd;
}
