/* SPDX-License-Identifier: MIT */
/* A socket that a service manager has opened: sd_listen_fds(3). Programs that this server starts do
 * not get it. */
#include "modes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

static bool is_listening(int fd)
{
    int type = 0, listens = 0;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0 &&
           type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &(socklen_t){sizeof listens}) == 0 && listens;
}

int activation_take(struct address *address, int *fd, struct problem *problem)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    bool is_ours = pid && count && strtol(pid, NULL, 10) == (long)getpid();

    *fd = -1;
    if (is_ours && strcmp(count, "1") != 0)
        return problem_usage(problem, "LISTEN_FDS=%.20s: a server listens on one socket, so it inherits one",
                             count);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!is_ours)
        return 0;
    if (!is_listening(FIRST_FD) || address_of_socket(address, FIRST_FD) < 0 ||
        (address->any.sa_family != AF_UNIX && !address_port(address)))
        return problem_usage(problem,
                             "LISTEN_FDS=1: descriptor %d is no stream socket that listens; use "
                             "ListenStream= and Accept=no in the socket unit",
                             FIRST_FD);
    if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) < 0)
        return problem_failure(problem, "descriptor %d: %s", FIRST_FD, strerror(errno));
    sockets_set_blocking(FIRST_FD, false);
    *fd = FIRST_FD;
    return 0;
}
