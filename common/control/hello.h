/* SPDX-License-Identifier: MIT */
/* The hello: the first bytes on a data connection, and the acceptor that reads them.
 *
 * The connecting end sends the token of the run and the number of the connection. Between a proxy
 * and its sink there is more (docs/design/proxy.md has the reasons):
 *
 *   sink     the greeting: 8 bytes with which no other service begins, then half of its token
 *   proxy    16 random bytes (the mask), then the hello XORed with the mask
 *   sink     the inverted mask, once it has found that the whole token is its own */
#pragma once

#include "base/calls.h"

#include <sys/queue.h>
#include <uv.h>

#define TOKEN_SIZE 16u
#define HELLO_SIZE (TOKEN_SIZE + 4u) /* token, then the number of the connection, big endian */
#define SINK_GREETING_SIZE 16u
#define SINK_ANSWER_SIZE 16u
#define SINK_HELLO_SIZE (SINK_ANSWER_SIZE + HELLO_SIZE)

void hello_make(uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number);

/* Returns the number of the connection, or -1 if the token is wrong or the number is out of range.
 * Compares the token in constant time. */
int64_t hello_read(const uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t connections);

/* What a sink sends to every connection, and whether these bytes are that of the token. */
void sink_greeting_make(uint8_t greeting[SINK_GREETING_SIZE], const uint8_t token[TOKEN_SIZE]);
bool sink_has_greeted(const uint8_t greeting[SINK_GREETING_SIZE], const uint8_t token[TOKEN_SIZE]);

/* The proxy's hello to its sink. Returns 0, or -1 if the system has no random numbers. */
int sink_hello_make(uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number);

/* Returns as hello_read(). Also fills in the answer; send it only if a number is returned. */
int64_t sink_hello_read(const uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE],
                        uint64_t connections, uint8_t answer[SINK_ANSWER_SIZE]);

bool sink_has_accepted(const uint8_t answer[SINK_ANSWER_SIZE], const uint8_t request[SINK_HELLO_SIZE]);

/* ---- the acceptor ---- */

/* Accepts data connections, and reads the hello of each: at once if it has arrived, else when a
 * libuv loop reports it. No byte beyond the hello is read. */
struct hello_acceptor {
    int listener;               /* nonblocking; -1 after hello_acceptor_close() */
    bool blocking;              /* accepted descriptors are blocking when on_hello() gets them */
    const uint8_t *sink_token;  /* of a sink, which sends its greeting; NULL: not a sink */
    size_t late_max;            /* descriptors that may wait for their hello; then the oldest is rejected */
    uv_loop_t *loop;            /* watches them */
    struct call_counts *counts; /* of the accepts and receives */
    uint64_t *rejected;         /* counts the connections that were closed: no hello, or a wrong one */

    /* A hello is whole. True: the owner takes the descriptor. False: it is closed and counted. */
    bool (*on_hello)(void *owner, const uint8_t *hello, int fd);
    void *owner;

    TAILQ_HEAD(, late_hello) late; /* descriptors with an incomplete hello, oldest first */
    size_t late_count;
};

/* Call it after the fields above `late` are set. */
void hello_acceptor_open(struct hello_acceptor *acceptor);

/* The listener is readable: accepts until its backlog is empty, but at most `most` connections.
 * Returns true if a hello is late: libuv watches a new descriptor only when its loop runs. */
bool hello_acceptor_accept(struct hello_acceptor *acceptor, size_t most);

/* Closes the descriptors with an incomplete hello. Their memory is freed when the loop next runs.
 * The listener stays open. on_hello() may call it. */
void hello_acceptor_close(struct hello_acceptor *acceptor);
