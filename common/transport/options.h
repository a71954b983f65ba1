/* SPDX-License-Identifier: MIT */
/*
 * Options of a data socket that words ask for: buffers, TCP_QUICKACK, SO_BUSY_POLL, TCP_NOTSENT_LOWAT.
 *
 * One table says which word is which option, when it is set and what is read back. What systems have of them
 * differs in options.c.
 */
#ifndef UNCORK_TRANSPORT_OPTIONS_H
#define UNCORK_TRANSPORT_OPTIONS_H

#include "base/calls.h"
#include "plan/plan.h"

#include <stdbool.h>

enum moment { BEFORE_CONNECT, AFTER_CONNECT }; /* at a listener before listen(2), after accept(2) */

/* Sets those of this moment and reads back what the system might have ignored. 0, or -1 with an unsupported
 * problem. */
int options_set(const struct plan *plan, enum end end, int fd, enum moment moment, struct problem *problem);

/* Whether any is asked for that must stand before connect or listen. */
bool options_ask_before(const struct plan *plan, enum end end);

/* Whether a connection that was accepted has what its listener was given before. 0, or -1 with an unsupported
 * problem. */
int options_inherited(const struct plan *plan, enum end end, int listener, int accepted,
                      struct problem *problem);

/* Whether those have an effect that shows only on a connection: one that has received something knows by
 * which queue of a device it came, and SO_INCOMING_NAPI_ID is 0 where it came by none, as on loopback; then
 * nothing is polled (include/net/busy_poll.h, Linux 4.12). 0, or -1 with an unsupported problem. */
int options_prove(const struct plan *plan, enum end end, int fd, struct problem *problem);

/* options_set() for one more socket of a run whose options have been proved: nothing is read back, calls are
 * counted. 0 or a negative errno value. */
int options_set_again(const struct plan *plan, enum end end, struct calls *calls, enum moment moment);

/* Asks for acknowledgements at once from here on (quickack=rearm: the kernel forgets it), or for late ones.
 * Counted. 0 or a negative errno value. */
int options_set_quickack(struct calls *calls, bool on);

/* Adds to `options` what was asked for and is in force: "notsent_lowat_bytes", "busy_poll_us", "quickack";
 * and "clamped": {"sndbuf": {"asked_bytes", "given_bytes", "sysctl"}} where a buffer is not as it was asked
 * for; "sysctl" names what limits it, and is absent where that is none of its sysctls. */
void options_report(const struct plan *plan, enum end end, int fd, json_t *options);

#endif
