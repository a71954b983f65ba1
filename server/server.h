/* SPDX-License-Identifier: MIT */
/* The daemon: accepts clients; one session at a time runs. */
#ifndef UNCORK_SERVER_SERVER_H
#define UNCORK_SERVER_SERVER_H

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

#endif
