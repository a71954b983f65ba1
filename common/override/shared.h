/* SPDX-License-Identifier: MIT */
/* The memory that a program under the preloaded library shares with the process that started it.
 *
 * The starter writes `change` and `records_groups` before the program starts. The library writes
 * all other fields, from many threads and processes at once. It takes no lock, because a signal
 * handler may send, too. An entry of a table is claimed by its key, which is a hash and never 0. It
 * has its name or its fragments before the first connection or group is counted. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define SHARED_MAGIC UINT64_C(0x756e636f726b0003) /* its last digits are the version of this layout */
#define SHARED_VARIABLE "UNCORK_OVERRIDE"         /* "FD:PATH": an inherited descriptor, else a path */
#define SHARED_LIBRARY "libuncork-override.so"
#define SHARED_KINDS 32
#define SHARED_SHAPES 32
#define SHARED_EXACT 24    /* shapes with exact sizes; the sizes of later ones are rounded up */
#define SHARED_FRAGMENTS 8 /* a shape has at most this number of fragments, the first of a group */
#define SHARED_PROCESSES 64

/* The changes; an override may have several. X(name, bit, ":SIZE" if it takes one, what it does) */
#define OVERRIDES(X)                                                                                         \
    X("nodelay", CHANGE_NODELAY, "", "sets TCP_NODELAY")                                                     \
    X("nagle", CHANGE_NAGLE, "", "forbids TCP_NODELAY")                                                      \
    X("nomore", CHANGE_NOMORE, "", "removes MSG_MORE")                                                       \
    X("nocork", CHANGE_NOCORK, "", "makes TCP_CORK and the cork of GnuTLS do nothing")                       \
    X("more", CHANGE_MORE, ":SIZE", "adds MSG_MORE to sends of at most SIZE bytes, until the thread waits")  \
    X("join", CHANGE_JOIN, "", "adds MSG_MORE to every send, until the thread waits")                        \
    X("sndbuf", CHANGE_SNDBUF, ":SIZE", "sets SO_SNDBUF")                                                    \
    X("rcvbuf", CHANGE_RCVBUF, ":SIZE", "sets SO_RCVBUF")

#define CHANGE_POSITION(name, bit, size, means) bit##_POSITION,
enum change_position { OVERRIDES(CHANGE_POSITION) CHANGE_COUNT };
#undef CHANGE_POSITION
#define CHANGE_BIT(name, bit, size, means) bit = 1 << bit##_POSITION,
enum change_bit { OVERRIDES(CHANGE_BIT) };
#undef CHANGE_BIT

struct change {
    uint64_t bits;                /* of enum change_bit */
    uint64_t bytes[CHANGE_COUNT]; /* by position: the size of a change that takes one */
};

/* Counted calls: X(name as the kernel spells it). Sends first, then receives, then others. */
/* clang-format off */
#define SHARED_CALLS(X) \
    X(sendto) X(sendmsg) X(sendmmsg) X(write) X(writev) X(sendfile) X(recvfrom) X(recvmsg) \
    X(recvmmsg) X(read) X(readv) X(accept) X(connect) X(setsockopt) X(shutdown) X(close) X(poll) \
    X(select) X(epoll_wait) X(sleep)
/* clang-format on */
#define SHARED_CALL(name) COUNTED_##name,
enum counted { SHARED_CALLS(SHARED_CALL) COUNTED_COUNT, COUNTED_SENDS = COUNTED_recvfrom };
#undef SHARED_CALL

/* A fragment of a shape is one number: its bytes, the call, and these flags of the program. */
#define FRAGMENT_MORE (UINT64_C(1) << 62)   /* with MSG_MORE */
#define FRAGMENT_CORKED (UINT64_C(1) << 63) /* while TCP_CORK was set */
#define FRAGMENT_CALL_SHIFT 54
#define FRAGMENT_BYTES(fragment) ((fragment) & ((UINT64_C(1) << FRAGMENT_CALL_SHIFT) - 1))
#define FRAGMENT_CALL(fragment) ((unsigned)((fragment) >> FRAGMENT_CALL_SHIFT) & 0xff)

/* Sends of a thread on one connection between two of its waits. */
struct shared_shape {
    _Atomic uint64_t key, groups;
    uint32_t sends;   /* of a group; may be more than SHARED_FRAGMENTS */
    uint32_t rounded; /* sizes are rounded up to powers of two */
    uint64_t fragments[SHARED_FRAGMENTS];
};

enum kind_role { ROLE_INHERITED, ROLE_ACCEPTED, ROLE_CONNECTED };

/* Connections of one family, accepted at or connected to one port or path. */
struct kind_name {
    uint16_t family, role, port; /* port: host byte order, 0 of a Unix socket */
    char path[108];              /* of a Unix socket; an abstract one begins with @ */
};

/* Counts of a kind: X(name in a report).
 * changed: calls that were changed, and options that were set.
 * pushes: times that held data was sent because the thread waits.
 * other_groups: groups without a shape in the table.
 * turns: receives that followed a send.
 * waits_40ms, waits_200ms: turns that took about 40 or 200 ms. */
/* clang-format off */
#define KIND_COUNTS(X) \
    X(connections) X(sent_bytes) X(received_bytes) X(would_block) X(changed) X(pushes) X(groups) \
    X(other_groups) X(turns) X(waits_40ms) X(waits_200ms)
/* clang-format on */
#define KIND_COUNT(name) _Atomic uint64_t name;
struct shared_kind {
    _Atomic uint64_t key;
    struct kind_name name;
    KIND_COUNTS(KIND_COUNT)
    _Atomic uint64_t calls[COUNTED_COUNT];
    _Atomic uint64_t read_back; /* how often the options below were read from a socket */
    _Atomic int32_t nodelay, sndbuf_bytes, rcvbuf_bytes; /* as last read; nodelay -1: not TCP */
    struct shared_shape shapes[SHARED_SHAPES];
};
#undef KIND_COUNT

struct shared {
    uint64_t magic;
    struct change change;
    uint32_t records_groups; /* records groups and waits too, not only calls and options */
    _Atomic uint32_t process_count;
    _Atomic int32_t processes[SHARED_PROCESSES]; /* ids of those that loaded the library, in order */
    _Atomic uint64_t tls_corks;                  /* calls of GnuTLS that CHANGE_NOCORK ignored */
    _Atomic uint64_t calls[COUNTED_COUNT];       /* not on stream connections: waits above all */
    struct shared_kind kinds[SHARED_KINDS];      /* the last one is for all that do not fit */
};
