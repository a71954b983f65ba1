/* SPDX-License-Identifier: MIT */
/* One client's run, from its control connection to the report. */
#ifndef UNCORK_SERVER_SESSION_H
#define UNCORK_SERVER_SESSION_H

#include <stdbool.h>

struct server;
struct session;

/* Begins a session on the control connection `fd`, which it takes over; it frees itself when it is over. */
void session_create(struct server *server, int fd);

/* True for a session that has a plan and was told to wait; session_begin() when the server is free for it. */
bool session_waits(const struct session *session);
void session_begin(struct session *session);

/* Ends the session soon, telling its client why. */
void session_end(struct session *session, const char *why);

/* The list that the server keeps: the session after this one, and taking one out. */
struct session *session_next(const struct session *session);
void session_unlink(struct session **list, struct session *session);

#endif
