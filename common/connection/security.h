/* SPDX-License-Identifier: MIT */
/* The filter between a strategy and the transport: none (plain), or TLS records.
 *
 * A filter declares what it gives: a raw descriptor, on which every socket flag works, or records
 * that it can hold back. When TLS itself fails, the filter sets the problem of the thread. */
#pragma once

#include "base/axis.h"
#include "connection/layer.h"

#define SECURITY_KEY_SIZE 32u
#define SECURITY_IDENTITY "uncork" /* of the pre-shared key of a run */
#define SECURITY_IDENTITY_MAX 128u /* bytes */

/* What both ends must know before the handshake, and the role of this end. */
struct security_terms {
    bool serves; /* this end accepted the connection */
    enum cipher cipher;
    enum handshake handshake;
    uint8_t identity[SECURITY_IDENTITY_MAX]; /* of the pre-shared key; any bytes */
    size_t identity_size;
    uint8_t key[SECURITY_KEY_SIZE]; /* pre-shared; with HANDSHAKE_CERTIFICATE the private Ed25519 key
                                       of the only certificate that a client accepts */
};

struct security {
    struct variant variant;
    unsigned gives;        /* capabilities that it passes on from the transport, or adds */
    const char *withholds; /* why it withholds the others, a clause; NULL: it withholds none */
    bool encrypts;         /* it has keys and a handshake */
    bool counts_records;   /* it sees the records that it sends and receives */

    struct layer layer; /* empty: there is no filter */

    const char *absent; /* why this build lacks it; NULL: it has it */

    /* Checks that this machine supports it. 0, or -1 with an unsupported problem. NULL: always. */
    int (*check)(struct problem *problem);

    json_t *(*library)(void); /* name and version, for the record: a new reference */

    /* A filter that encrypts has a context for each thread and peer: credentials and the last
     * ticket. It has `context_size` bytes: the struct security_terms, then zeros. 0 or a negative
     * errno value; context_close() follows also after a failure. */
    size_t context_size;
    int (*context_open)(void *context);
    void (*context_close)(void *context);

    /* Sets up connection->filter_state for a new descriptor, from the context of its peer. The
     * state has `state_size` zeroed bytes. 0 or a negative errno value; close() follows also after
     * a failure. NULL: the filter has no state. */
    size_t state_size;
    int (*open)(struct connection *connection);

    /* Continues the handshake. 0: it is done. -EAGAIN: call again when the descriptor is writable.
     * -EINPROGRESS: call again when it is readable. Else another negative errno value. NULL: there
     * is no handshake. */
    int (*handshake)(struct connection *connection);

    /* Frees what connection->filter_state owns. */
    void (*close)(struct connection *connection);

    /* Sends close_notify. 0, or -EAGAIN: call again when the descriptor is writable, or another
     * negative errno value. NULL: the end of the stream is enough. `lingers`: the filter may send
     * accepted bytes later, and shutdown(2) would lose them. */
    int (*close_notify)(struct connection *connection);
    bool lingers;
};

extern const struct axis security_axis; /* security/list.def */

/* Builds the stack of a connection: the filter, if there is one, on the socket. */
static inline void security_build_stack(struct connection *connection)
{
    const struct layer *filter = &connection->security->layer;
    connection->top = filter->receive ? filter : &layer_socket;
}

/* Call when a submitted receive has completed with `result`. If `result` is no data, receives one
 * byte by the filter, and returns that result. Else returns `result`. The reason: only the filter
 * reads close_notify, and without it the end of the stream is an error. */
ssize_t security_receive_control_record(struct connection *connection, ssize_t result, uint8_t *byte);

/* Opens the filter of a new descriptor, before the handshake. 0 or a negative errno value. */
int security_begin(struct connection *connection);

/* Closes the filter, before or after the descriptor is closed. */
void security_end(struct connection *connection);

/* Sends close_notify. Its record carries no message, so neither end counts it. Returns as
 * close_notify(). */
int security_close_notify(struct connection *connection);

/* Ends the outgoing direction: security_close_notify(), then shutdown(2) if that loses no bytes.
 * These calls are not counted, nor is the call that finds the end of the stream. Returns as
 * close_notify(). */
int security_half_close(struct connection *connection);

/* Opens the context of a thread for its connections with `peer`. 0 or a negative errno value. */
int security_open_context(struct thread_shared *shared, enum end peer, const struct security_terms *terms);

/* Closes that context, if there is one, and wipes its keys. */
void security_close_context(struct thread_shared *shared, enum end peer);
