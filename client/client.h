/* SPDX-License-Identifier: MIT */
/* The client process: its loop, the server and the proxy that it starts itself, and its control
 * connections. */
#ifndef UNCORK_CLIENT_CLIENT_H
#define UNCORK_CLIENT_CLIENT_H

#include "base/lifeline.h"
#include "control/channel.h"
#include "options.h"
#include "own_server.h"

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

/* ---- control connections ---- */

/* The state of the connection to one other end. */
struct link {
    struct run *run;
    enum end end;
    const struct plan *plan;
    char *name; /* ADDRESS_MAX bytes in the result: the address as text */
    struct address address;
    const struct psk_list *keys; /* the first is ours; NULL: no TLS */
    struct channel channel;
    bool is_open, is_asked; /* is_asked: CONTROL_PLAN was sent */
    struct long_value received;
    json_t *answer; /* its report or facts, when it is whole */
};

/* Connects to the end; starts it first if it is our own. Returns 0, or -1 with a problem. If
 * `is_open` is set, the caller closes the channel. */
int link_open(struct link *link, struct client *client, const struct channel_events *events,
              struct problem *problem);

/* Sends CONTROL_PLAN. `host`: the host id of the end that connects to this one. */
void link_send_plan(struct link *link, const char *host);

/* Gets the address of the data connections from the body of CONTROL_READY. Returns 0, or -1 with
 * a failure. */
int link_find_data(const struct link *link, struct address *data, const json_t *ready,
                   struct problem *problem);

/* Returns -1 with the failure that the end sent a message out of order. */
int link_refuse_message(const struct link *link, struct problem *problem);

#endif
