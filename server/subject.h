/* SPDX-License-Identifier: MIT */
/*
 * A subject: a server that knows nothing of uncork, which this server starts for one run, in a
 * temporary folder, and ends with it.
 *
 * Its definition is an object of the file of --subjects:
 *
 *   program            name or path; the parameter `program` replaces it
 *   listens            "inherited": it takes descriptor 3 (LISTEN_FDS, LISTEN_PID); "address": it binds
 *                      the host and port, or the path, that its arguments name
 *   arguments, arguments_tls, arguments_tcp, arguments_unix
 *                      lists of texts; those of TLS and of the transport only where the plan has them
 *   files              texts by name, written into the folder
 *   parameters         default texts by name; words NAME.key=value replace them
 *   protocols, transports, version
 *                      what it speaks, what it can listen on, and the argument that prints its version
 *
 * In arguments and files {folder}, {host}, {port}, {path} and each {parameter} are replaced.
 */
#ifndef UNCORK_SERVER_SUBJECT_H
#define UNCORK_SERVER_SUBJECT_H

#include "lobby.h"

struct subject {
    pid_t pid; /* 0: it does not run */
    int status;
    char folder[128];  /* empty: there is none */
    char program[256]; /* path of the file */
    char version[160]; /* the first line that it prints */
    json_t *arguments; /* with which it was started */
    uint64_t cpu_before_ns, cpu_after_ns;
    struct override *override; /* NULL: its calls stay as they are, uncounted */
};

/* Starts the subject of the plan on the socket of the lobby, or on its address. It waits until a
 * connection is accepted, for up to 5 s. 0, or -1 with a problem; subject_stop() it in both cases. */
int subject_start(struct subject *subject, const json_t *definitions, const struct plan *plan,
                  struct lobby *lobby, struct problem *problem);

/* Whether the override reached the program and took effect. 0, also without one; or -1 with a problem.
 * Call it while the connections are open. */
int subject_prove(const struct subject *subject, struct problem *problem);

/* The CPU time of its process: all threads together, ended ones too. 0 where it cannot be read. */
uint64_t subject_cpu_ns(const struct subject *subject);

/* If it has ended by itself, or ends within 400 ms: 0 with a failure that has the end of its log. Else -1. */
int subject_fate(struct subject *subject, const struct plan *plan, struct problem *problem);

/* What the record has of it. New reference. */
json_t *subject_report(const struct subject *subject, const struct plan *plan);

/* Ends the process and removes the folder. May be called twice. */
void subject_stop(struct subject *subject);

#endif
