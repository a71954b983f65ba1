/* SPDX-License-Identifier: MIT */
/* Connects a stream socket without blocking the loop. A name may have several addresses: they are
 * tried in the order of getaddrinfo(3) until one accepts. */
#pragma once

#include "net/address.h"

#include <uv.h>

#define CONNECTOR_ADDRESSES_MAX 16

struct connector {
    struct address addresses[CONNECTOR_ADDRESSES_MAX];
    int count, at;    /* number of addresses, or -1; the one that is tried */
    uv_work_t lookup; /* in a thread: getaddrinfo(3) blocks */
    const char *name; /* its argument */
    uv_poll_t poll;   /* writable: connect(2) has ended */
    uv_timer_t timer; /* the time limit of an attempt, or the pause before the next one */
    uint64_t within_ms, until_ms;
    int fd;         /* -1: no attempt in progress */
    int open_parts; /* poll, timer, lookup */
    bool is_persistent, is_closing;
    struct problem problem; /* of the attempts so far */
    /* Called once: with a connected, non-blocking socket that the callee owns, or with -1 and the
     * reasons. connector->addresses[connector->at] is the address that accepted. */
    void (*done)(void *owner, int fd, const struct problem *problem);
    /* Whether it may connect to an address; NULL: to each. -1 with a problem ends the attempts. */
    int (*check)(void *owner, const struct address *address, struct problem *problem);
    void (*closed)(void *owner); /* after connector_close() */
    void *owner;
};

/* Sets up the connector, whose fields from `done` on the caller has set. */
void connector_open(struct connector *connector, uv_loop_t *loop);

/* Finds the addresses of HOST:PORT, [IPV6]:PORT or unix:PATH, then connects: for at most
 * `within_ms` to each of them. The text must stay until `done`. */
void connector_find(struct connector *connector, const char *text, uint64_t within_ms);

/* Connects to one address. `is_persistent`: tries again and again, until connector_close(). */
void connector_begin(struct connector *connector, const struct address *address, uint64_t within_ms,
                     bool is_persistent);

/* Ends an attempt; then calls `closed`. A name lookup in progress is waited for. */
void connector_close(struct connector *connector);
