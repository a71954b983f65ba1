/* SPDX-License-Identifier: MIT */
/* A transport is what carries the bytes: how its sockets are made and which options stand when. */
#ifndef UNCORK_TRANSPORT_TRANSPORT_H
#define UNCORK_TRANSPORT_TRANSPORT_H

#include "base/axis.h"
#include "base/calls.h"
#include "plan/plan.h"
#include "transport/address.h"

struct transport {
    struct variant variant;
    const struct call_table *calls;
    bool has_other_end;   /* false: null */
    bool counts_segments; /* TCP: TCP_INFO, TCP_NODELAY, TCP_CONGESTION */
    int protocol;         /* of its sockets; 0: what SOCK_STREAM is in the family of the address */
    int family;           /* in which is tried what its sockets can be given */

    /* What TCP counted may be gone when both ends have closed. */
    bool forgets;

    /* Whether this system has it. 0, or -1 with an unsupported problem. NULL: any has. */
    int (*check)(struct problem *problem);

    /* Whether a connection became what its name says. 0, or -1 with an unsupported problem. NULL: nothing
     * else can come of it. */
    int (*prove)(int fd, struct problem *problem);

    /* An io_uring that receives again and again may take all that is there and never tell the end: of a Unix
     * socket Linux 6.18 looks at the bytes that are left, and the end is none of them. */
    bool hides_end;

    /* A connected pair on this machine, on which effects are probed. 0 or a negative errno value. NULL: has
     * no sockets. */
    int (*pair)(int fds[2]);

    /* The address on which a session of this server listens for data, given the address of its control
     * channel. */
    int (*data_address)(struct address *data, const struct address *control);

    /* The address to which a client connects for data, given the one by which it reached control, and
     * the port or the path that the server named. 0, -EINVAL for what this transport does not have, or
     * -EPERM for a path of a server that is not local. */
    int (*data_target)(struct address *data, const struct address *control, json_int_t port,
                       const char *path);
};

extern const struct axis transport_axis;

/* Makes a socket for `address` with the options of `end` that must stand before connect or listen (buffers,
 * congestion control). Returns the descriptor, or -1 with a failure or an unsupported problem. */
int transport_socket(const struct transport *transport, const struct plan *plan, enum end end,
                     const struct address *address, struct problem *problem);

/* Sets the options that stand on a connected socket: TCP_NODELAY, and what accept(2) does not inherit. 0, or
 * -1 with a problem. */
int transport_prepare(const struct transport *transport, const struct plan *plan, enum end end, int fd,
                      struct problem *problem);

/* Whether this machine takes what sockets of `end` are to be given: tried on a socket that is not connected
 * and, if that end accepts, on what it accepts. 0, or -1 with an unsupported problem or a failure. */
int transport_check(const struct plan *plan, enum end end, struct problem *problem);

/* Whether a new connection is one of the plan's transport, and its options have an effect. 0, or -1 with an
 * unsupported problem. */
int transport_prove(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* Give one more socket of a run whose options have been proved what transport_socket() and
 * transport_prepare() give, without reading anything back; their calls are counted. 0 or a negative errno
 * value. */
int transport_choose_again(const struct transport *transport, const struct plan *plan, enum end end,
                           struct calls *calls);
int transport_prepare_again(const struct transport *transport, const struct plan *plan, enum end end,
                            struct calls *calls);

/* Effective options, read back: {"sndbuf_bytes", "rcvbuf_bytes", "nodelay", "congestion", "mss_bytes"}, and
 * those of options_report(). New reference. */
json_t *transport_options(const struct transport *transport, const struct plan *plan, enum end end, int fd);

#endif
