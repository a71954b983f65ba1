/* SPDX-License-Identifier: MIT */
/* server=own, via=own: a server or a proxy that the client starts and ends. */
#pragma once

#include "base/child.h"
#include "control/psk.h"
#include "net/address.h"

#include <stdbool.h>

/* Where the client starts a process: beside itself, or in a network namespace of a lab. */
struct location {
    const char *netns;        /* file of the network namespace; NULL: the current one */
    char listen[ADDRESS_MAX]; /* address to listen on, port 0 */
    char host[ADDRESS_MAX];   /* the same without the port */
    const char *subjects;     /* file of definitions for the server; NULL: none */
    const char *sink;         /* proxy: the address that it may connect to; NULL: loopback */
};

/* Zero it before use. */
struct own_server {
    struct child child;
    int channel_fd; /* its standard input and output: closing it ends the server; 0: none */
    struct address address;
    struct psk_list *keys; /* the key of its control channel; NULL: local, without TLS */
};

/* Starts the server or proxy if it does not run, and waits until it is ready. In a lab it gets a
 * new key. Returns 0, or -1 with a problem. */
int own_server_start(struct own_server *server, bool proxy, const struct location *location,
                     struct problem *problem);

/* Ends the server and waits for its exit. No effect if it does not run. */
void own_server_stop(struct own_server *server);

/* The same after a failed run. If the server has ended by itself, appends to `reason` how. Waits a
 * moment for that, because its connections close before its exit can be seen. */
void own_server_stop_failed(struct own_server *server, const char *name, struct problem *reason);
