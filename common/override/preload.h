/* SPDX-License-Identifier: MIT */
/*
 * Inside the preloaded library: what it knows of descriptors and threads.
 *
 * Every function here keeps errno, allocates nothing and takes no lock.
 */
#ifndef UNCORK_OVERRIDE_PRELOAD_H
#define UNCORK_OVERRIDE_PRELOAD_H

#include "override/shared.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct gnutls_session *preload_session; /* gnutls_session_t, without its header */

/* The interposed functions that glibc has under the same name, and of which it calls the next. */
/* clang-format off */
#define INTERPOSED(X) \
    X(send) X(sendto) X(sendmsg) X(sendmmsg) X(write) X(writev) X(sendfile) X(recv) X(recvfrom) \
    X(recvmsg) X(recvmmsg) X(read) X(readv) X(accept) X(accept4) X(connect) X(socket) \
    X(socketpair) X(dup) X(dup2) X(dup3) X(setsockopt) X(getsockopt) X(shutdown) X(close) X(poll) \
    X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) X(nanosleep) \
    X(clock_nanosleep) X(usleep) X(sleep) X(pause) X(waitpid) X(sem_wait) X(pthread_join) \
    X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_mutex_lock) X(pthread_mutex_trylock) \
    X(syscall)
/* clang-format on */

#define NEXT_FIELD(name) __typeof__(name) *name;
struct next {
    INTERPOSED(NEXT_FIELD)
};
#undef NEXT_FIELD

extern struct next preload_next_functions;

/* Looks the functions up, and attaches to the shared memory. */
void preload_start(void);

/* The functions behind this library. */
static inline const struct next *next(void)
{
    if (!preload_next_functions.syscall)
        preload_start();
    return &preload_next_functions;
}

/* NULL: the library does nothing. */
extern struct shared *preload_shared;

/* Whether this change is made. */
static inline bool changes(uint64_t bit)
{
    return preload_shared && preload_shared->change.bits & bit;
}

/* What is known of a descriptor that is a stream connection. */
struct slot;

/* The connection of a descriptor; NULL where it is none, or cannot be followed. */
struct slot *slot_of(int fd);

/* A descriptor that is new or about to be closed: what was known of it is forgotten. */
void slot_forget(int fd);

/* `to` is a copy of `from`, as dup(2) makes it. */
void slot_copy(int from, int to);

/* A descriptor that accept(2) returned. Makes the changes that concern options. */
void slot_accepted(int fd);

/* Before connect(2), where options have their full effect; and when it has begun or succeeded. */
void slot_connects(int fd, const struct sockaddr *address);
void slot_connected(int fd, const struct sockaddr *address, socklen_t size);

/* The program sets an option. False where a change forbids that: the call is not to be made. */
bool slot_set_option(int fd, int level, int name, int value);

/* Before a send on this descriptor: sends what the thread holds on others. */
void slot_sends(int fd);

/* The flags for a send of `size` bytes, for which the program asked with `flags`. */
int slot_flags(struct slot *slot, size_t size, int flags);

/* Notes a send, or a receive, that returned `moved`. `flags` are the program's, `made` those of the
 * call. Returns `moved`. */
ssize_t slot_sent(int fd, struct slot *slot, enum counted call, ssize_t moved, int flags, int made);
ssize_t slot_received(struct slot *slot, enum counted call, ssize_t moved);

/* Counts a call on no stream connection. */
void preload_count(enum counted call);

/* Whether this thread has sent something since it last waited. */
bool preload_has_sent(void);

/* This thread is about to wait: sends what is held, and ends its groups. */
void preload_waits(void);

/* The same before it receives from `fd`, unless that is a file, which never waits. -1: a connection. */
void preload_receives(int fd);

#endif
