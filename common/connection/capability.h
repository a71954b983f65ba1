/* SPDX-License-Identifier: MIT */
/* Support is one mask: the capabilities that transport, filter and engine give, against those that
 * strategy and reading need. support/probe.c tests the kernel by effect, not by a return code. */
#pragma once

/* Name, bit, and the reason if it is missing: completes "write=more is not supported: ...". */
#define CAPABILITIES(X)                                                                                      \
    X(CAPABLE_DESCRIPTOR, 0, "there is no raw descriptor to write to")                                       \
    X(CAPABLE_NODELAY, 1, "there is no Nagle algorithm that TCP_NODELAY could switch")                       \
    X(CAPABLE_CORK, 2, "a cork holds nothing back")                                                          \
    X(CAPABLE_MORE, 3, "MSG_MORE holds nothing back")                                                        \
    X(CAPABLE_TRUNCATE, 4, "MSG_TRUNC does not discard what it receives")                                    \
    X(CAPABLE_LOOP, 5, "only engine=poll has a libuv loop to write through")                                 \
    X(CAPABLE_RING, 6, "only engine=ring has an io_uring")                                                   \
    X(CAPABLE_RECEIVE_AGAIN, 7,                                                                              \
      "a RECV of an io_uring does not go on after its first completion (Linux 6.0)")                         \
    X(CAPABLE_RECEIVE_BUNDLE, 8, "a RECV of an io_uring fills only one buffer at a time (Linux 6.10)")       \
    X(CAPABLE_SEND_BUFFERS, 9, "a SEND of an io_uring does not take provided buffers (Linux 6.10)")          \
    X(CAPABLE_SEND_BUNDLE, 10,                                                                               \
      "a SEND of an io_uring takes only one provided buffer at a time (Linux 6.10)")                         \
    X(CAPABLE_SEND_ZC, 11, "a SENDMSG_ZC of an io_uring is not carried out (TCP only, Linux 6.1)")           \
    X(CAPABLE_HOLD, 12, "there is no record layer that could hold back")                                     \
    X(CAPABLE_WHOLE, 13, "MSG_WAITALL is refused, so that a send may be cut short and the next overtake it") \
    X(CAPABLE_STREAM, 14, "libuv gives a stream up at the first record that is no data")                     \
    X(CAPABLE_SENDFILE, 15, "sendfile() from memory does not arrive as it stands (Linux)")                   \
    X(CAPABLE_WAITING, 16, "sendfile() cannot be told not to wait, and the descriptors of engine=ring wait") \
    X(CAPABLE_ZEROCOPY, 17,                                                                                  \
      "memory that is sent with MSG_ZEROCOPY does not come back (TCP only, Linux 4.14)")                     \
    X(CAPABLE_MAP, 18, "pages that arrived cannot be mapped (TCP only, Linux 5.12)")                         \
    X(CAPABLE_QUICKACK, 19, "TCP_QUICKACK neither holds an acknowledgement back nor lets one go")            \
    X(CAPABLE_RECEIVE_MESSAGE, 21,                                                                           \
      "a RECVMSG of an io_uring does not go on after its first completion (Linux 6.0)")                      \
    X(CAPABLE_KEEP, 20,                                                                                      \
      "a connection that is accepted does not keep the SO_RCVBUF of its listener; write buffers=after")

#define CAPABILITY_BIT(name, bit, lacks) name = 1u << (bit),
enum capability { CAPABILITIES(CAPABILITY_BIT) };
#undef CAPABILITY_BIT

#define CAPABILITY_COUNT 22

/* Capabilities of engines: each has an engine that gives it. CAPABLE_WAITING: the descriptors are
 * blocking or nonblocking as the engine needs, so no call needs MSG_DONTWAIT. */
#define CAPABILITIES_OF_ENGINES ((unsigned)(CAPABLE_LOOP | CAPABLE_RING | CAPABLE_WAITING))

/* Capabilities of socket options. No filter withholds them. */
#define CAPABILITIES_OF_OPTIONS ((unsigned)(CAPABLE_QUICKACK | CAPABLE_KEEP))

/* Capabilities of filters only. No transport is probed for them. */
#define CAPABILITIES_OF_LAYERS ((unsigned)(CAPABLE_HOLD | CAPABLE_WHOLE | CAPABLE_STREAM))

/* Capabilities of io_uring, on any descriptor. */
#define CAPABILITIES_OF_RINGS                                                                                \
    ((unsigned)(CAPABLE_RECEIVE_AGAIN | CAPABLE_RECEIVE_MESSAGE | CAPABLE_RECEIVE_BUNDLE |                   \
                CAPABLE_SEND_BUFFERS | CAPABLE_SEND_BUNDLE | CAPABLE_SEND_ZC))
