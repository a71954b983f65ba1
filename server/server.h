/* SPDX-License-Identifier: MIT */
/* The modes of uncork-server. Each function listens, prints the ready line and serves until
 * SIGTERM, SIGINT or an end by options. A failure is in `problem`. */
#pragma once

#include "options.h"

/* The daemon: accepts uncork clients and runs one session at a time. */
void server_run(const struct options *options, struct problem *problem);

/* Services for foreign clients: no control channel. The client ends each connection. */
extern const struct axis plain_axis;

/* Runs the service of the options. */
void plain_run(const struct options *options, struct problem *problem);

/* Answers real clients. The options give the protocol and its words. */
void serve_run(const struct options *options, struct problem *problem);
