/* SPDX-License-Identifier: MIT */
/* All system calls of the data path are made here, and each is counted as strace(1) would count it.
 *
 * The calls go through a table: `transport=null` returns at once, and unit tests put their own
 * functions there. Every function returns what the call moved, or a negative errno value. */
#pragma once

#include "base/hot.h"
#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

/* 0 on a system without MSG_MORE. The probe then finds that the kernel holds nothing back. */
#ifndef MSG_MORE
#define MSG_MORE 0
#endif

enum call_path { CALL_WRITES, CALL_READS, CALL_WAITS, CALL_CONNECTS };

/* Kind, name as the kernel and strace spell it, path. CALL_OPTION sets an option of a new
 * connection, CALL_SETSOCKOPT sets a cork, CALL_QUICKACK re-arms TCP_QUICKACK after a receive.
 * CALL_RECVMSG reads zero-copy notifications from the error queue, CALL_GETSOCKOPT maps received
 * pages. An io_uring_enter(2) that submits a send is on the path of writes; any other is a wait.
 * CALL_EPOLL_WAIT is a wait of libuv, by either call: libuv 1.45 and newer calls epoll_pwait(2). */
#define CALL_KINDS(X)                                                                                        \
    X(CALL_SENDTO, "sendto", CALL_WRITES)                                                                    \
    X(CALL_SENDMSG, "sendmsg", CALL_WRITES)                                                                  \
    X(CALL_SENDFILE, "sendfile", CALL_WRITES)                                                                \
    X(CALL_RECVMSG, "recvmsg", CALL_WRITES)                                                                  \
    X(CALL_SETSOCKOPT, "setsockopt", CALL_WRITES)                                                            \
    X(CALL_ENTER_SENDING, "io_uring_enter", CALL_WRITES)                                                     \
    X(CALL_GETSOCKOPT, "getsockopt", CALL_READS)                                                             \
    X(CALL_RECVFROM, "recvfrom", CALL_READS)                                                                 \
    X(CALL_QUICKACK, "setsockopt", CALL_READS)                                                               \
    X(CALL_EPOLL_WAIT, "epoll_wait", CALL_WAITS)                                                             \
    X(CALL_PPOLL, "ppoll", CALL_WAITS)                                                                       \
    X(CALL_ENTER_WAITING, "io_uring_enter", CALL_WAITS)                                                      \
    X(CALL_SOCKET, "socket", CALL_CONNECTS)                                                                  \
    X(CALL_OPTION, "setsockopt", CALL_CONNECTS)                                                              \
    X(CALL_CONNECT, "connect", CALL_CONNECTS)                                                                \
    X(CALL_ACCEPT, "accept4", CALL_CONNECTS)                                                                 \
    X(CALL_CLOSE, "close", CALL_CONNECTS)

#define CALL_ENUM(kind, name, path) kind,
enum call_kind { CALL_KINDS(CALL_ENUM) CALL_KIND_COUNT };
#undef CALL_ENUM

struct call_info {
    const char *name;
    enum call_path path;
};
extern const struct call_info call_infos[CALL_KIND_COUNT];

struct call_table {
    ssize_t (*send)(int fd, const void *data, size_t size, int flags);
    ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
    ssize_t (*sendfile)(int fd, int file, off_t offset, size_t size);
    int (*take_notification)(
        int fd, struct zerocopy_notification *notification); /* as zerocopy_take_notification() */
    ssize_t (*recv)(int fd, void *data, size_t size, int flags);
    int (*map)(int fd, struct mapped *mapped); /* as mapping_receive() */
    int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t size);
};

/* calls_of_sockets: the system's own calls. calls_of_nothing: functions that return at once, report
 * every byte as moved and touch no memory; without `map`. */
extern const struct call_table calls_of_sockets, calls_of_nothing;

/* Counters of other things than calls: name, what it counts. */
#define CALL_NOTES(X)                                                                                        \
    X(would_block)        /* EAGAIN: the socket buffer was full or empty */                                  \
    X(requests)           /* of an io_uring */                                                               \
    X(completions)        /* of an io_uring */                                                               \
    X(lent)               /* zero-copy sends that the kernel has completed */                                \
    X(copied)             /* of these, sends whose bytes the kernel copied */                                \
    X(mapped_bytes)       /* received as mapped pages */                                                     \
    X(copied_bytes)       /* received by the same calls, but copied */                                       \
    X(records_sent)       /* TLS records */                                                                  \
    X(records_received)   /* TLS records */                                                                  \
    X(tls_bytes_sent)     /* of records, with their headers */                                               \
    X(tls_bytes_received) /* of records, with their headers */                                               \
    X(handshakes)         /* completed */                                                                    \
    X(resumed)            /* of these, resumed by a session ticket */

#define CALL_NOTE_FIELD(name) uint64_t name;
struct call_counts {
    uint64_t made[CALL_KIND_COUNT];
    CALL_NOTES(CALL_NOTE_FIELD)
};
#undef CALL_NOTE_FIELD

struct calls {
    const struct call_table *table;
    int fd;
    int flags; /* added to the flags of every send and receive */
    struct call_counts counts;
    _Atomic uint64_t moved; /* bytes in and out so far; other threads read it to detect progress */
};

static inline void calls_note_moved(struct calls *calls, uint64_t bytes)
{
    uint64_t moved = atomic_load_explicit(&calls->moved, memory_order_relaxed);
    atomic_store_explicit(&calls->moved, moved + bytes, memory_order_relaxed);
}

/* Makes a call of the table, again after EINTR, and counts each attempt. */
#define CALLS_REPEAT(result, calls, kind, call, ...)                                                         \
    do {                                                                                                     \
        (calls)->counts.made[kind]++;                                                                        \
        (result) = (calls)->table->call((calls)->fd, __VA_ARGS__);                                           \
    } while (UNLIKELY((result) < 0) && errno == EINTR)

static inline ssize_t calls_result(struct calls *calls, ssize_t result)
{
    if (LIKELY(result >= 0)) {
        calls_note_moved(calls, (uint64_t)result);
        return result;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        calls->counts.would_block++;
        return -EAGAIN;
    }
    return -errno;
}

static inline ssize_t calls_send(struct calls *calls, const void *data, size_t size, int flags)
{
    ssize_t result;
    CALLS_REPEAT(result, calls, CALL_SENDTO, send, data, size, flags | calls->flags | MSG_NOSIGNAL);
    return calls_result(calls, result);
}

/* sendmsg(2); `flags` are added to MSG_NOSIGNAL. */
static inline ssize_t calls_sendmsg(struct calls *calls, const struct msghdr *message, int flags)
{
    ssize_t result;
    CALLS_REPEAT(result, calls, CALL_SENDMSG, sendmsg, message, flags | calls->flags | MSG_NOSIGNAL);
    return calls_result(calls, result);
}

/* The same for vectors. */
static inline ssize_t calls_sendv(struct calls *calls, struct iovec *vectors, int count, int flags)
{
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)count};
    return calls_sendmsg(calls, &message, flags);
}

static inline ssize_t calls_sendfile(struct calls *calls, int file, off_t offset, size_t size)
{
    ssize_t result;
    CALLS_REPEAT(result, calls, CALL_SENDFILE, sendfile, file, offset, size);
    return calls_result(calls, result);
}

/* recvmsg(2) of the error queue. 0 or a negative errno value; -EAGAIN when the queue is empty. */
static inline int calls_take_notification(struct calls *calls, struct zerocopy_notification *notification)
{
    calls->counts.made[CALL_RECVMSG]++;
    return (int)calls_result(calls, calls->table->take_notification(calls->fd, notification));
}

/* recv(2). 0 is the half-close of the peer; that call belongs to no message and is not counted. */
static inline ssize_t calls_recv(struct calls *calls, void *data, size_t size, int flags)
{
    ssize_t result;
    CALLS_REPEAT(result, calls, CALL_RECVFROM, recv, data, size, flags | calls->flags);
    calls->counts.made[CALL_RECVFROM] -= result == 0;
    return calls_result(calls, result);
}

/* getsockopt(2) that maps pages. 0; -EAGAIN when nothing has arrived; or another negative errno
 * value. -EIO is the peer's half-close; that call is not counted. */
static inline int calls_map(struct calls *calls, struct mapped *mapped)
{
    ssize_t result = calls->table->map(calls->fd, mapped);
    size_t taken = mapped->mapped + mapped->copied;

    calls->counts.made[CALL_GETSOCKOPT] += result == 0 || errno != EIO;
    if (result == 0 && !taken && !mapped->skip && !mapped->error) {
        errno = EAGAIN;
        result = -1;
    }
    calls->counts.mapped_bytes += mapped->mapped;
    calls->counts.copied_bytes += mapped->copied;
    result = calls_result(calls, result < 0 ? result : (ssize_t)taken);
    return result < 0 ? (int)result : 0;
}

/* setsockopt(2) with an int, on the data path. `kind` is CALL_SETSOCKOPT or CALL_QUICKACK. */
static inline int calls_set_option(struct calls *calls, enum call_kind kind, int level, int name, int value)
{
    calls->counts.made[kind]++;
    return calls->table->setsockopt(calls->fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

uint64_t calls_count_path(const struct call_counts *counts, enum call_path path);

/* Returns `a` + `times` * `b`, field by field. `times` 1 gives the sum, -1 the difference. */
struct call_counts calls_add(const struct call_counts *a, const struct call_counts *b, int times);
