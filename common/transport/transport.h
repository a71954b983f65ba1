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
    bool has_other_end; /* false: null */
    bool is_tcp;        /* TCP or MPTCP: it has TCP_INFO, TCP_NODELAY, TCP_CONGESTION */
    int protocol;       /* of its sockets; 0: the default of SOCK_STREAM */
    int family;         /* of the sockets on which transport_check() tries the options */

    bool loses_counters; /* its TCP counters may be gone after both ends have closed */
    bool hides_eof;      /* a multishot receive may never report the end of the stream: Linux 6.18
                            checks a Unix socket for remaining bytes only */

    /* Check that this system has it, and that a connection uses it. 0, or -1 with an unsupported
     * problem. NULL: always. */
    int (*check)(struct problem *problem);
    int (*check_connection)(int fd, struct problem *problem);

    /* Makes a connected pair of this protocol on this machine, for probes. 0 or a negative errno
     * value. NULL: no sockets. */
    int (*pair)(int protocol, int fds[2]);

    /* Sets the address on which a server listens for data, from the address of its control
     * channel. 0, or -1 with a failure. */
    int (*data_address)(struct address *data, const struct address *control, struct problem *problem);

    /* Sets the address to which a client connects for data: from the address of its control channel
     * and the port or path that the server named. 0; -EINVAL: this transport has no such port or
     * path; -EPERM: a path of a server on another machine. */
    int (*data_target)(struct address *data, const struct address *control, json_int_t port,
                       const char *path);
};

extern const struct axis transport_axis;

/* ---- for TCP and MPTCP ---- */

/* Binds `listener` to loopback and connects a pair through it: fds[0] is the client socket, of this
 * protocol, fds[1] the accepted one. 0 or a negative errno value; the listener stays open. */
int tcp_pair_through(int listener, int protocol, int fds[2]);

int tcp_make_pair(int protocol, int fds[2]);

/* The host is that of the control channel, or loopback if the channel is a Unix socket. The port is
 * 0, or the one that the server named. */
int tcp_data_address(struct address *data, const struct address *control, struct problem *problem);
int tcp_data_target(struct address *data, const struct address *control, json_int_t port, const char *path);

/* ---- options of data sockets: options.c ---- */

/* Makes a socket for `address` with the options of `end` that must be set before connect or listen
 * (buffers, congestion control). Returns the descriptor, or -1 with a problem. */
int transport_socket(const struct plan *plan, enum end end, const struct address *address,
                     struct problem *problem);

/* Sets these options of a socket that listens already: connections inherit them. 0, or -1 with a
 * problem. */
int transport_adopt(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* Sets the options of a connected socket: TCP_NODELAY, and those that accept(2) does not inherit.
 * 0, or -1 with a problem. */
int transport_prepare(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* Checks that this machine accepts the socket options of `end`. Uses an unconnected socket and, if
 * that end accepts, an accepted one. 0, or -1 with an unsupported problem or a failure. */
int transport_check(const struct plan *plan, enum end end, struct problem *problem);

/* Checks that a new connection uses the plan's transport and that its options have an effect. 0, or
 * -1 with an unsupported problem. */
int transport_check_connection(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* Sets the options of a later socket of a run, whose first socket passed
 * transport_check_connection(). Reads nothing back, and counts its calls. If this end `made` the
 * socket, also sets the options of transport_socket(). 0 or a negative errno value. */
int transport_prepare_again(const struct plan *plan, enum end end, struct calls *calls, bool made);

/* True: this process lacks the right to choose cubic, which congestion=default would have. */
bool transport_forbids_cubic(void);

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
