/* SPDX-License-Identifier: MIT */
/* The command line of uncork-server, and the modes that it chooses from. */
#pragma once

#include "base/axis.h"
#include "control/psk.h"
#include "net/address.h"

#include <jansson.h>

#define SINKS_MAX 64
#define SERVE_WORDS_MAX 32

struct options {
    json_t *subjects; /* definitions by name (words/definition.h); NULL: the server starts no programs */
    const char *listen;
    struct address address;             /* of `listen` */
    const struct variant *plain;        /* the service for foreign clients; NULL: none */
    const struct variant *serve;        /* the protocol for real clients; NULL: none */
    const char *words[SERVE_WORDS_MAX]; /* of `serve` */
    size_t word_count;
    uint64_t size;                  /* bytes of the content of `serve`; 0: not given */
    struct prefix sinks[SINKS_MAX]; /* addresses that a proxy may connect to. The client names the
                                       sink, and may be untrusted */
    size_t sink_count;
    struct psk_list *keys; /* a client must have one of these keys; NULL: no TLS */
    uint64_t idle_ms;      /* the server ends after this time without a client; 0: never */
    bool insecure, proxy;
    bool with_parent; /* the end of standard input ends the server too */
};

/* Each mode listens, prints the ready line and serves until SIGTERM, SIGINT or an end by options. A
 * failure is in `problem`.
 *
 * server_run() is the daemon: accepts uncork clients and runs one session at a time. plain_run() is
 * the service `plain` for foreign clients, who end each connection. serve_run() answers real
 * clients by the protocol `serve` and its words. */
void server_run(const struct options *options, struct problem *problem);
void plain_run(const struct options *options, struct problem *problem);
void serve_run(const struct options *options, struct problem *problem);

extern const struct axis plain_axis; /* the services of plain_run() */
