/* SPDX-License-Identifier: MIT */
/* A connection over scripted calls: they return what the test says, and record their arguments.
 *
 * The script also imitates the kernel: it holds bytes back that are sent under a cork or with
 * MSG_MORE. It transmits them at the uncork or the next send without MSG_MORE. */
#pragma once

#include "connection/connection.h"

#define SCRIPT_CALLS_MAX 8192

/* A call that moved or switched something. */
struct scripted_call {
    enum call_kind kind;
    int flags;       /* without MSG_NOSIGNAL */
    int value;       /* of a setsockopt */
    size_t asked;    /* bytes */
    size_t position; /* of these bytes in the stream */
};

struct script {
    struct plan plan;
    struct thread_shared shared;
    struct connection connection; /* sends `message` by `write`; the content is the pattern */

    size_t made;        /* calls so far, with those that failed */
    size_t odd;         /* number of the call that is partial or fails, from 0 */
    ssize_t odd_answer; /* its most bytes, or a negative errno value; 0: no such call */
    bool blocks_after;  /* the call after it would block */
    bool odd_reached;   /* that call was made */
    bool corked;
    size_t sent, transmitted; /* bytes that were accepted; of these, bytes not held back */

    struct scripted_call calls[SCRIPT_CALLS_MAX];
    size_t count;
};

/* One script at a time. Call number `odd` returns `answer`; 0: no such call. */
struct script *script_open(const char *write, const char *message, size_t odd, ssize_t answer);
void script_close(struct script *script);

/* Returns all lent memory. */
void script_reclaim(struct script *script);

/* Pushes once and checks the invariants of any push. */
int script_push(struct script *script);
