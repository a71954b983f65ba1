/* SPDX-License-Identifier: MIT */
/* Preloaded into a program of uncork. While the file STALL_WHEN exists, the function STALL takes
 * ten seconds; a numeric address needs no lookup, so it takes no time. The name `twofold` has two
 * addresses. After FAIL_AFTER calls each recv(2) fails. */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void *stalled(const char *name)
{
    const char *function = getenv("STALL"), *file = getenv("STALL_WHEN");

    if (function && file && !strcmp(function, name) && access(file, F_OK) == 0)
        sleep(10);
    return dlsym(RTLD_NEXT, name);
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    *(void **)&next =
        isdigit((unsigned char)*host) ? dlsym(RTLD_NEXT, "getaddrinfo") : stalled("getaddrinfo");
    if (strcmp(host, "twofold") != 0)
        return next(host, port, hints, found);
    return next("127.0.0.2", port, hints, found) || next("127.0.0.1", port, hints, &(*found)->ai_next);
}

#undef getrlimit
int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    int (*next)(__rlimit_resource_t, struct rlimit *);

    *(void **)&next = stalled("getrlimit");
    return next(resource, limit);
}

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    static atomic_long calls;
    const char *after = getenv("FAIL_AFTER");
    ssize_t (*next)(int, void *, size_t, int);

    if (after && ++calls > atol(after)) {
        errno = EIO;
        return -1;
    }
    *(void **)&next = stalled("recv");
    return next(fd, buffer, size, flags);
}
