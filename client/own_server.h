/* SPDX-License-Identifier: MIT */
/* server=own, via=own: a server or a proxy that the client starts and ends. */
#pragma once

#include "base/program.h"
#include "control/psk.h"
#include "net/address.h"
#include "plan/plan.h"

#include <uv.h>

struct link;

/* Where the client starts a process: beside itself, or in a network namespace of a lab. */
struct location {
    const char *netns;        /* file of the network namespace; NULL: the current one */
    char listen[ADDRESS_MAX]; /* address to listen on, port 0 */
    char host[ADDRESS_MAX];   /* the same without the port */
    const char *subjects;     /* file of definitions for the server; NULL: none */
    const char *sink;         /* proxy: the address that it may connect to; NULL: loopback */
};

struct own_server {
    /* Set by the owner; all else is zero. */
    enum end end; /* END_PROXY: it is a proxy */
    uv_loop_t *loop;
    const struct location *location;

    struct child child; /* pid 0: it does not run */
    uv_process_t process;
    uv_pipe_t input, output; /* closing its standard input ends the server */
    uv_timer_t timer;        /* a time limit */
    int open_handles;
    bool has_started, is_ready;
    char line[512]; /* its ready line */
    struct address address;
    struct psk_list *keys; /* the key of its control channel; NULL: local, without TLS */
    struct link *waiting;  /* for it to be ready; NULL: none */
};

/* Starts the server or proxy, if it does not run. In a lab it gets a new key. link_server_ready()
 * follows once, perhaps before this function returns; own_server_forget() prevents it. */
void own_server_start(struct own_server *server, struct link *link);
void own_server_forget(struct own_server *server);

/* link.c defines it. `problem`: why it cannot start, or PROBLEM_NONE. */
void link_server_ready(struct link *link, const struct problem *problem);

/* Ends the server. No effect if it does not run. Waits up to 6 s and turns the loop: only for the
 * time between two runs. */
void own_server_stop(struct own_server *server);

/* The same after a failed run. If the server has ended by itself, appends to `reason` how. Waits a
 * moment for that, because its connections close before its exit can be seen. */
void own_server_stop_failed(struct own_server *server, struct problem *reason);
