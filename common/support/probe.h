/* SPDX-License-Identifier: MIT */
/* Capabilities of a transport, tested by effect: a system may accept an option and do nothing. For
 * the control thread only. Answers are kept while the process runs. */
#pragma once

#include "transport/transport.h"

/* Finds which of the `wanted` capabilities the transport has. Each takes a few milliseconds the
 * first time. 0, or a negative errno value where no socket pair could be made: then nothing is
 * tested and nothing is kept. */
int probe_capabilities(const struct transport *transport, unsigned wanted, unsigned *found);

/* Tests which counters work here: of TCP (tcp_info_probe()) and of threads (cpu_probe()). Takes
 * less than a millisecond. Call it once, before any run. */
void probe_counters(void);

/* Checks that the layer of this end can do what the plan asks, by a trial over a pair of sockets of
 * that transport. Both ends of the trial are this layer: they complete a handshake with that cipher
 * and such a key, and exchange bytes both ways. A trial, because libraries differ by version, build
 * and policy, and a kernel may accept options without effect. 0, or -1 with an unsupported problem.
 * Answers are cached. */
int probe_security(const struct plan *plan, enum end end, struct problem *problem);
