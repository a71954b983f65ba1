/* SPDX-License-Identifier: MIT */
/* server=own, via=own: a server or a proxy that the client starts, and reaps when it ends. */
#ifndef UNCORK_CLIENT_OWN_SERVER_H
#define UNCORK_CLIENT_OWN_SERVER_H

#include "control/psk.h"
#include "transport/address.h"
#include "where.h"

#include <stdbool.h>
#include <uv.h>

struct own_server {
    uv_loop_t *loop;
    uv_process_t process;
    uv_pipe_t input, output; /* closing its input ends it, also when this process is killed */
    char line[512];
    size_t size;
    struct address address;
    struct psk_list *keys; /* the one that is needed to speak to it; NULL: none, nothing else reaches it */
    bool spawned, ended;
    int open_handles;
    int64_t exit_status;
    int exit_signal;
};

/* Starts it there, if it does not run, as a proxy if that is meant, and waits until it is ready. In a lab it
 * is given a key that was made for it. 0, or -1 with a problem. */
int own_server_start(struct own_server *server, uv_loop_t *loop, bool proxy, const struct where *where,
                     struct problem *problem);

/* Ends it and waits for it. Harmless where it does not run. */
void own_server_stop(struct own_server *server);

/* How it ended by itself, to stand after its name; NULL if it runs. It is given a moment: its connections are
 * seen to close first. */
const char *own_server_fate(struct own_server *server, char text[64]);

#endif
