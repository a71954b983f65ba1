/* SPDX-License-Identifier: MIT */
/* The way of a run to another end: finds its address or starts it, connects, and opens the control
 * channel. */
#pragma once

#include "client.h"
#include "control/channel.h"
#include "net/connector.h"

struct link {
    /* Set by the owner before link_open(). */
    enum end end;
    const struct plan *plan;
    struct client *client;
    struct run *run;
    char *name; /* ADDRESS_MAX bytes that get the address as text */

    struct connector connector;
    struct channel channel;
    struct address address;
    const struct psk_list *keys;
    int open_parts; /* connector, channel */
    bool is_open;   /* after run_link_opened() */
    bool is_asked;  /* CONTROL_PLAN was sent, and CONTROL_READY has not come */
    json_t *answer; /* its report or facts */
};

/* Opens the link; run_link_opened() or run_link_failed() follows. */
void link_open(struct link *link);

/* Closes a link that was opened, once; then calls run_part_closed(). */
void link_close(struct link *link);

/* Sends the plan; `host` is the id of the machine whose data connections the end gets. */
void link_send_plan(struct link *link, const char *host);

/* Gets the address of the data connections from CONTROL_READY. The end chooses port or path, but
 * not the machine. 0, or -1 with a failure. */
int link_find_data(const struct link *link, struct address *data, const json_t *ready,
                   struct problem *problem);

/* Tells a proxy the address of the server's data connections, and their token and key. 0, or -1
 * with a problem. */
int link_send_sink(struct link *proxy, const struct address *data, const json_t *ready,
                   struct problem *problem);

/* Keeps the value of a report or of facts. 0, or -1 with a failure: there is one already. */
int link_take_answer(struct link *link, const json_t *body, struct problem *problem);

/* ---- all links of a run, by end ---- */

/* The first open link without an answer; NULL: all have answered. */
const struct link *links_pending(const struct link links[END_COUNT]);

void links_send_problem(struct link links[END_COUNT], const char *phase, const struct problem *problem);

/* The facts of the client's machine and of all ends that have answered. New reference. */
json_t *links_facts(const struct link links[END_COUNT], const struct plan *plan);
