/* SPDX-License-Identifier: MIT */
/* The command line of uncork-client. Options are not words: they are not part of a record. */
#pragma once

#include "control/psk.h"
#include "net/address.h"
#include "plan/plan.h"

#include <jansson.h>

#define NO_PARENT_FD -1

enum action {
    ACTION_RUN,
    ACTION_BATCH = 2, /* getopt_long(3) returns 1 for an argument */
    ACTION_CHECK,
    ACTION_LIST,
    ACTION_LIST_JSON,
    ACTION_EXPAND,
    ACTION_FACTS,
    ACTION_VERSION,
    ACTION_HELP
};

/* Where the client starts a server or proxy: beside itself, or in a network namespace of a lab. */
struct location {
    const char *netns;        /* file of the network namespace; NULL: the current one */
    char listen[ADDRESS_MAX]; /* address to listen on, port 0 */
    char host[ADDRESS_MAX];   /* the same without the port */
};

struct options {
    enum action action;
    struct location locations[END_COUNT];
    const char *subjects;  /* file of definitions for server and proxy; NULL: none */
    struct psk_list *keys; /* the first one is for ends with an address in words; NULL: none */
    bool insecure;         /* such an end may be on another machine without TLS */
    const char *pcap;      /* file for the packets of capture=on; NULL: none */
    bool json;             /* ACTION_RUN prints a record instead of an answer */
    const char *file;      /* ACTION_BATCH, ACTION_CHECK: input; record: output, NULL: stdout */
    int parent_fd;         /* descriptor that closes when the parent ends, or NO_PARENT_FD */
    const char *for_runs;  /* the last option that is only for a run; NULL: none was given */
    const char **words;
    size_t word_count;
};

/* Parses options and words in any order. The arguments must outlive them. Returns 0, or -1 with
 * a problem; call options_free() in both cases. */
int options_parse(struct options *options, int count, char **arguments, struct problem *problem);
void options_free(struct options *options);

/* Checks that options and plan fit each other. 0, or -1 with a usage problem. */
int options_check(const struct options *options, const struct plan *plan, struct problem *problem);

/* What --list prints: words, their values, and which of these this machine supports. list_make():
 * as docs/record.md describes it, a new reference. list_print(): for a person. */
json_t *list_make(void);
void list_print(void);
