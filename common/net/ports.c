/* SPDX-License-Identifier: MIT */
#include "net/ports.h"

#include "base/scan.h"

#include <inttypes.h>

#define RANGE "net.ipv4.ip_local_port_range"

/* ip(7), ip_local_port_range: also of IPv6. */
static bool read_range(unsigned *first, unsigned *last)
{
    return scan_file("/proc/sys/net/ipv4/ip_local_port_range", 2, "%u %u", first, last) && *last >= *first;
}

int ports_check(uint64_t connections, struct problem *problem)
{
    unsigned first, last;

    if (!read_range(&first, &last) || connections <= last - first + 1)
        return 0;
    return problem_unsupported(problem,
                               "connections=%" PRIu64 " needs as many local ports, and " RANGE
                               " holds %u: as root, sysctl -w " RANGE "=\"1024 65535\"",
                               connections, last - first + 1);
}

int ports_exhausted(const char *address, struct problem *problem)
{
    unsigned first = 0, last = 0, waiting = 0;

    /* proc(5), net/sockstat: the line "TCP: inuse 5 orphan 0 tw 12 ..." */
    if (!read_range(&first, &last) ||
        !scan_file("/proc/net/sockstat", 1, "TCP: inuse %*u orphan %*u tw %u", &waiting))
        return problem_failure(problem, "cannot connect to %s: no local port is free", address);
    return problem_failure(
        problem,
        "cannot connect to %s: no local port of %u to %u is free, and %u closed connections "
        "are in TIME_WAIT; as root, sysctl -w " RANGE
        "=\"1024 65535\" gives more ports, sysctl -w net.ipv4.tcp_tw_reuse=1 uses them again "
        "after a second",
        address, first, last, waiting);
}
