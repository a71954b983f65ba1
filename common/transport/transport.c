/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include "strategy/strategy.h"
#include "transport/congestion.h"
#include "transport/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#define VARIANT(name) extern const struct transport transport_##name;
#include "transport/list.def"
#undef VARIANT

#define VARIANT(name) &transport_##name.variant,
static const struct variant *const variants[] = {
#include "transport/list.def"
};

const struct axis transport_axis = {"transport", variants, sizeof variants / sizeof *variants};

static int set_buffer(int fd, int option, const char *word, uint64_t bytes, struct problem *problem)
{
    int size = (int)bytes;

    if (bytes && setsockopt(fd, SOL_SOCKET, option, &size, sizeof size) < 0)
        return problem_unsupported(problem, "%s=%d: the system refuses that size: %s", word, size,
                                   strerror(errno));
    return 0;
}

int transport_socket(const struct transport *transport, const struct plan *plan, enum end end,
                     const struct address *address, struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];
    int fd = sockets_make(address->storage.ss_family, SOCK_STREAM);

    if (fd < 0)
        return problem_failure(problem, "cannot make a %s socket: %s", transport->variant.name,
                               strerror(errno));
    if (set_buffer(fd, SO_SNDBUF, "sndbuf", own->sndbuf_bytes, problem) == 0 &&
        set_buffer(fd, SO_RCVBUF, "rcvbuf", own->rcvbuf_bytes, problem) == 0 &&
        (!transport->counts_segments || congestion_set(fd, own->congestion, problem) == 0))
        return fd;
    close(fd);
    return -1;
}

static bool wants_nodelay(const struct plan *plan, enum end end)
{
    int choice = plan->ends[end].nodelay;

    if (choice == NODELAY_BY_STRATEGY)
        return plan_outgoing(plan, end) && plan_strategy(plan, end)->strategy->nodelay;
    return choice == NODELAY_ON;
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

int transport_prepare(const struct transport *transport, const struct plan *plan, enum end end, int fd,
                      struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];

    if (transport->counts_segments)
        return set_nodelay(fd, wants_nodelay(plan, end), problem);
    if (set_buffer(fd, SO_SNDBUF, "sndbuf", own->sndbuf_bytes, problem) < 0)
        return -1;
    return set_buffer(fd, SO_RCVBUF, "rcvbuf", own->rcvbuf_bytes, problem);
}

static int choose(struct calls *calls, int level, int name, int value)
{
    calls->counts.made[CALL_OPTION]++;
    return setsockopt(calls->fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

static int choose_buffers(const struct end_plan *own, struct calls *calls)
{
    int result = 0;

    if (own->sndbuf_bytes)
        result = choose(calls, SOL_SOCKET, SO_SNDBUF, (int)own->sndbuf_bytes);
    if (result == 0 && own->rcvbuf_bytes)
        result = choose(calls, SOL_SOCKET, SO_RCVBUF, (int)own->rcvbuf_bytes);
    return result;
}

int transport_choose_again(const struct transport *transport, const struct plan *plan, enum end end,
                           struct calls *calls)
{
    const struct end_plan *own = &plan->ends[end];
    int result = choose_buffers(own, calls);

    if (result == 0 && transport->counts_segments)
        calls->counts.made[CALL_OPTION] += (uint64_t)congestion_set_again(calls->fd, own->congestion);
    return result;
}

int transport_prepare_again(const struct transport *transport, const struct plan *plan, enum end end,
                            struct calls *calls)
{
    if (transport->counts_segments)
        return choose(calls, IPPROTO_TCP, TCP_NODELAY, wants_nodelay(plan, end));
    return choose_buffers(&plan->ends[end], calls);
}

static void put_option(json_t *options, const char *key, int fd, int level, int name)
{
    int value = 0;
    socklen_t size = sizeof value;

    if (getsockopt(fd, level, name, &value, &size) == 0)
        json_object_set_new(options, key, json_integer(value));
}

json_t *transport_options(const struct transport *transport, int fd)
{
    json_t *options = json_object();
    char congestion[CONGESTION_NAME_MAX];

    put_option(options, "sndbuf_bytes", fd, SOL_SOCKET, SO_SNDBUF);
    put_option(options, "rcvbuf_bytes", fd, SOL_SOCKET, SO_RCVBUF);
    if (!transport->counts_segments)
        return options;
    put_option(options, "nodelay", fd, IPPROTO_TCP, TCP_NODELAY);
    put_option(options, "mss_bytes", fd, IPPROTO_TCP, TCP_MAXSEG);
    if (congestion_read(fd, congestion))
        json_object_set_new(options, "congestion", json_string(congestion));
    return options;
}
