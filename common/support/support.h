/* SPDX-License-Identifier: MIT */
/* What this machine can do, tested by effect: a system may accept an option and do nothing. Only
 * one thread at a time may call these. Answers are kept while the process runs. */
#pragma once

#include "plan/plan.h"
#include "words/word.h"

/* Checks that `end` can run this plan on this machine: strategy and reading have the capabilities
 * that they need, and placement, options and limits are possible. `remote`: the other ends
 * are on other machines. 0, or -1 with an unsupported problem that names what is missing, or with a
 * failure if a probe failed. */
int support_check(const struct plan *plan, enum end end, bool remote, struct problem *problem);

/* ---- open files ---- */

#define DESCRIPTORS_OF_PROCESS 64 /* standard ones, listeners, control channel, files of /proc */
#define DESCRIPTORS_OF_THREAD 4   /* counters, a file of /proc */
#define DESCRIPTORS_OF_LOOP 8     /* of libuv, where an engine has one for each thread */

/* Those of a run with one connection. */
#define DESCRIPTORS_OF_ONE (DESCRIPTORS_OF_PROCESS + DESCRIPTORS_OF_THREAD + 1)

/* Raises the soft limit of open files (RLIMIT_NOFILE) to `wanted`, and the hard limit where
 * permitted. Returns how many may be open: `wanted`, or less. */
uint64_t descriptors_allow(uint64_t wanted);

/* A server sets so many descriptors aside for clients that do not run: plans get the others. A run
 * of one connection must stay possible: returns how many are set aside, `wanted` or less. */
uint64_t descriptors_reserve(uint64_t wanted);

/* As support_check(), for one strategy, reading or filter on one transport, for lists. `word`:
 * WORD_write, WORD_read or WORD_security; all others have their defaults. */
int support_of_variant(enum word_index word, const struct variant *variant, const struct transport *transport,
                       struct problem *problem);

/* Finds which of the `wanted` capabilities the transport has. The first test of each takes a few
 * milliseconds. 0, or a negative errno value if no socket pair could be made: then no answer is
 * kept. */
int probe_capabilities(const struct transport *transport, unsigned wanted, unsigned *found);

/* Tests which counters of TCP (tcp_info_probe()) and of threads (cpu_probe()) work here. Takes less
 * than a millisecond. Call it once, before any run. */
void probe_counters(void);

/* Checks by a trial that the filter of this end can do what the plan asks: libraries differ by
 * version, build and policy, and a kernel may accept options without effect. Two sides with this
 * filter complete a handshake with that cipher and kind of key, over a pair of sockets of that
 * transport, and send bytes both ways. 0, or -1 with an unsupported problem, or with a failure if
 * no trial was possible. */
int probe_security(const struct plan *plan, enum end end, struct problem *problem);
