/* SPDX-License-Identifier: MIT */
/* What uncork-server does until SIGTERM, SIGINT, or an end that its options name. Each function
 * listens and prints the ready line first. A failure is its problem. */
#pragma once

#include "options.h"

/* The daemon: accepts clients; one session at a time runs. */
void server_run(const struct options *options, struct problem *problem);

/* Services for foreign clients: no control channel, any number of connections. The client ends
 * each connection. */
extern const struct axis plain_axis;

/* Runs the service of the options. */
void plain_run(const struct options *options, struct problem *problem);

/* Answers real clients of the protocol of the options, by their words. */
void serve_run(const struct options *options, struct problem *problem);
