/* SPDX-License-Identifier: MIT */
/* The process of the client: its loop, and the server and the proxy that it starts itself. */
#ifndef UNCORK_CLIENT_CLIENT_H
#define UNCORK_CLIENT_CLIENT_H

#include "base/lifeline.h"
#include "options.h"
#include "own_server.h"
#include "plan/plan.h"

#include <uv.h>

struct run;

/* What outlives a run: the loop, and the server and the proxy of our own. */
struct client {
    uv_loop_t loop;
    struct own_server own[END_COUNT]; /* by the end that they are; the client's own is never started */
    const struct options *options;
    struct lifeline parent; /* after client_follow_parent() */
    bool orphaned;          /* it was cut */
    struct run *running;    /* what to give up then */
};

/* The options must outlive the client. */
void client_open(struct client *client, const struct options *options);
void client_close(struct client *client);

/* Gives up whatever runs when the descriptor closes: whoever started this process has gone. 0, or -1 with a
 * usage problem where it is neither a pipe nor a socket. */
int client_follow_parent(struct client *client, int fd, struct problem *problem);

/* Ends our own server and proxy after a failed run. Adds to the problem how they ended by themselves. */
void client_dismiss_own(struct client *client, struct problem *reason);

#endif
