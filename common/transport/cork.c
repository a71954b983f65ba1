/* SPDX-License-Identifier: MIT */
#include "transport/cork.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* Linux: TCP_CORK (tcp(7)); BSD and macOS: TCP_NOPUSH (tcp(4)). */
#if defined TCP_CORK
#define CORK TCP_CORK
#elif defined TCP_NOPUSH
#define CORK TCP_NOPUSH
#endif

int cork_set(struct calls *calls, int on)
{
#ifdef CORK
    return calls_set_option(calls, CALL_SETSOCKOPT, IPPROTO_TCP, CORK, on);
#else
    (void)calls, (void)on;
    return -ENOTSUP;
#endif
}
