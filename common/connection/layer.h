/* SPDX-License-Identifier: MIT */
/* The stack on which strategies and readings stand. connection->top is the filter (TLS of a library
 * or of the kernel); without one, it is the transport, which makes counted calls.
 *
 * A filter calls the functions of the socket, on which every transport stands. A function that a
 * layer lacks is NULL. The capabilities of the layer say so, and no strategy or reading calls it
 * then. Only a transport has connection->submit(): a filter that gives its capabilities leaves the
 * bytes to the transport.
 *
 * Unless said otherwise a function returns bytes or 0, or a negative errno value. -EAGAIN: the
 * socket buffer is full (send) or empty (receive); call again when the descriptor is writable or
 * readable. After -EAGAIN of a send the caller must offer the same bytes again, because a filter
 * may have sent some of them. */
#pragma once

#include "connection/connection.h"
#include "ring/ring.h"

struct layer {
    ssize_t (*send)(struct connection *connection, const void *data, size_t size, int flags);

    /* Sends several pieces at once. NULL: the layer takes one piece at a time. */
    ssize_t (*sendv)(struct connection *connection, struct iovec *vectors, int count, int flags);

    ssize_t (*receive)(struct connection *connection, void *data, size_t size, int flags);

    /* Returns true if the layer has buffered bytes that receive() has not delivered. They do not
     * make the descriptor readable. NULL: it buffers none. */
    bool (*pending)(const struct connection *connection);

    /* On: corks a record layer, which then holds sends back. Off: sends what it holds; 0 when all
     * is sent. */
    int (*hold)(struct connection *connection, bool on);
};

/* A socket, by the counted calls. Filters and streams use these functions too. */
extern const struct layer layer_socket;
ssize_t socket_send(struct connection *connection, const void *data, size_t size, int flags);
ssize_t socket_sendv(struct connection *connection, struct iovec *vectors, int count, int flags);
ssize_t socket_receive(struct connection *connection, void *data, size_t size, int flags);

/* What the top of the stack does. A socket is the most frequent top, and is called directly. */
static inline ssize_t layer_send(struct connection *connection, const void *data, size_t size, int flags)
{
    if (connection->top == &layer_socket)
        return calls_send(&connection->calls, data, size, flags);
    return connection->top->send(connection, data, size, flags);
}

static inline ssize_t layer_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    if (connection->top == &layer_socket)
        return calls_sendv(&connection->calls, vectors, count, flags);
    return connection->top->sendv(connection, vectors, count, flags);
}

static inline ssize_t layer_receive(struct connection *connection, void *data, size_t size, int flags)
{
    if (connection->top == &layer_socket)
        return calls_recv(&connection->calls, data, size, flags);
    return connection->top->receive(connection, data, size, flags);
}

/* Reads the zero-copy notifications of a socket, and calls connection_returned() for each. Returns
 * 1 if lent memory came back, 0 if none did. */
int socket_reclaim(struct connection *connection);

/* ---- capabilities ---- */

/* Support is one mask: the capabilities that transport, filter and engine give, against those that
 * strategy and reading need. support/probe.c tests the kernel by effect, not by a return code.
 *
 * Name, bit, and the reason if it is missing: completes "write=more is not supported: ...". */
#define CAPABILITIES(X)                                                                                      \
    X(CAPABLE_DESCRIPTOR, 0, "there is no raw descriptor to write to")                                       \
    X(CAPABLE_NODELAY, 1, "there is no Nagle algorithm that TCP_NODELAY could switch")                       \
    X(CAPABLE_CORK, 2, "a cork holds nothing back")                                                          \
    X(CAPABLE_MORE, 3, "MSG_MORE holds nothing back")                                                        \
    X(CAPABLE_TRUNCATE, 4, "MSG_TRUNC does not discard what it receives")                                    \
    X(CAPABLE_LIBUV, 5, "only engine=poll has a libuv loop to write through")                                \
    X(CAPABLE_RING, 6, "only engine=ring has an io_uring")                                                   \
    X(CAPABLE_RECV_MULTISHOT, 7, "io_uring has no multishot RECV here (Linux 6.0)")                          \
    X(CAPABLE_RECV_BUNDLE, 8, "a RECV of an io_uring fills only one buffer at a time (Linux 6.10)")          \
    X(CAPABLE_SEND_BUFFERS, 9, "a SEND of an io_uring does not take provided buffers (Linux 6.10)")          \
    X(CAPABLE_SEND_BUNDLE, 10,                                                                               \
      "a SEND of an io_uring takes only one provided buffer at a time (Linux 6.10)")                         \
    X(CAPABLE_SEND_ZC, 11, "a SENDMSG_ZC of an io_uring is not carried out (TCP only, Linux 6.1)")           \
    X(CAPABLE_RECORD_CORK, 12, "there is no TLS record layer to cork")                                       \
    X(CAPABLE_WAITALL, 13, "MSG_WAITALL is refused: the next send could overtake the rest of a partial one") \
    X(CAPABLE_STREAM, 14, "libuv ends a stream at the first TLS record that is not data")                    \
    X(CAPABLE_SENDFILE, 15, "sendfile() from memory does not deliver its bytes unchanged (Linux only)")      \
    X(CAPABLE_BLOCKING_MODE, 16,                                                                             \
      "sendfile() has no flag against blocking, and the descriptors of engine=ring are blocking")            \
    X(CAPABLE_ZEROCOPY, 17,                                                                                  \
      "memory that is sent with MSG_ZEROCOPY does not come back (TCP only, Linux 4.14)")                     \
    X(CAPABLE_MAP, 18, "pages that arrived cannot be mapped (TCP only, Linux 5.12)")                         \
    X(CAPABLE_QUICKACK, 19, "TCP_QUICKACK neither delays an acknowledgement nor sends one at once")          \
    X(CAPABLE_RECVMSG_MULTISHOT, 21, "io_uring has no multishot RECVMSG here (Linux 6.0)")                   \
    X(CAPABLE_INHERIT_RCVBUF, 20,                                                                            \
      "an accepted connection does not inherit the SO_RCVBUF of its listener; write buffers=after")

#define CAPABILITY_BIT(name, bit, lacks) name = 1u << (bit),
enum capability { CAPABILITIES(CAPABILITY_BIT) };
#undef CAPABILITY_BIT

#define CAPABILITY_COUNT 22

/* Only engines give these. CAPABLE_BLOCKING_MODE: the descriptors are blocking or nonblocking as
 * the engine needs, so no call needs MSG_DONTWAIT. */
#define CAPABILITIES_OF_ENGINES ((unsigned)(CAPABLE_LIBUV | CAPABLE_RING | CAPABLE_BLOCKING_MODE))

/* Socket options: no filter withholds them. */
#define CAPABILITIES_OF_OPTIONS ((unsigned)(CAPABLE_QUICKACK | CAPABLE_INHERIT_RCVBUF))

/* Only filters give these: no transport is probed for them. */
#define CAPABILITIES_OF_LAYERS ((unsigned)(CAPABLE_RECORD_CORK | CAPABLE_WAITALL | CAPABLE_STREAM))

/* The kernel gives these to an io_uring, whatever the descriptor. */
#define CAPABILITIES_OF_RINGS                                                                                \
    ((unsigned)(CAPABLE_RECV_MULTISHOT | CAPABLE_RECVMSG_MULTISHOT | CAPABLE_RECV_BUNDLE |                   \
                CAPABLE_SEND_BUFFERS | CAPABLE_SEND_BUNDLE | CAPABLE_SEND_ZC))
