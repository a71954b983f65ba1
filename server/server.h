/* SPDX-License-Identifier: MIT */
/* The daemon: accepts clients; one session at a time runs. Or a service for foreign clients. */
#ifndef UNCORK_SERVER_SERVER_H
#define UNCORK_SERVER_SERVER_H

#include "base/axis.h"
#include "control/psk.h"
#include "sinks.h"

#include <stdbool.h>

/* The options of the daemon. */
struct server_setup {
    struct address address;
    const struct sinks *sinks;   /* targets that a proxy may connect to; NULL: a server */
    const struct psk_list *keys; /* a client must have one of these; NULL: no TLS */
    bool with_parent;            /* the end of standard input ends it too */
    uint64_t idle_ms;            /* ends after this time without a session; 0: never */
};

/* Listens, prints the ready line and serves until SIGTERM, SIGINT, or a condition of the setup.
 * Returns 0, or -1 with a failure. */
int server_run(const struct server_setup *setup, struct problem *problem);

/* Services for foreign clients: no control channel, any number of connections. The client ends
 * each connection. The table is plan/services.def. */
extern const struct axis plain_axis;

/* Runs one service at `address`, as server_run() does. Returns 0, or -1 with a failure. */
int plain_run(const struct variant *service, const struct address *address, bool with_parent,
              struct problem *problem);

#endif
