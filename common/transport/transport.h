/* SPDX-License-Identifier: MIT */
/* A transport carries the bytes: how its sockets are made, and which options are set when. */
#pragma once

#include "base/axis.h"
#include "base/calls.h"
#include "net/address.h"
#include "plan/plan.h"

#include <jansson.h>

struct transport {
    struct variant variant;
    const struct call_table *calls;
    bool has_other_end;   /* false: null */
    bool counts_segments; /* TCP: TCP_INFO, TCP_NODELAY, TCP_CONGESTION */
    int protocol;         /* of its sockets; 0: the default of SOCK_STREAM */
    int family;           /* of the sockets on which transport_check() tries the options */

    /* TCP counters may be gone after both ends have closed. */
    bool forgets;

    /* Checks that this system has it. 0, or -1 with an unsupported problem. NULL: each has it. */
    int (*check)(struct problem *problem);

    /* Checks that a connection uses this transport. 0, or -1 with an unsupported problem. NULL: no
     * fallback exists. */
    int (*prove)(int fd, struct problem *problem);

    /* A multishot receive of an io_uring may never report the end of the stream. Linux 6.18 checks
     * a Unix socket for remaining bytes only, not for the end. */
    bool hides_end;

    /* Makes a connected pair of this protocol on this machine, for probes. 0 or a negative errno
     * value. NULL: no sockets. */
    int (*pair)(int protocol, int fds[2]);

    /* The address on which a session of this server listens for data, given the address of its
     * control channel. */
    int (*data_address)(struct address *data, const struct address *control);

    /* Makes the address of the data listener, for a client: from the address of its control channel
     * and the named port or path. 0; -EINVAL if this transport has no such port or path; or -EPERM
     * for a path of a server that is not local. */
    int (*data_target)(struct address *data, const struct address *control, json_int_t port,
                       const char *path);
};

extern const struct axis transport_axis;

/* ---- for TCP and MPTCP ---- */

/* Connects a pair over loopback through this listener, which it binds: fds of a client socket of
 * this protocol and of the accepted socket. 0 or a negative errno value; the listener stays
 * open. */
int tcp_pair_through(int listener, int protocol, int fds[2]);

int tcp_make_pair(int protocol, int fds[2]);

/* The host of the control channel, or loopback if that is a Unix socket: with port 0, or with the
 * port that the server named. */
int tcp_data_address(struct address *data, const struct address *control);
int tcp_data_target(struct address *data, const struct address *control, json_int_t port, const char *path);

/* ---- options of data sockets: options.c ---- */

/* Makes a socket for `address` with the options of `end` that must be set before connect or listen
 * (buffers, congestion control). Returns the descriptor, or -1 with a failure or an unsupported
 * problem. */
int transport_socket(const struct plan *plan, enum end end, const struct address *address,
                     struct problem *problem);

/* Sets the options of a connected socket: TCP_NODELAY, and those that accept(2) does not inherit.
 * 0, or -1 with a problem. */
int transport_prepare(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* Checks that this machine accepts the socket options of `end`. Uses an unconnected socket and, if
 * that end accepts, an accepted one. 0, or -1 with an unsupported problem or a failure. */
int transport_check(const struct plan *plan, enum end end, struct problem *problem);

/* Checks that a new connection uses the plan's transport and that its options have an effect. 0, or
 * -1 with an unsupported problem. */
int transport_prove(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* transport_prepare() for another socket of a run after transport_prove(), and if this end `made`
 * it, as transport_socket(): reads nothing back, counts its calls. 0 or a negative errno value. */
int transport_prepare_again(const struct plan *plan, enum end end, struct calls *calls, bool made);

/* Sets or clears TCP_QUICKACK, by one counted call. The kernel clears it, so quickack=rearm repeats
 * the call. 0 or a negative errno value. */
int options_set_quickack(struct calls *calls, bool on);

/* Sets or clears the cork of a TCP socket, by one counted call: a set cork holds partial segments
 * back. 0, or a negative errno value. */
int options_set_cork(struct calls *calls, bool on);

/* Tests on a connected pair of this machine whether TCP_MAXSEG changes with the connection. If not,
 * options_report() has no "mss_bytes" from then on. Call it once, before threads read. */
void options_probe_mss(const int fds[2]);

/* Effective options, read back: {"sndbuf_bytes", "rcvbuf_bytes", "nodelay", "mss_bytes",
 * "congestion"}, and those that words set: "notsent_lowat_bytes", "busy_poll_us", "quickack". Also
 * "clamped": {"sndbuf": {"asked_bytes", "given_bytes", "sysctl"}} if a buffer has another size than
 * the word. "sysctl" names the limit; absent if the limit is no known sysctl. New reference. */
json_t *options_report(const struct plan *plan, enum end end, int fd);
