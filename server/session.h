/* SPDX-License-Identifier: MIT */
/* One client's run, from its control connection to the report. */
#ifndef UNCORK_SERVER_SESSION_H
#define UNCORK_SERVER_SESSION_H

#include <stdbool.h>

struct server;
struct session;

/* Starts a session on the control connection `fd`, which it owns. The session frees itself at
 * its end. */
void session_create(struct server *server, int fd);

/* True if the session has a plan and waits for the server. session_begin() starts it. */
bool session_waits(const struct session *session);
void session_begin(struct session *session);

/* Ends the session soon and sends the client the reason. */
void session_end(struct session *session, const char *why);

/* The server's list of sessions: returns the next one; removes one. */
struct session *session_next(const struct session *session);
void session_unlink(struct session **list, struct session *session);

#endif
