/* SPDX-License-Identifier: MIT */
/* The way of a run to another end: finds its address or starts it, connects, and opens the control
 * channel. */
#pragma once

#include "control/channel.h"
#include "net/connector.h"
#include "options.h"
#include "own_server.h"
#include "plan/plan.h"

struct link;

struct link_events {
    void (*opened)(struct link *link); /* messages may be sent */
    void (*failed)(struct link *link, const struct problem *problem);
    void (*message)(struct link *link, enum control_type type, const json_t *body);
    void (*ended)(struct link *link, const char *why); /* the channel, once */
    void (*closed)(struct link *link);                 /* after link_close() */
};

struct link {
    /* Set by the owner before link_open(). */
    enum end end;
    const struct plan *plan;
    const struct options *options;
    struct own_server *own; /* this end, if the client starts it */
    char *name;             /* ADDRESS_MAX bytes that get the address as text */
    const struct link_events *events;
    void *owner;

    struct connector connector;
    struct channel channel;
    struct address address;
    const struct psk_list *keys;
    int open_parts;           /* connector, channel */
    bool is_open, is_closing; /* is_open: after `opened` */
    bool is_asked;            /* CONTROL_PLAN was sent, and CONTROL_READY has not come */
    json_t *answer;           /* its report or facts */
};

/* Opens the link; `opened` or `failed` follows. */
void link_open(struct link *link, uv_loop_t *loop);

/* Closes the link if link_open() was called; then calls `closed`. */
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
