/* SPDX-License-Identifier: MIT */
/*
 * Capabilities of a transport, tested by effect: a system may accept an option and do nothing. For
 * the control thread only. Answers are kept while the process runs.
 */
#ifndef UNCORK_LEGALITY_PROBE_H
#define UNCORK_LEGALITY_PROBE_H

#include "transport/transport.h"

/* Finds which of the `wanted` capabilities the transport has. Each takes a few milliseconds the
 * first time. 0, or a negative errno value where no socket pair could be made: then nothing is
 * tested and nothing is kept. */
int probe_capabilities(const struct transport *transport, unsigned wanted, unsigned *found);

/* Tests which counters work here: of TCP (tcp_info_probe()) and of threads (cpu_probe()). Takes
 * less than a millisecond. Call it once, before any run. */
void probe_counters(void);

#endif
