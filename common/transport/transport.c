/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include "net/sockets.h"
#include "transport/options.h"
#include "transport/tcp.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#define AXIS transport
#define AXIS_NAME "transport"
#define AXIS_LIST "transport/list.def"
#include "base/axis.def"

int transport_socket(const struct plan *plan, enum end end, const struct address *address,
                     struct problem *problem)
{
    const struct transport *transport = plan->transport;
    int fd = sockets_make(address->storage.ss_family, SOCK_STREAM, transport->protocol, true);

    if (fd < 0)
        return problem_failure(problem, "cannot make a %s socket: %s", transport->variant.name,
                               strerror(errno));
    if (options_set(plan, end, fd, BEFORE_CONNECT, problem) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool wants_nodelay(const struct plan *plan, enum end end)
{
    int choice = plan->ends[end].nodelay;

    return choice == NODELAY_BY_STRATEGY ? plan->ends[end].strategy_sets_nodelay : choice == NODELAY_ON;
}

static int set_nodelay(int fd, bool on, struct problem *problem)
{
    int value = on, now = !on;
    socklen_t size = sizeof now;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value) == 0 &&
        getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, &size) == 0 && !now == !on)
        return 0;
    return problem_unsupported(problem, "TCP_NODELAY cannot be switched %s here", on ? "on" : "off");
}

int transport_prepare(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    int result = plan->ends[end].sets_zerocopy ? lending_allow(fd) : 0;

    if (result < 0)
        return problem_unsupported(problem, "SO_ZEROCOPY cannot be switched on here: %s", strerror(-result));
    if (plan->transport->counts_segments && set_nodelay(fd, wants_nodelay(plan, end), problem) < 0)
        return -1;
    return options_set(plan, end, fd, AFTER_CONNECT, problem);
}

int transport_prove(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    if (plan->transport->prove && plan->transport->prove(fd, problem) < 0)
        return -1;
    return options_prove(plan, end, fd, problem);
}

/* An end that accepts sets the options on its listener. Some systems do not inherit them. */
static int check_inheritance(const struct plan *plan, enum end end, int listener, struct problem *problem)
{
    int fds[2], result = tcp_pair_through(listener, plan->transport->protocol, fds);

    if (result < 0)
        return problem_failure(problem, "cannot accept a connection over loopback: %s", strerror(-result));
    result = options_inherited(plan, end, listener, fds[1], problem);
    close(fds[0]);
    close(fds[1]);
    return result;
}

int transport_check(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct transport *transport = plan->transport;
    const struct address anywhere = {.storage.ss_family = (sa_family_t)transport->family};
    int fd, result;

    if (!transport->has_other_end)
        return 0;
    fd = transport_socket(plan, end, &anywhere, problem);
    if (fd < 0)
        return -1;
    result = transport_prepare(plan, end, fd, problem);
    if (result == 0 && end != END_CLIENT && transport->counts_segments && options_ask_before(plan, end))
        result = check_inheritance(plan, end, fd, problem);
    close(fd);
    return result;
}

int transport_prepare_again(const struct plan *plan, enum end end, struct calls *calls)
{
    int result = 0;

    if (plan->ends[end].sets_zerocopy) {
        calls->counts.made[CALL_OPTION]++;
        result = lending_allow(calls->fd);
    }
    if (result == 0 && plan->transport->counts_segments)
        result = calls_set_option(calls, CALL_OPTION, IPPROTO_TCP, TCP_NODELAY, wants_nodelay(plan, end));
    return result < 0 ? result : options_set_again(plan, end, calls, AFTER_CONNECT);
}
