/* SPDX-License-Identifier: MIT */
/*
 * The layer between a strategy and the descriptor: nothing (plain), or the records of TLS.
 *
 * It says what it gives: a raw descriptor, on which every socket flag works, or records that can be held
 * back. Each verb returns bytes taken or delivered, or a negative errno value; after -EAGAIN the same bytes
 * are to be offered again, because some of them may be on their way. What went wrong in TLS itself it says in
 * the problem of the workbench.
 */
#ifndef UNCORK_SECURITY_SECURITY_H
#define UNCORK_SECURITY_SECURITY_H

#include "base/axis.h"
#include "connection/connection.h"

#define SECURITY_KEY_SIZE 32u

/* What the two sides of a connection have agreed on before they shake hands, and which of them this is. */
struct security_terms {
    bool serves;           /* it was connected to */
    int cipher, handshake; /* enum cipher, enum handshake */
    uint8_t key[SECURITY_KEY_SIZE];
};

struct security {
    struct variant variant;
    unsigned gives;        /* capabilities that it lets through from the transport, or adds */
    const char *withholds; /* why it does not let the others through, a clause; NULL: it lets all through */
    bool encrypts;         /* it has keys and a handshake, and all that follows up to close() */
    bool counts_records;   /* it sees the records that it sends and receives */

    /* Whether this build can do it. 0, or -1 with an unsupported problem. NULL: always. */
    int (*check)(struct problem *problem);

    const char *(*library)(void); /* and its version, for the record */

    /* What the connections of one thread with one peer share: credentials, the last ticket. 0 or a negative
     * errno value; NULL stands in `context` where it fails. */
    int (*context_open)(void **context, const struct security_terms *terms);
    void (*context_close)(void *context);

    /* A session on a new descriptor: makes connection->session, from the context of its peer. 0 or a negative
     * errno value. */
    int (*open)(struct connection *connection);

    /* Goes on with the handshake. 0: it is done; -EAGAIN: again when the descriptor is writable;
     * -EINPROGRESS: when something has come; another negative errno value. */
    int (*handshake)(struct connection *connection);

    /* Frees the session. */
    void (*close)(struct connection *connection);

    ssize_t (*send)(struct connection *connection, const void *data, size_t size, int flags);
    ssize_t (*recv)(struct connection *connection, void *data, size_t size, int flags);

    /* Several pieces at once. Only where it gives the descriptor. */
    ssize_t (*sendv)(struct connection *connection, struct iovec *vectors, int count, int flags);

    /* It has taken bytes off the descriptor which recv() has not delivered. NULL: never. */
    bool (*has_more)(const struct connection *connection);

    /* Where it gives CAPABLE_HOLD: holds back what is sent from now on; or lets go of all of it: 0 when it
     * has left, -EAGAIN: again when the descriptor is writable. */
    int (*hold)(struct connection *connection, bool on);

    /* Lets go of what was taken and is held back. 0 when nothing is any more; -EAGAIN: again when the
     * descriptor is writable. NULL: it never holds anything unless hold() says so. */
    int (*flush)(struct connection *connection);

    /* Says that nothing more will be sent (close_notify). 0, -EAGAIN: again when the descriptor is writable,
     * or another negative errno value. NULL: the end of the stream says it. `lingers`: what was taken may
     * leave later still, and a shutdown(2) would lose it. */
    int (*close_notify)(struct connection *connection);
    bool lingers;
};

extern const struct axis security_axis;

/* send() and sendv() of the layers that give the descriptor. */
ssize_t security_send(struct connection *connection, const void *data, size_t size, int flags);
ssize_t security_sendv(struct connection *connection, struct iovec *vectors, int count, int flags);

/* Somebody else has received from the descriptor that the layer gives, and `result` came of it. Where that is
 * no data, the layer looks itself, and this is what its recv() of one byte gave: the end of a stream is only
 * its end when the other side has said so. */
ssize_t security_explain(struct connection *connection, ssize_t result, uint8_t *byte);

/* A connection has got its descriptor: makes its session, whose handshake is to follow. 0 or a negative errno
 * value. */
int security_begin(struct connection *connection);

/* The descriptor is going, or has gone. */
void security_end(struct connection *connection);

/* Says that nothing more will be sent: close_notify, which is no record of a message, so that neither side
 * counts it as one. 0, -EAGAIN: again when the descriptor is writable, or another negative errno value. */
int security_close_notify(struct connection *connection);

/* Ends the outgoing direction: security_close_notify(), then shutdown(2) where that loses nothing; none of
 * their calls is counted, as the one is not that finds the end. Returns as security_close_notify(). */
int security_half_close(struct connection *connection);

/* The contexts of a thread whose connections have these terms with their `peer`. 0 or a negative errno value.
 */
int security_agree(struct workbench *bench, enum end peer, const struct security_terms *terms);

#endif
