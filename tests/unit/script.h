/* SPDX-License-Identifier: MIT */
/*
 * A connection over calls that answer as a test says, and remember what they were asked.
 *
 * The script also plays the part of the kernel that strategies are about: what is sent under a cork or with
 * MSG_MORE is held back, and goes with the uncork or with the next send without MSG_MORE.
 */
#pragma once

#include "connection/connection.h"

#define SCRIPT_CALLS_MAX 8192

/* A call that moved or switched something. */
struct scripted_call {
    enum call_kind kind;
    int flags;       /* without MSG_NOSIGNAL */
    int value;       /* of a setsockopt */
    size_t asked;    /* bytes */
    size_t position; /* in the stream, where they stand */
};

struct script {
    struct plan plan;
    struct thread_shared shared;
    struct connection connection; /* sends `message` by `write`; the content is the pattern */

    size_t made;        /* calls so far, failed ones too */
    size_t odd;         /* number of the call that answers oddly, from 0 */
    ssize_t odd_answer; /* at most so many bytes, or a negative errno value; 0: no call does */
    bool asked_oddly;   /* it has been reached */
    bool corked;
    size_t sent, loose; /* bytes that were taken; of these, held back no more */

    struct scripted_call calls[SCRIPT_CALLS_MAX];
    size_t count;
};

/* One script at a time. `answer` is given by call number `odd`, 0 for none. */
struct script *script_open(const char *write, const char *message, size_t odd, ssize_t answer);
void script_close(struct script *script);

/* What was lent has come back. */
void script_reclaim(struct script *script);

/* Pushes once and checks all that must hold after any push. */
int script_push(struct script *script);
