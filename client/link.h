/* SPDX-License-Identifier: MIT */
/* The control connection of the client to one of the other ends. */
#ifndef UNCORK_CLIENT_LINK_H
#define UNCORK_CLIENT_LINK_H

#include "client.h"
#include "control/channel.h"

/* What is under way with one of the other ends. */
struct link {
    struct run *run;
    enum end end;
    const struct plan *plan;
    char *name; /* ADDRESS_MAX bytes in the result: the address as text */
    struct address address;
    const struct psk_list *keys; /* the first is ours; NULL: in the clear */
    struct channel channel;
    bool is_open, is_asked, is_done; /* asked: it has been sent what opens a session */
    struct long_value received;
    json_t *answer; /* its report or facts */
};

/* Connects to the end, which is started first if it is our own. 0, or -1 with a problem; the channel has to
 * be closed if `is_open`. */
int link_open(struct link *link, struct client *client, const struct channel_events *events,
              struct problem *problem);

/* The address of the data connections, from the body of CONTROL_READY. 0, or -1 with a failure. */
int link_find_data(const struct link *link, struct address *data, const json_t *ready,
                   struct problem *problem);

/* Always -1, with a failure: the end sent a message out of order. */
int link_refuse_message(const struct link *link, struct problem *problem);

#endif
