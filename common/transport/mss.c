/* SPDX-License-Identifier: MIT */
#include "transport/mss.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static bool reliable = true;

static bool read_maxseg(int fd, int *bytes)
{
    socklen_t size = sizeof *bytes;

    return getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, bytes, &size) == 0;
}

/* Over loopback the MSS is many times the value before connect (536, RFC 9293). */
void mss_probe(const int fds[2])
{
    int fresh = socket(AF_INET, SOCK_STREAM, 0), before, after;

    if (fresh < 0)
        return;
    reliable = !read_maxseg(fresh, &before) || !read_maxseg(fds[0], &after) || after != before;
    close(fresh);
}

bool mss_read(int fd, int *bytes)
{
    return reliable && read_maxseg(fd, bytes);
}
