/* SPDX-License-Identifier: MIT */
/*
 * Options of a data socket. Words set buffers, TCP_QUICKACK, SO_BUSY_POLL, TCP_NOTSENT_LOWAT and,
 * before connect, the congestion control.
 *
 * One table maps words to options: when each is set and how it is read back. Only options.c depends
 * on the system.
 */
#ifndef UNCORK_TRANSPORT_OPTIONS_H
#define UNCORK_TRANSPORT_OPTIONS_H

#include "base/calls.h"
#include "plan/plan.h"

#include <jansson.h>
#include <stdbool.h>

enum moment { BEFORE_CONNECT, AFTER_CONNECT }; /* at a listener before listen(2), after accept(2) */

/* Sets the options of this moment on another socket of a run after transport_prove(): reads nothing
 * back, counts its calls. 0 or a negative errno value. */
int options_set_again(const struct plan *plan, enum end end, struct calls *calls, enum moment moment);

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

#endif
