/* SPDX-License-Identifier: MIT */
/* Multipath TCP (RFC 8684, Linux 5.6): sockets of another protocol with the same calls.
 *
 * If the other end, or a middlebox, does not speak it, a connection silently falls back to TCP.
 * TCP_INFO counts the first subflow only. There are others only if the path manager of the system
 * has addresses for them: ip-mptcp(8). */
#include "base/cleanup.h"
#include "transport/transport.h"

#include <string.h>

#ifdef __linux__
#define PROTOCOL 262 /* IPPROTO_MPTCP, which older C library headers lack */
#else
#define PROTOCOL (-1)
#endif

/* <linux/mptcp.h>, Linux 5.16. */
#define LEVEL_MPTCP 284
#define OPTION_MPTCP_INFO 1
#define FLAG_FALLBACK 1u

struct mptcp_head {
    uint8_t counts[8]; /* subflows and addresses; two are padding */
    uint32_t flags;
};

static int check(struct problem *problem)
{
    CLEANUP_CLOSE int fd = sockets_make(AF_INET, SOCK_STREAM, PROTOCOL, true);
    if (fd >= 0)
        return 0;
    return problem_unsupported(problem,
                               "transport=mptcp is not available here: %s (a Linux kernel with "
                               "MPTCP, and sysctl net.mptcp.enabled=1)",
                               strerror(errno));
}

/* For a peer without MPTCP the listener returns a plain TCP socket, which does not know this
 * option. */
static int check_connection(int fd, struct problem *problem)
{
    struct mptcp_head head = {.flags = 0};
    socklen_t size = sizeof head;
    if (getsockopt(fd, LEVEL_MPTCP, OPTION_MPTCP_INFO, &head, &size) == 0 && size == sizeof head &&
        !(head.flags & FLAG_FALLBACK))
        return 0;
    return problem_unsupported(problem, "transport=mptcp: the connection fell back to TCP, because the other "
                                        "end or something between does not speak MPTCP");
}

const struct transport transport_mptcp = {
    .variant = {"mptcp", "Multipath TCP, over IPv4 or IPv6 by the server's address"},
    .calls = &calls_of_sockets,
    .has_other_end = true,
    .is_tcp = true,
    .protocol = PROTOCOL,
    .family = AF_INET,
    .loses_counters = true,
    .check = check,
    .check_connection = check_connection,
    .pair = tcp_make_pair,
    .data_address = tcp_data_address,
    .data_target = tcp_data_target,
};
