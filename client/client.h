/* SPDX-License-Identifier: MIT */
/* The client process: its loop, and the server and the proxy that it starts itself. */
#ifndef UNCORK_CLIENT_CLIENT_H
#define UNCORK_CLIENT_CLIENT_H

#include "base/lifeline.h"
#include "options.h"
#include "own_server.h"
#include "plan/plan.h"

#include <uv.h>

/* State that outlives a run: the loop, and our own server and proxy. */
struct client {
    uv_loop_t loop;
    struct own_server own[END_COUNT]; /* by end; own[END_CLIENT] is never started */
    const struct options *options;
    struct lifeline parent;           /* after client_follow_parent() */
    bool orphaned;                    /* the parent has ended */
    void (*on_orphaned)(void *owner); /* called then; NULL: no run is in progress */
    void *owner;
};

/* The options must outlive the client. */
void client_open(struct client *client, const struct options *options);
void client_close(struct client *client);

/* With a lifeline: ends the run when the parent process closes the other end of that descriptor.
 * Returns 0, or -1 with a usage problem if it is neither a pipe nor a socket. */
int client_follow_parent(struct client *client, struct problem *problem);

/* Ends our own server and proxy after a failed run, so that the next run does not find them
 * dying. Appends to the problem how they ended by themselves. */
void client_dismiss_own(struct client *client, struct problem *reason);

#endif
