/* SPDX-License-Identifier: MIT */
/* One run: connects to all ends, takes them through the phases and makes one record.
 *
 * run.c decides what follows from a message or a failure. link.c is the way to another end, which
 * own_server.c may start. work.c is what the client does itself: its data threads with their
 * phases, or with workload=command another program (command.c). They tell the run what happened. */
#pragma once

#include "base/program.h"
#include "net/connector.h"
#include "options.h"
#include "record.h"
#include "team/session.h"
#include "team/team.h"

/* server=own, via=own: a server or a proxy that the client starts and ends. */
struct own_server {
    struct child child; /* pid 0: it does not run */
    uv_process_t process;
    uv_pipe_t input, output; /* closing its standard input ends the server */
    uv_timer_t timer;        /* a time limit */
    int open_handles;
    bool has_started, is_ready;
    char line[512]; /* its ready line */
    struct address address;
    struct psk_list *keys; /* the key of its control channel; NULL: local, without TLS */
    struct link *waiting;  /* for it to be ready; NULL: none */
};

/* State that is kept between runs: the loop, and the server and proxy that the client started. */
struct client {
    uv_loop_t loop;
    struct own_server own[END_COUNT]; /* by end; own[END_CLIENT] is never started */
    const struct options *options;
    struct parent_watch parent; /* with --with-parent */
    bool orphaned;              /* the parent has ended, so a run in progress ends too */
};

/* Runs the plan and returns its record, a new reference. A failed run has a record too. Returns
 * NULL with a usage problem that only the server could detect. */
json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem);

/* Returns {"client": facts, "server": facts, "proxy": facts}, with the ends of the plan. New
 * reference, NULL with a problem. */
json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem);

/* ---- inside a run ---- */

struct run;

/* Finds the address of an end or starts it, connects, and opens the control channel. */
struct link {
    enum end end;
    struct run *run;
    struct connector connector;
    struct channel channel;
    struct address address;
    const struct psk_list *keys;
    int open_parts; /* connector, channel */
    bool is_open;   /* messages may be sent */
    bool is_asked;  /* CONTROL_PLAN was sent, and CONTROL_READY has not come */
    json_t *answer; /* its report or facts */
};

struct run {
    struct client *client;
    const struct plan *plan;
    struct session session;
    struct link links[END_COUNT]; /* by end; links[END_CLIENT] is unused */
    bool wants_facts;             /* in place of a run */
    bool is_closing;
    struct problem reason; /* of another end, for a symptom that this end has not reported yet */
    int open_parts;        /* timer, links, check, work */
    struct run_result result;

    /* The work. For a foreign peer, work_check() sets `target` and `remote`. */
    uv_work_t check;
    struct problem check_problem;
    json_t *ready;         /* CONTROL_READY of the end that has the token of the client; NULL: none */
    struct address target; /* of the data connections */
    bool remote;           /* it is on another machine */
    struct address peers[CONNECTOR_ADDRESSES_MAX]; /* a foreign peer: all addresses of its name */
    int peer_count;
    struct team team;
    struct coordinator coordinator;
    struct command *command; /* in place of the team */
    struct capture *capture; /* NULL: no capture */
};

/* ---- what link.c does ---- */

/* Connects to an end. Then sends its plan or asks for facts; or run_link_failed() follows. */
void link_open(struct run *run, enum end end);

/* Closes a link that was opened, once; then calls run_part_closed(). */
void link_close(struct link *link);

/* Connects to all ends, then asks for their facts. */
void link_ask_for_facts(struct run *run);

/* Handles CONTROL_READY: connects to the next end, or starts the work. 0, or -1 with a problem. */
int link_take_ready(struct link *link, const json_t *ready, struct problem *problem);

/* ---- what own_server.c does ---- */

/* Starts the server or proxy, if it does not run. In a lab it gets a new key. link_server_ready()
 * of link.c follows once, perhaps before this function returns, unless `waiting` is NULL by then.
 * `problem`: why it cannot start, or PROBLEM_NONE. */
void own_server_start(struct link *link);
void link_server_ready(struct link *link, const struct problem *problem);

/* Ends the server. No effect if it does not run. Waits up to 6 s and turns the loop: only for the
 * time between two runs. `reason`: of a failed run, or NULL; appends how the server has ended, if
 * by itself. Waits a moment for that: its connections close before its exit can be seen. */
void own_server_stop(struct client *client, enum end end, struct problem *reason);

/* ---- what work.c does ---- */

/* Sets `check_problem` if this machine does not support the plan; finds a foreign peer. In a
 * thread: it blocks for seconds. */
void work_check(uv_work_t *check);

/* Starts the work. 0, or -1 with a problem. */
int work_start(struct run *run, struct problem *problem);

/* Handles a message of another end in the phases. 0, also with a problem; -1: it does not belong
 * here. */
int work_message(struct run *run, enum end from, enum control_type type, const json_t *body,
                 struct problem *problem);

/* After a good end: adds the reports of the client to the result. 0, or -1 with a problem. */
int work_report(struct run *run, struct problem *problem);

/* Ends the work, if it was started; then calls run_part_closed(). */
void work_close(struct run *run);

/* ---- what they tell the run ---- */

void run_link_failed(struct link *link, const struct problem *problem);

/* A message has arrived on this struct link. */
void run_link_message(void *link, enum control_type type, const json_t *body);

/* The work has ended: well (`problem` NULL), or with a problem in this phase. */
void run_work_ended(struct run *run, const char *phase, const struct problem *problem);

/* A link or the work of this struct run is closed. */
void run_part_closed(void *run);
