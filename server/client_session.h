/* SPDX-License-Identifier: MIT */
/* The session of one client at a server or a proxy, from its control connection to the report. It
 * goes through the states of team/session.def: client_session.c. Its data connections come in
 * data_listener.c, or a subject runs in place of data threads: subject.c. */
#pragma once

#include "base/files.h"
#include "control/hello.h"
#include "modes.h"
#include "net/connector.h"
#include "override/override.h"
#include "process.h"
#include "team/session.h"
#include "team/team.h"

#include <limits.h>

/* The listening socket for the data connections, and their token and key. It accepts them and
 * checks their token, unless a data thread does. It closes and counts those with a wrong token. */
struct data_listener {
    int fd; /* listening socket */
    struct address address;
    uint8_t token[TOKEN_SIZE];      /* every data connection sends it */
    uint8_t key[SECURITY_KEY_SIZE]; /* of their TLS */
    bool by_certificate;            /* TLS uses a certificate of the key in place of the key */
    bool is_open;                   /* from data_listener_open() to data_listener_close() */
    bool accepts;                   /* after data_listener_accept() */
    size_t joined;                  /* connections that the team has */
    uint64_t strangers;             /* connections that were rejected: wrong token, or no complete hello */
    uv_poll_t poll;
    struct hello_acceptor hellos;
    struct call_counts counts; /* not used: these calls are before the run */
};

#define SUBJECT_LINE_MAX 160
#define SUBJECT_USER "nobody" /* of a subject that root starts */

enum subject_step { SUBJECT_NONE, SUBJECT_PREPARE, SUBJECT_VERSION, SUBJECT_PACKAGE, SUBJECT_RUN };

struct subject_program {
    char path[PATH_MAX];
    char version[SUBJECT_LINE_MAX]; /* the first line of its --version or similar */
    char package[SUBJECT_LINE_MAX]; /* of the distribution, with version; empty: of none */
};

/* Another server program, which knows nothing of uncork. This server starts it for one session, in
 * a temporary folder, and ends it with the session. In the phases of the run, this server sends the
 * messages in place of the subject.
 *
 * Nothing here waits: a thread of libuv finds the program and writes its files, children print its
 * version and its package, and the loop connects until the subject accepts. */
struct subject {
    enum subject_step step;
    struct address sink; /* to which a relay connects; size 0: no relay */
    uv_work_t work;
    uv_timer_t timer; /* the time limit of a child that prints a line */
    struct process process;
    struct connector connector; /* until the subject accepts */
    bool measures;              /* the warm-up is over */
    const json_t *definition;
    json_t *values;
    bool inherits;      /* the socket of the data listener; else the program binds the address */
    bool is_other_user; /* root starts it as user nobody */
    uid_t owner_of_files;
    struct place_list cpus;
    struct address address;  /* that of the data listener; else a path in its folder, where it may write */
    char folder[FOLDER_MAX]; /* empty: there is none */
    struct subject_program program;
    char digest[80];          /* SHA-256 of its file; empty: unknown */
    json_t *arguments;        /* of its start */
    struct override override; /* without shared memory: its calls are neither changed nor counted */
    uint64_t cpu_before_ns;
};

struct client_session {
    /* Set by the owner. */
    const struct options *options;
    struct server *server;
    struct listener *listener;

    struct client_session *next; /* older; of the owner */
    struct session session;
    struct channel channel;
    struct address peer; /* address of the client */
    enum end end;        /* the role in the run: server or proxy */
    struct plan plan;
    uv_work_t check;
    struct problem problem; /* of the check, or of the work for a subject */
    struct data_listener data;
    struct team team;
    struct coordinator coordinator;
    struct subject subject;
    uint64_t began_ms;      /* loop time of client_session_begin(); 0: not yet */
    struct problem outcome; /* why it ended before it was complete, for the log */
    bool is_logged;         /* there is an administrator who reads the log */
    bool remote;            /* the other ends are on other machines */
    bool is_closing;
    int open_parts; /* timer, channel, check, data listener, team; work, timer, process, connector */
};

/* Opens the session on an accepted control connection. */
void client_session_open(struct client_session *client, uv_loop_t *loop, int fd);

/* Begins with the plan of the client. No other session may run until this one is closed: the check
 * of the machine uses two CPUs for up to 3 s. */
void client_session_begin(struct client_session *client);

/* Sends the reason to the client and closes. */
void client_session_fail(struct client_session *client, const struct problem *problem);

/* Closes at once and without a reason, as no bytes may have to wait for a client that sends none. */
void client_session_drop(struct client_session *client);

/* ---- its files ---- */

/* A part of the session is closed, or a handle whose data is the session: its memory is not used
 * any more. */
void client_session_part_closed(void *client);
void client_session_handle_closed(uv_handle_t *handle);

/* Starts the team, which has its data connections. */
void client_session_start_team(struct client_session *client);

/* Listens at the host of the control channel and draws a token and a key. Returns 0, or -1 with
 * a problem; call data_listener_close() in both cases. */
int data_listener_open(struct client_session *client, struct problem *problem);

/* Sends CONTROL_READY to the client: address, token, key and handshake. */
void data_listener_send_ready(struct client_session *client);

/* Accepts the connections of the team, and then starts it. */
int data_listener_accept(struct client_session *client, struct problem *problem);

/* Closes the socket and removes its file. After data_listener_accept() also closes the connections
 * without a complete hello. May be called twice. */
void data_listener_close(struct client_session *client);

/* Starts the subject of the plan (words/definition.h) on the socket of the data listener, or on its
 * address. Leads the session from SESSION_STARTING to SESSION_RUNNING, and then tells the client
 * that it may begin. `sink`: to which it relays; NULL: it does not relay. */
void subject_start(struct client_session *client, const struct address *sink);

/* Whether the program itself has run and ended, or is stopped. */
static inline bool subject_is_halted(const struct subject *subject)
{
    const struct child *child = &subject->process.child;
    return subject->step == SUBJECT_RUN && (!child->pid || child_stopped_by(child));
}

/* Call on CONTROL_MARKED, which comes before and after the run, while no data is in flight. Reads
 * the CPU time; after the run also sends the report. 0, or -1 with a problem: the program has
 * ended, or the override did not reach it. */
int subject_mark(struct client_session *client, struct problem *problem);

/* Describes how the subject has ended or was stopped, with the end of its log. Returns -1. */
int subject_explain_halt(const struct client_session *client, struct problem *problem);

/* Ends the process. After its parts are closed, subject_free() removes its folder. */
void subject_close(struct client_session *client);
void subject_free(struct subject *subject);

/* ---- defined in server.c ---- */

/* The session has a plan: the server begins it in its turn. */
void server_session_planned(struct server *server, struct client_session *client);

/* All parts of the session are closed: the server frees it. */
void server_session_closed(struct server *server, struct client_session *client);
