/* SPDX-License-Identifier: MIT */
/* The functions that stand before those of the C library and of GnuTLS; only they are visible. */
#include "override/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/syscall.h>

#pragma GCC visibility push(default)

void __chk_fail(void) __attribute__((noreturn));
void gnutls_record_cork(preload_session session);
int gnutls_record_uncork(preload_session session, unsigned flags);

/* ---- sends ---- */

static size_t vector_bytes(const struct iovec *vector, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += vector[i].iov_len;
    return sum;
}

static ssize_t send_on(struct slot *slot, enum counted call, int fd, const void *data, size_t size, int flags,
                       const struct sockaddr *to, socklen_t to_size)
{
    int made = slot_flags(slot, size, flags);

    slot_sends(fd);
    return slot_sent(fd, slot, call, next()->sendto(fd, data, size, made, to, to_size), flags, made);
}

static ssize_t sendmsg_on(struct slot *slot, enum counted call, int fd, const struct msghdr *message,
                          int flags)
{
    int made = slot_flags(slot, vector_bytes(message->msg_iov, message->msg_iovlen), flags);

    slot_sends(fd);
    return slot_sent(fd, slot, call, next()->sendmsg(fd, message, made), flags, made);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    struct slot *slot = slot_of(fd);

    return slot ? send_on(slot, COUNTED_sendto, fd, data, size, flags, NULL, 0)
                : next()->send(fd, data, size, flags);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size)
{
    struct slot *slot = slot_of(fd);

    return slot ? send_on(slot, COUNTED_sendto, fd, data, size, flags, to, to_size)
                : next()->sendto(fd, data, size, flags, to, to_size);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct slot *slot = slot_of(fd);

    return slot ? sendmsg_on(slot, COUNTED_sendmsg, fd, message, flags) : next()->sendmsg(fd, message, flags);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    struct slot *slot = slot_of(fd);
    size_t most = 0;
    int made, sent;

    if (!slot)
        return next()->sendmmsg(fd, messages, count, flags);
    for (unsigned i = 0; i < count; i++) {
        size_t size = vector_bytes(messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen);

        most = size > most ? size : most;
    }
    made = slot_flags(slot, most, flags);
    slot_sends(fd);
    sent = next()->sendmmsg(fd, messages, count, made);
    for (int i = 0; i < sent; i++)
        slot_sent(fd, slot, COUNTED_sendmmsg, messages[i].msg_len, flags, made);
    if (sent < 0)
        slot_sent(fd, slot, COUNTED_sendmmsg, -1, flags, made);
    return sent;
}

/* False where the descriptor is no socket any more: the program closed it by a call that is not seen,
 * like fclose(3), and has opened something else. */
static bool was_socket(int fd, ssize_t moved)
{
    if (moved >= 0 || errno != ENOTSOCK)
        return true;
    slot_forget(fd);
    return false;
}

/* write(2) has no flags: where one is added, the same bytes leave by sendto(2) or sendmsg(2). */
ssize_t write(int fd, const void *data, size_t size)
{
    struct slot *slot = slot_of(fd);

    if (!slot)
        return next()->write(fd, data, size);
    if (size && slot_flags(slot, size, 0)) {
        ssize_t moved = send_on(slot, COUNTED_write, fd, data, size, 0, NULL, 0);

        return was_socket(fd, moved) ? moved : next()->write(fd, data, size);
    }
    slot_sends(fd);
    return slot_sent(fd, slot, COUNTED_write, next()->write(fd, data, size), 0, 0);
}

ssize_t writev(int fd, const struct iovec *vector, int count)
{
    struct msghdr message = {.msg_iov = (struct iovec *)vector, .msg_iovlen = (size_t)count};
    struct slot *slot = slot_of(fd);

    if (!slot)
        return next()->writev(fd, vector, count);
    if (count > 0 && slot_flags(slot, vector_bytes(vector, (size_t)count), 0)) {
        ssize_t moved = sendmsg_on(slot, COUNTED_writev, fd, &message, 0);

        return was_socket(fd, moved) ? moved : next()->writev(fd, vector, count);
    }
    slot_sends(fd);
    return slot_sent(fd, slot, COUNTED_writev, next()->writev(fd, vector, count), 0, 0);
}

ssize_t sendfile(int fd, int file, off_t *offset, size_t size)
{
    struct slot *slot = slot_of(fd);

    if (!slot)
        return next()->sendfile(fd, file, offset, size);
    slot_sends(fd);
    return slot_sent(fd, slot, COUNTED_sendfile, next()->sendfile(fd, file, offset, size), 0, 0);
}

#ifdef __LP64__
__attribute__((alias("sendfile"))) __typeof__(sendfile) sendfile64;
#endif

/* ---- receives ---- */

/* The connection to receive from; NULL where it is none. A thread that receives may wait. */
static struct slot *receives(int fd)
{
    struct slot *slot = slot_of(fd);

    preload_receives(slot ? -1 : fd);
    return slot;
}

static ssize_t received(struct slot *slot, enum counted call, ssize_t moved)
{
    return slot ? slot_received(slot, call, moved) : moved;
}

#define RECEIVES(type, name, call, parameters, arguments)                                                    \
    type name parameters                                                                                     \
    {                                                                                                        \
        struct slot *slot = receives(fd);                                                                    \
                                                                                                             \
        return (type)received(slot, COUNTED_##call, next()->name arguments);                                 \
    }

RECEIVES(ssize_t, recv, recvfrom, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
RECEIVES(ssize_t, recvfrom, recvfrom,
         (int fd, void *restrict data, size_t size, int flags, struct sockaddr *restrict from,
          socklen_t *restrict from_size),
         (fd, data, size, flags, from, from_size))
RECEIVES(ssize_t, recvmsg, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
RECEIVES(int, recvmmsg, recvmmsg,
         (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *time),
         (fd, messages, count, flags, time))
RECEIVES(ssize_t, read, read, (int fd, void *data, size_t size), (fd, data, size))
RECEIVES(ssize_t, readv, readv, (int fd, const struct iovec *vector, int count), (fd, vector, count))

/* ---- waits ---- */

static const struct next *waits(enum counted call)
{
    const struct next *functions = next();

    preload_count(call);
    preload_waits();
    return functions;
}

/* A function before which a thread sends what it holds. */
#define WAITS(type, name, call, parameters, arguments)                                                       \
    type name parameters                                                                                     \
    {                                                                                                        \
        return waits(COUNTED_##call)->name arguments;                                                        \
    }

#define TIME const struct timespec *
#define MASK const sigset_t *

WAITS(int, poll, poll, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
WAITS(int, ppoll, poll, (struct pollfd * fds, nfds_t count, TIME time, MASK mask), (fds, count, time, mask))
WAITS(int, select, select,
      (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
       struct timeval *restrict time),
      (count, in, out, other, time))
WAITS(int, pselect, select,
      (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other, TIME restrict time,
       MASK restrict mask),
      (count, in, out, other, time, mask))
WAITS(int, epoll_wait, epoll_wait, (int fd, struct epoll_event *events, int count, int ms),
      (fd, events, count, ms))
WAITS(int, epoll_pwait, epoll_wait, (int fd, struct epoll_event *events, int count, int ms, MASK mask),
      (fd, events, count, ms, mask))
WAITS(int, epoll_pwait2, epoll_wait, (int fd, struct epoll_event *events, int count, TIME time, MASK mask),
      (fd, events, count, time, mask))
WAITS(int, nanosleep, sleep, (TIME time, struct timespec *left), (time, left))
WAITS(int, clock_nanosleep, sleep, (clockid_t clock, int flags, TIME time, struct timespec *left),
      (clock, flags, time, left))
WAITS(int, usleep, sleep, (useconds_t time), (time))
WAITS(unsigned, sleep, sleep, (unsigned seconds), (seconds))
WAITS(int, pause, sleep, (void), ())
WAITS(pid_t, waitpid, sleep, (pid_t pid, int *status, int options), (pid, status, options))
WAITS(int, sem_wait, sleep, (sem_t * semaphore), (semaphore))
WAITS(int, pthread_join, sleep, (pthread_t id, void **result), (id, result))
WAITS(int, pthread_cond_wait, sleep, (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex),
      (condition, mutex))
WAITS(int, pthread_cond_timedwait, sleep,
      (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, TIME restrict until),
      (condition, mutex, until))
WAITS(int, shutdown, shutdown, (int fd, int how), (fd, how))

/* What a fortified program calls: it ends where the buffer has less room. */
#define CHECKED(type, name, checked, parameters, fits, arguments)                                            \
    type checked parameters;                                                                                 \
    type checked parameters                                                                                  \
    {                                                                                                        \
        if (!(fits))                                                                                         \
            __chk_fail();                                                                                    \
        return name arguments;                                                                               \
    }

CHECKED(ssize_t, recv, __recv_chk, (int fd, void *data, size_t size, size_t room, int flags), size <= room,
        (fd, data, size, flags))
CHECKED(ssize_t, recvfrom, __recvfrom_chk,
        (int fd, void *data, size_t size, size_t room, int flags, struct sockaddr *from,
         socklen_t *from_size),
        size <= room, (fd, data, size, flags, from, from_size))
CHECKED(ssize_t, read, __read_chk, (int fd, void *data, size_t size, size_t room), size <= room,
        (fd, data, size))
CHECKED(int, poll, __poll_chk, (struct pollfd * fds, nfds_t count, int ms, size_t room),
        count <= room / sizeof *fds, (fds, count, ms))
CHECKED(int, ppoll, __ppoll_chk, (struct pollfd * fds, nfds_t count, TIME time, MASK mask, size_t room),
        count <= room / sizeof *fds, (fds, count, time, mask))

/* A thread that has sent something looks first whether it must wait. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (preload_has_sent()) {
        int result = next()->pthread_mutex_trylock(mutex);

        if (result != EBUSY)
            return result;
        preload_waits();
    }
    return next()->pthread_mutex_lock(mutex);
}

/* GLib and QEMU wait for a futex by this. */
long syscall(long number, ...)
{
    long values[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        values[i] = va_arg(arguments, long);
    va_end(arguments);
#ifdef SYS_io_uring_setup
    if (number == SYS_io_uring_setup && next() && preload_shared)
        atomic_fetch_add(&preload_shared->rings, 1);
#endif
    preload_waits();
    return next()->syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

/* ---- descriptors and options ---- */

static int accepted(int fd)
{
    if (fd >= 0) {
        slot_forget(fd);
        slot_accepted(fd);
    }
    return fd;
}

int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict size)
{
    return accepted(waits(COUNTED_accept)->accept(fd, address, size));
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict size, int flags)
{
    return accepted(waits(COUNTED_accept)->accept4(fd, address, size, flags));
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    const struct next *functions = waits(COUNTED_connect);
    int result;

    slot_connects(fd, address);
    result = functions->connect(fd, address, size);
    if (result == 0 || errno == EINPROGRESS)
        slot_connected(fd, address, size);
    return result;
}

static int made(int fd)
{
    if (fd >= 0)
        slot_forget(fd);
    return fd;
}

int socket(int family, int type, int protocol)
{
    return made(next()->socket(family, type, protocol));
}

int socketpair(int family, int type, int protocol, int fds[2])
{
    int result = next()->socketpair(family, type, protocol, fds);

    if (result == 0) {
        made(fds[0]);
        made(fds[1]);
    }
    return result;
}

static int copied(int fd, int copy)
{
    slot_copy(fd, copy);
    return copy;
}

int dup(int fd)
{
    return copied(fd, next()->dup(fd));
}

int dup2(int fd, int copy)
{
    return copied(fd, next()->dup2(fd, copy));
}

int dup3(int fd, int copy, int flags)
{
    return copied(fd, next()->dup3(fd, copy, flags));
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    const struct next *functions = next();

    preload_count(COUNTED_setsockopt);
    if (value && size >= sizeof(int) && !slot_set_option(fd, level, name, *(const int *)value))
        return 0;
    return functions->setsockopt(fd, level, name, value, size);
}

int close(int fd)
{
    const struct next *functions = next();

    preload_count(COUNTED_close);
    slot_forget(fd);
    return functions->close(fd);
}

/* ---- GnuTLS ---- */

/* A function of GnuTLS, also where a plugin loaded the library for itself. */
static void *gnutls_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    void *library = found ? NULL : dlopen("libgnutls.so.30", RTLD_LAZY | RTLD_NOLOAD);

    return library ? dlsym(library, name) : found;
}

void gnutls_record_cork(preload_session session)
{
    static void (*cork)(preload_session session);

    next();
    if (changes(CHANGE_NOCORK)) {
        atomic_fetch_add(&preload_shared->tls_corks, 1);
        return;
    }
    if (!cork)
        *(void **)&cork = gnutls_function("gnutls_record_cork");
    cork(session);
}

/* Of a session that is not corked GnuTLS sends nothing and returns 0. */
int gnutls_record_uncork(preload_session session, unsigned flags)
{
    static int (*uncork)(preload_session session, unsigned flags);

    if (!uncork)
        *(void **)&uncork = gnutls_function("gnutls_record_uncork");
    return uncork(session, flags);
}

#pragma GCC visibility pop
