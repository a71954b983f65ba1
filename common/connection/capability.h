/* SPDX-License-Identifier: MIT */
/*
 * Legality is one mask: what a connection gives (transport, security, engine) against what its strategy and
 * its reading need. What the kernel gives is settled by probing the effect (transport/probe.c), not a return
 * code.
 */
#ifndef UNCORK_CONNECTION_CAPABILITY_H
#define UNCORK_CONNECTION_CAPABILITY_H

/* Name, bit, what lacks where it is not given: completes "write=more is not supported: ...". */
#define CAPABILITIES(X)                                                                                      \
    X(CAPABLE_DESCRIPTOR, 0, "there is no raw descriptor to write to")                                       \
    X(CAPABLE_NODELAY, 1, "there is no Nagle algorithm that TCP_NODELAY could switch")                       \
    X(CAPABLE_CORK, 2, "a cork holds nothing back")                                                          \
    X(CAPABLE_MORE, 3, "MSG_MORE holds nothing back")                                                        \
    X(CAPABLE_TRUNCATE, 4, "MSG_TRUNC does not discard what it receives")                                    \
    X(CAPABLE_LOOP, 5, "only engine=poll has a libuv loop to write through")

#define CAPABILITY_BIT(name, bit, lacks) name = 1u << (bit),
enum capability { CAPABILITIES(CAPABILITY_BIT) };
#undef CAPABILITY_BIT

#define CAPABILITY_COUNT 6

/* Those that an engine gives, not the connection; some engine of the list gives each. */
#define CAPABILITIES_OF_ENGINES ((unsigned)CAPABLE_LOOP)

#endif
