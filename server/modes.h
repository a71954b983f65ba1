/* SPDX-License-Identifier: MIT */
/* uncork-server: its command line, the modes that it chooses from, and their listener. */
#pragma once

#include "base/axis.h"
#include "base/program.h"
#include "control/psk.h"
#include "net/address.h"
#include "plan/plan.h"
#include "rights.h"

#include <sys/queue.h>

#define LIMIT(name, ...) LIMIT_##name,
enum limit {
#include "base/limits.def"
    LIMIT_COUNT
};
#undef LIMIT

#define SINKS_MAX 64
#define SERVE_WORDS_MAX 32

struct options {
    json_t *subjects; /* definitions by name (words/definition.h); NULL: the server starts no programs */
    const char *listen;
    struct address address;             /* of `listen`, or of `inherited` */
    int inherited;                      /* a listening socket; -1: none */
    const struct variant *plain;        /* the service for foreign clients; NULL: none */
    const struct variant *serve;        /* the protocol for real clients; NULL: none */
    const char *words[SERVE_WORDS_MAX]; /* of `serve` */
    size_t word_count;
    uint64_t size;                  /* bytes of the content of `serve`; 0: not given */
    struct prefix sinks[SINKS_MAX]; /* where a proxy may connect; untrusted clients name the sink */
    size_t sink_count;
    struct psk_list *keys;        /* a client must have one of these keys; NULL: no TLS */
    uint64_t limits[LIMIT_COUNT]; /* numbers, and ns */
    uint64_t idle_ms;             /* the server ends after this time without a client; 0: never */
    struct rights rights;
    bool insecure, proxy;
    bool with_parent; /* the end of standard input ends the server too */
};

/* Each mode listens, prints the ready line and serves until SIGTERM, SIGINT or an end by options. A
 * failure is in `problem`.
 *
 * server_run() is the daemon: accepts uncork clients and runs one session at a time. plain_run() is
 * the service `plain` for foreign clients, who end each connection. serve_run() answers real
 * clients by the protocol `serve` and its words. Limits become less where fewer files may be open. */
void server_run(struct options *options, struct problem *problem);
void plain_run(struct options *options, struct problem *problem);
void serve_run(struct options *options, struct problem *problem);

extern const struct axis plain_axis; /* the services of plain_run() */

/* ---- the listener ---- */

#define STRANGER_MS 3000 /* for the first bytes of a client */

/* Clients that have connected and sent nothing: strangers.c. */
struct strangers {
    TAILQ_HEAD(, stranger) list; /* oldest first */
    uv_timer_t timer;            /* of the oldest */
    uint64_t rejected;           /* clients; the owner may reset it */
};

/* Accepts clients until SIGTERM, SIGINT, the end of standard input or the idle timeout. */
struct listener {
    /* Set by the owner. */
    const struct options *options;
    bool speaks_first; /* the server sends before the client does */

    /* A client, after its first bytes unless the server speaks first: a non-blocking connection.
     * The owner owns `fd`. */
    void (*accepted)(void *owner, int fd);

    /* Rejects number `victim` of the owner's clients that are not known yet, of those of `source`
     * (NULL: of all). Returns how many there are, at most `victim` + 1. NULL: none has to be known. */
    size_t (*reject_unknown)(void *owner, const struct address *source, size_t victim, const char *why);
    void (*stopped)(void *owner); /* no more clients: the owner closes its handles on the loop */

    /* Whether a client would be served: called once, before the ready line. 0, or -1 with a problem.
     * NULL: there is no such check. */
    int (*check)(struct listener *listener, struct problem *problem);
    void *owner;

    struct address address; /* with the chosen port */
    uv_loop_t loop;         /* open within listener_serve() */
    int fd;                 /* listening socket */
    uv_poll_t poll;
    uv_signal_t signals[2]; /* SIGTERM, SIGINT */
    struct parent_watch parent;
    uv_timer_t idle;
    struct strangers strangers;
    uv_timer_t quiet;
    uint64_t unlogged;     /* lines that listener_log_rarely() did not print since the last one */
    uint64_t next_line_ms; /* loop time before which it prints no other */
    bool is_occupied, is_quiet, is_stopped;
    bool is_ready;                 /* the ready line is printed */
    bool is_sandboxed;             /* before it is ready */
    struct problem first_rejected; /* before it: why the first client was rejected, mostly the trial */
};

/* Listens, prints the ready line, and runs the loop to its end. The listening socket has the
 * options of `plan` (NULL: none). */
void listener_serve(struct listener *listener, const struct plan *plan, struct problem *problem);

/* The owner has clients or none. The idle timer runs only without clients and strangers. */
void listener_set_occupied(struct listener *listener, bool is_occupied);

/* The address of a client; AF_UNIX if it is gone. Returns `peer`. */
const struct address *listener_peer(struct address *peer, int fd);

/* A line of the log, on standard error. It never waits for a reader, who could stop the server so:
 * what a full pipe does not take is lost, and the next line says how many were.
 *
 * listener_log_rarely() is for what every client can cause: it prints at most one line a second. */
__attribute__((format(printf, 1, 2))) void listener_log(const char *format, ...);
void listener_log_rarely(struct listener *listener, const char *text);

/* Counts a client that was rejected, and logs the reason (rarely). Before the ready line the reason
 * is kept for the trial. */
void listener_rejected(struct listener *listener, const struct address *peer, const char *why);

/* Sends a client that gets no session the reason. */
void listener_refuse(const struct listener *listener, int fd);

/* Whether both are the same host, or in the same /64 of IPv6: one customer has that many. True if
 * `source` is NULL. */
bool address_is_of_source(const struct address *address, const struct address *source);

/* Takes the socket that a service manager passes (LISTEN_PID, LISTEN_FDS), with its address; `fd` is
 * -1 if there is none. 0, or -1 with a problem: it is not one listening stream socket. */
int activation_take(struct address *address, int *fd, struct problem *problem);

/* Lowers --max-clients, and says so, to what the limit of open files allows; each client needs so
 * many of them. 0, or -1 with a failure: it allows none. */
int clients_fit(struct options *options, uint64_t files, struct problem *problem);

/* Serves a trial session to this process itself, over the address of the listener. 0, or -1 with a
 * failure: no client could be served. */
int trial_run(struct listener *listener, struct problem *problem);

/* ---- strangers.c, for listener.c ---- */

void strangers_open(struct listener *listener);

/* Makes room for a new client and waits for its first bytes. */
void strangers_take(struct listener *listener, int fd);
void strangers_close(struct listener *listener);
void listener_settle(struct listener *listener);
