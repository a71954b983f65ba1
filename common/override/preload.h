/* SPDX-License-Identifier: MIT */
/* Inside the preloaded library: its state of descriptors and threads.
 *
 * Every function here keeps errno, allocates nothing and takes no lock. Each field of a slot and of
 * the shared memory is atomic by itself, because any thread may use a descriptor. */
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

/* The interposed functions that glibc has under the same name. The library calls the next
 * definition of each (RTLD_NEXT). */
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
extern struct next {
    INTERPOSED(NEXT_FIELD)
} preload_next;
extern struct shared *preload_shared; /* NULL: the library does nothing */
extern pid_t preload_process;         /* its id, updated after fork(2) */

/* Looks the functions up, and attaches to the shared memory. */
void preload_start(void);

/* The functions that this library replaces. */
static inline const struct next *next(void)
{
    if (!preload_next.syscall)
        preload_start();
    return &preload_next;
}

/* Whether the override has one of these changes. */
static inline bool changes(uint64_t bits)
{
    return preload_shared && preload_shared->change.bits & bits;
}

/* A key of an entry (FNV-1a). preload_claim(): the entry has this key, or was free and gets it. */
uint64_t preload_hash(const void *data, size_t size);
bool preload_claim(_Atomic uint64_t *key, uint64_t wanted);

static inline void restore_errno(const int *saved)
{
    errno = *saved;
}

/* Restores errno when the function returns. */
#define KEEPS_ERRNO __attribute__((cleanup(restore_errno), unused)) const int saved_errno = errno

/* ---- descriptors: slots.c ---- */

enum slot_state { SLOT_UNKNOWN, SLOT_OTHER, SLOT_STREAM };

/* The state of a descriptor. */
struct slot {
    _Atomic uint8_t state, is_tcp, corked, kind;
    _Atomic uint32_t groups;  /* number of groups that ended */
    _Atomic uint64_t sent_ns; /* time at which the last send returned; 0 after a receive */
};

static inline struct shared_kind *kind_of(const struct slot *slot)
{
    return &preload_shared->kinds[slot->kind];
}

/* The stream connection of a descriptor. NULL if it is none, or its number is SLOTS or higher. */
struct slot *slot_of(int fd);

/* Tracks the descriptor if it is a stream connection, and changes its options. `address` decides
 * its kind; NULL: its own address. */
void slot_open(int fd, enum kind_role role, const struct sockaddr *address, socklen_t size);

/* slot_forget(): clears the state of a descriptor that is new or about to be closed; no effect on
 * -1. slot_copy(): `to` is a copy of `from` by dup(2). */
void slot_forget(int fd);
void slot_copy(int from, int to);

/* The program is about to set an option. False if the override forbids it: do not make the call. */
bool slot_set_option(int fd, int level, int name, int value);

/* Sets the options of the override and returns how many. Before connect(2), so that the sizes of
 * buffers have their full effect. */
unsigned options_change(int fd);

/* Reads the options of a connection into its kind. */
void options_read(int fd, const struct slot *slot);

/* Makes TCP send the bytes that it holds back, unless the program has set TCP_CORK. */
void options_push(int fd, const struct slot *slot);

/* ---- groups of a thread: groups.c ---- */

/* A send of the program with `flags`. The library makes it with the flags `made`. */
struct sending {
    struct slot *slot; /* NULL: not on a stream connection */
    enum counted call;
    int fd, flags, made;
};

/* sending_begin(): before a send of `size` bytes; sends what the thread holds on other connections.
 * sending_end(): after a send that returned `moved`; returns `moved`. */
struct sending sending_begin(int fd, enum counted call, size_t size, int flags);
ssize_t sending_end(const struct sending *sending, ssize_t moved);

/* receiving_begin(): before a receive, which may wait unless the descriptor is a regular file.
 * Returns slot_of(). receiving_end(): after a receive that returned `moved`; returns `moved`.
 * `slot` may be NULL. */
struct slot *receiving_begin(int fd);
ssize_t receiving_end(struct slot *slot, enum counted call, ssize_t moved);

/* thread_waits(): this thread is about to wait. Sends the bytes that it holds and ends its groups.
 * groups_end(): the same for one descriptor (-1: all). */
void thread_waits(void);
void groups_end(int fd);

/* From now on the end of a thread ends its groups, and the child of fork(2) begins without groups.
 * At the end of the process, a destructor ends those of its last thread. */
void groups_start(void);
