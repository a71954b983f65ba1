/* SPDX-License-Identifier: MIT */
/* The control connection of the client to one of the other ends. */
#ifndef UNCORK_CLIENT_LINK_H
#define UNCORK_CLIENT_LINK_H

#include "client.h"
#include "control/channel.h"

/* The state of the connection to one other end. */
struct link {
    struct run *run;
    enum end end;
    const struct plan *plan;
    char *name; /* ADDRESS_MAX bytes in the result: the address as text */
    struct address address;
    const struct psk_list *keys; /* the first is ours; NULL: no TLS */
    struct channel channel;
    bool is_open, is_asked, is_done; /* is_asked: CONTROL_PLAN was sent */
    struct long_value received;
    json_t *answer; /* its report or facts */
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
