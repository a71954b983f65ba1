/* SPDX-License-Identifier: MIT */
/*
 * What a transport really does here, found out by effect: a system may accept an option and do nothing.
 * For the control thread only; answers are kept for the life of the process.
 */
#ifndef UNCORK_TRANSPORT_PROBE_H
#define UNCORK_TRANSPORT_PROBE_H

#include "transport/transport.h"

/* Those of the `wanted` capabilities that the transport has. Takes a few milliseconds for each that was not
 * asked before. 0, or a negative errno value where no pair of sockets could be made: then nothing was found
 * out, and nothing is kept. */
int probe_capabilities(const struct transport *transport, unsigned wanted, unsigned *found);

/* Finds out which counters move here, of TCP (tcp_info_probe()) and of threads (cpu_probe()). Takes less than
 * a millisecond. Once, before any run. */
void probe_counters(void);

#endif
