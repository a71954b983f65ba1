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
