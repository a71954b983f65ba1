/* SPDX-License-Identifier: MIT */
/*
 * An io_uring of one data thread: requests, completions, rings of provided buffers.
 *
 * The one place that knows liburing. Engine, strategies and readings say what they want by these verbs, and
 * compile where there is no io_uring (absent.c): there ring_open() says so. A request is only queued; it is
 * submitted by the next ring_enter(), with all others. Nothing here allocates between open and close.
 */
#ifndef UNCORK_RING_RING_H
#define UNCORK_RING_RING_H

#include "base/calls.h"
#include "connection/completion.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct ring;
struct io_uring_buf_ring;

/* What its authors recommend, each to be switched off so that its worth can be measured. */
struct ring_setup {
    bool defer_taskrun;   /* IORING_SETUP_DEFER_TASKRUN, Linux 6.1: completions are posted inside enter(2) */
    bool single_issuer;   /* IORING_SETUP_SINGLE_ISSUER, Linux 6.0; what defer_taskrun needs */
    bool registered_ring; /* io_uring_register_ring_fd(3), Linux 5.18: enter(2) need not look the ring up */
    uint32_t completions; /* that may wait at once without being kept aside by the kernel */
};

/* Makes a ring in the thread that will use it; `counts` gets every enter, request and completion. 0 or a
 * negative errno value. */
int ring_open(struct ring **ring, const struct ring_setup *setup, struct call_counts *counts);

/* From any thread, when the one that used it has ended or has nothing under way. NULL is harmless. */
void ring_close(struct ring *ring);

/* Why ring_open() failed with `result`, as far as the system tells: completes "io_uring cannot be used: ". */
void ring_explain(int result, char *text, size_t size);

/* Registers descriptors (Linux 5.1), which requests then name by their index. 0 or a negative errno value. */
int ring_register_files(struct ring *ring, const int *fds, uint32_t count);

/* From another thread: a RING_WAKE comes soon. */
void ring_wake(struct ring *ring);

/* Submits what was queued and waits for at least one completion if `wait`, no longer than up to `due_ns`
 * (CLOCK_MONOTONIC, UINT64_MAX for ever). One io_uring_enter(2), or none where there is nothing to submit and
 * to wait for. 0, also when a signal or the time ended it, or a negative errno value. */
int ring_enter(struct ring *ring, bool wait, uint64_t due_ns);

/* The same without waiting, where completions are only posted inside the call. */
int ring_poll(struct ring *ring);

enum ring_kind {
    RING_SEND,
    RING_RECEIVE,
    RING_READABLE,
    RING_WRITABLE,
    RING_HALF_CLOSED,
    RING_ERROR,
    RING_CONNECT,
    RING_CANCEL,
    RING_WAKE
};

/* Whose completion. */
struct ring_event {
    enum ring_kind kind;
    uint32_t number; /* of the seat */
    struct completion completion;
};

/* Takes the oldest completion. False when there is none. */
bool ring_next(struct ring *ring, struct ring_event *event);

/* ---- requests ---- */

#define RING_BUFFERS_MAX 32768u /* in one ring of buffers */
#define RING_BUFFER_BYTES 16u   /* that the ring itself takes for each */

/* A ring of buffers in memory that is shared with the kernel, which takes from its head (Linux 5.19 for
 * receiving, 6.10 for sending). */
struct ring_buffers {
    struct io_uring_buf_ring *ring; /* NULL: not open */
    uint32_t count;                 /* a power of two */
    uint16_t group;
    uint16_t added; /* since the last ring_buffers_publish() */
};

/* One descriptor at a ring. */
struct ring_seat {
    struct ring *ring;
    uint32_t number;
    int file;                     /* descriptor, or index among the registered */
    bool registered;              /* which of the two */
    bool ending;                  /* the peer has half-closed: what is left is received one by one */
    struct ring_intake *intake;   /* buffers of the thread, to receive into */
    struct ring_buffers outgoing; /* from which it sends, where its strategy does */
};

#define RING_TOKEN_MAX 0xffffffu

/* How a request is queued, together. */
enum ring_option {
    RING_LINK = 1,   /* the next one begins when this has been done whole: IOSQE_IO_LINK */
    RING_SILENT = 2, /* no completion unless it fails or is cut short: IOSQE_CQE_SKIP_SUCCESS, Linux 5.17 */
};

/* Requests that the ring takes before it submits by itself; linked ones have to fit in. */
#define RING_REQUESTS 256u

/* Makes room for `count` requests that are to be submitted together, by an enter(2) if it must. 0 or a
 * negative errno value. */
int ring_reserve(struct ring *ring, uint32_t count);

/* All of these: 0, or a negative errno value of the enter(2) that made room. `flags` are those of send(2), to
 * which MSG_NOSIGNAL is added. Memory is lent until the completion; `message` and its vectors until then
 * too. */
int ring_send(struct ring_seat *seat, const void *data, size_t size, int flags, unsigned options,
              uint32_t token);
int ring_sendmsg(struct ring_seat *seat, const struct msghdr *message, int flags, unsigned options,
                 uint32_t token);

/* Without copying (Linux 6.0, for several vectors 6.1): a second completion gives the memory back. */
int ring_send_zc(struct ring_seat *seat, const struct msghdr *message, int flags, uint32_t token);

/* From the seat's outgoing buffers (Linux 6.10): the next one, or all that are there as a `bundle`. */
int ring_send_buffers(struct ring_seat *seat, bool bundle, int flags, unsigned options, uint32_t token);

/* Receives again and again (Linux 6.0), into one buffer of the group for each completion or into as many as
 * it takes (`bundle`, Linux 6.10), until a completion has no `more`: on a seat that is `ending` the first. */
int ring_receive(struct ring_seat *seat, uint16_t group, bool bundle);

/* One completion when the descriptor is readable or writable, when its peer has half-closed, or when it shows
 * an error, which the others tell as well: its result is what it shows, as poll(2) has it. */
int ring_watch(struct ring_seat *seat, enum ring_kind kind);

/* connect(2) (Linux 5.5); `address` is lent until the completion. */
int ring_connect(struct ring_seat *seat, const struct sockaddr *address, socklen_t size);

/* Ends what was begun by ring_receive() or ring_watch(RING_READABLE): its last completion is -ECANCELED. */
int ring_cancel(struct ring_seat *seat, enum ring_kind kind);

/* ---- provided buffers ---- */

/* Makes a ring for `count` buffers (a power of two, at most RING_BUFFERS_MAX). 0 or a negative errno value.
 */
int ring_buffers_open(struct ring *ring, struct ring_buffers *buffers, uint16_t group, uint32_t count);
void ring_buffers_close(struct ring_buffers *buffers);

/* Takes all buffers out; none may be in use. 0 or a negative errno value. */
int ring_buffers_empty(struct ring *ring, struct ring_buffers *buffers);

/* Adds a buffer at the tail; there must be room. The kernel sees it after ring_buffers_publish(). */
void ring_buffers_add(struct ring_buffers *buffers, const void *data, uint32_t size, uint16_t number);
void ring_buffers_publish(struct ring_buffers *buffers);

#endif
