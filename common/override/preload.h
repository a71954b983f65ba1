/* SPDX-License-Identifier: MIT */
/*
 * Inside the preloaded library: what it knows of descriptors and threads.
 *
 * Every function here keeps errno, allocates nothing and takes no lock. Fields of a slot and of the
 * shared memory are atomic, each alone: any thread may use a descriptor.
 */
#pragma once

#include "override/shared.h"

#include <errno.h>
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

/* ---- start: preload.c ---- */

/* The interposed functions that glibc has under the same name, and of which it calls the next. */
/* clang-format off */
#define INTERPOSED(X) \
    X(sendto) X(sendmsg) X(sendmmsg) X(write) X(writev) X(sendfile) X(recv) X(recvfrom) X(recvmsg) \
    X(recvmmsg) X(read) X(readv) X(accept) X(accept4) X(connect) X(socket) X(socketpair) X(dup) \
    X(dup2) X(dup3) X(setsockopt) X(getsockopt) X(shutdown) X(close) X(poll) X(ppoll) X(select) \
    X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) X(nanosleep) X(clock_nanosleep) \
    X(usleep) X(sleep) X(pause) X(waitpid) X(sem_wait) X(pthread_join) X(pthread_cond_wait) \
    X(pthread_cond_timedwait) X(pthread_mutex_lock) X(pthread_mutex_trylock) X(syscall)
/* clang-format on */

#define NEXT_FIELD(name) __typeof__(name) *name;
struct next {
    INTERPOSED(NEXT_FIELD)
};
#undef NEXT_FIELD

extern struct next preload_next;
extern struct shared *preload_shared; /* NULL: the library does nothing */
extern pid_t preload_process;         /* this process, since it began or fork(2) returned */

/* Looks the functions up, and attaches to the shared memory. */
void preload_start(void);

/* The functions behind this library. */
static inline const struct next *next(void)
{
    if (!preload_next.syscall)
        preload_start();
    return &preload_next;
}

/* Whether one of these changes is made. */
static inline bool changes(uint64_t bits)
{
    return preload_shared && preload_shared->change.bits & bits;
}

/* The key of an entry (FNV-1a), and whether an entry of a table has this key, or takes it. */
uint64_t preload_hash(const void *data, size_t size);
bool preload_claim(_Atomic uint64_t *key, uint64_t wanted);

/* Counts a call on no stream connection. */
static inline void count_call(enum counted call)
{
    if (preload_shared)
        preload_shared->calls[call]++;
}

static inline void restore_errno(const int *saved)
{
    errno = *saved;
}

/* The function leaves errno as it found it. */
#define KEEPS_ERRNO __attribute__((cleanup(restore_errno), unused)) const int saved_errno = errno

/* ---- descriptors: slots.c ---- */

enum slot_state { SLOT_UNKNOWN, SLOT_OTHER, SLOT_STREAM };

/* What is known of a descriptor. */
struct slot {
    _Atomic uint8_t state, is_tcp, corked, kind;
    _Atomic uint32_t groups;  /* that ended */
    _Atomic uint64_t sent_ns; /* when the last send returned; 0 after a receive */
};

static inline struct shared_kind *kind_of(const struct slot *slot)
{
    return &preload_shared->kinds[slot->kind];
}

/* The stream connection of a descriptor; NULL where it is none, or cannot be followed. */
struct slot *slot_of(int fd);

/* Follows the descriptor, if it is a stream connection, and makes the changes of options. `address`
 * names its kind; NULL: its own address does. slot_accepted(): what accept(2) returned. */
void slot_open(int fd, enum kind_role role, const struct sockaddr *address, socklen_t size);
void slot_accepted(int fd);

/* A descriptor is new (-1: none) or about to be closed: what was known of it is forgotten. Or `to`
 * is a copy of `from`, as dup(2) makes it. */
void slot_forget(int fd);
void slot_copy(int from, int to);

/* The program sets an option. False where a change forbids that: the call is not to be made. */
bool slot_set_option(int fd, int level, int name, int value);

/* Sets the options that the override has, before connect(2), where buffers have their full effect.
 * Returns how many. */
unsigned options_change(int fd);

/* Stores the options of a connection in its kind. */
void options_read(int fd, const struct slot *slot);

/* Sends what TCP holds back, unless the program has corked it. */
void options_push(int fd, const struct slot *slot);

/* ---- groups of a thread: groups.c ---- */

/* A send that the program asks for with `flags`; `made`: the flags that it gets. */
struct sending {
    struct slot *slot; /* NULL: no stream connection */
    enum counted call;
    int fd, flags, made;
};

/* Before a send of `size` bytes: what the thread holds on other connections leaves. After a send
 * that returned `moved`; returns `moved`. */
struct sending sending_begin(int fd, enum counted call, size_t size, int flags);
ssize_t sending_end(const struct sending *sending, ssize_t moved);

/* Before a receive, which may wait; a file of a disk never does. As slot_of(). After a receive that
 * returned `moved`; `slot` may be NULL, returns `moved`. */
struct slot *receiving_begin(int fd);
ssize_t receiving_end(struct slot *slot, enum counted call, ssize_t moved);

/* Whether this thread has sent something since it last waited. */
bool thread_has_sent(void);

/* Sends what this thread holds and ends its groups: it is about to wait; or those on one descriptor
 * (-1: on all). */
void thread_waits(void);
void groups_end(int fd);

/* From now on groups end with their thread, too; those of the last one with the process. */
void groups_start(void);

/* The child of fork(2) has no groups. */
void groups_forget(void);
