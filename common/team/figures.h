/* SPDX-License-Identifier: MIT */
/* What a worker reads before and after its measured interval: counts and TCP figures. */
#ifndef UNCORK_TEAM_FIGURES_H
#define UNCORK_TEAM_FIGURES_H

#include "team/team.h"

/* Sums the counts of all connections of the worker. */
void figures_read_counts(const struct worker *worker, struct figures *figures);

/* Reads the TCP figures of each connection by which this end sends: tcp_info_read() or
 * tcp_info_read_again(). Nothing where the transport has no segments. */
void figures_read_tcp(struct worker *worker, struct figures *figures,
                      void (*read)(int fd, struct tcp_reading *reading));

/* Subtracts the segments of the close_notify from the figures after the interval. */
void figures_leave_out_close_notify(struct worker *worker);

/* Samples the TCP windows of the first connections; `context` is the worker. */
void figures_watch_windows(void *context);

#endif
