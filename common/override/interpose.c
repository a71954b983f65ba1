/* SPDX-License-Identifier: MIT */
/* The functions that replace those of the C library and of GnuTLS: the only exported symbols. */
#include "override/preload.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>

#pragma GCC visibility push(default)

struct gnutls_session;
void __chk_fail(void) __attribute__((noreturn));
void gnutls_record_cork(struct gnutls_session *session);

/* ---- sends ---- */

/* The bytes of a send on a stream connection. 0 for others, which are not changed. */
static size_t message_bytes(int fd, const struct msghdr *message)
{
    size_t count = slot_of(fd) && message->msg_iovlen <= IOV_MAX ? message->msg_iovlen : 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += message->msg_iov[i].iov_len;
    return sum;
}

/* `arguments` has `sending.made` in place of the flags. */
#define SENDS(name, bytes, flags, parameters, arguments)                                                     \
    ssize_t name parameters                                                                                  \
    {                                                                                                        \
        struct sending sending = sending_begin(fd, COUNTED_##name, bytes, flags);                            \
        return sending_end(&sending, next()->name arguments);                                                \
    }

SENDS(sendto, size, flags,
      (int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size),
      (fd, data, size, sending.made, to, to_size))
SENDS(sendmsg, message_bytes(fd, message), flags, (int fd, const struct msghdr *message, int flags),
      (fd, message, sending.made))
SENDS(sendfile, 0, 0, (int fd, int file, off_t *offset, size_t size), (fd, file, offset, size))

#ifdef __LP64__
__attribute__((alias("sendfile"))) __typeof__(sendfile) sendfile64;
#endif

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    return sendto(fd, data, size, flags, NULL, 0); /* as in glibc: both are one system call */
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    size_t most = 0;
    for (unsigned i = 0; slot_of(fd) && i < count; i++) {
        size_t size = message_bytes(fd, &messages[i].msg_hdr);
        most = size > most ? size : most;
    }
    struct sending sending = sending_begin(fd, COUNTED_sendmmsg, most, flags);
    int sent = next()->sendmmsg(fd, messages, count, sending.made);
    for (int i = 0; i < sent; i++)
        sending_end(&sending, messages[i].msg_len);
    return sent < 0 ? (int)sending_end(&sending, sent) : sent;
}

/* write(2) has no flags. To add one, the same bytes are sent by sendto(2) or sendmsg(2). If that
 * fails because the descriptor is no socket, they are written after all. */
ssize_t write(int fd, const void *data, size_t size)
{
    struct sending sending = sending_begin(fd, COUNTED_write, size, 0);
    if (!sending.made)
        return sending_end(&sending, next()->write(fd, data, size));
    ssize_t moved = sending_end(&sending, next()->sendto(fd, data, size, sending.made, NULL, 0));
    return moved < 0 && errno == ENOTSOCK ? next()->write(fd, data, size) : moved;
}

ssize_t writev(int fd, const struct iovec *vector, int count)
{
    struct msghdr message = {.msg_iov = (struct iovec *)vector, .msg_iovlen = (size_t)count};
    struct sending sending = sending_begin(fd, COUNTED_writev, message_bytes(fd, &message), 0);
    if (!sending.made)
        return sending_end(&sending, next()->writev(fd, vector, count));
    ssize_t moved = sending_end(&sending, next()->sendmsg(fd, &message, sending.made));
    return moved < 0 && errno == ENOTSOCK ? next()->writev(fd, vector, count) : moved;
}

/* ---- receives ---- */

#define RECEIVES(type, name, call, parameters, arguments)                                                    \
    type name parameters                                                                                     \
    {                                                                                                        \
        struct slot *slot = receiving_begin(fd);                                                             \
        return (type)receiving_end(slot, COUNTED_##call, next()->name arguments);                            \
    }

RECEIVES(ssize_t, recv, recvfrom, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
RECEIVES(ssize_t, recvfrom, recvfrom,
         (int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *from_size),
         (fd, data, size, flags, from, from_size))
RECEIVES(ssize_t, recvmsg, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
RECEIVES(int, recvmmsg, recvmmsg,
         (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *time),
         (fd, messages, count, flags, time))
RECEIVES(ssize_t, read, read, (int fd, void *data, size_t size), (fd, data, size))
RECEIVES(ssize_t, readv, readv, (int fd, const struct iovec *vector, int count), (fd, vector, count))

/* ---- waits ---- */

/* Counts a call that is not on a stream connection. Returns the functions to make it. */
static const struct next *counts(enum counted call)
{
    const struct next *functions = next();
    if (preload_shared)
        preload_shared->calls[call]++;
    return functions;
}

static const struct next *waits(enum counted call)
{
    thread_waits();
    return counts(call);
}

/* A function that may wait: the thread first sends what it holds. */
#define WAITS(type, name, call, parameters, arguments)                                                       \
    type name parameters                                                                                     \
    {                                                                                                        \
        return waits(COUNTED_##call)->name arguments;                                                        \
    }

#define TIME const struct timespec *
#define MASK const sigset_t *

WAITS(int, poll, poll, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
WAITS(int, ppoll, poll, (struct pollfd * fds, nfds_t count, TIME time, MASK mask), (fds, count, time, mask))
WAITS(int, select, select, (int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *time),
      (count, in, out, other, time))
WAITS(int, pselect, select, (int count, fd_set *in, fd_set *out, fd_set *other, TIME time, MASK mask),
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
WAITS(int, pthread_cond_wait, sleep, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
WAITS(int, pthread_cond_timedwait, sleep, (pthread_cond_t * condition, pthread_mutex_t *mutex, TIME until),
      (condition, mutex, until))
WAITS(int, shutdown, shutdown, (int fd, int how), (fd, how))

/* Functions that a fortified program calls: they end it if the buffer is too small. */
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

/* First tries whether the thread must wait. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int result = next()->pthread_mutex_trylock(mutex);
    if (result != EBUSY)
        return result;
    thread_waits();
    return next()->pthread_mutex_lock(mutex);
}

/* GLib and QEMU wait for a futex by syscall(2). */
long syscall(long number, ...)
{
    long values[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        values[i] = va_arg(arguments, long);
    va_end(arguments);
    thread_waits();
    return next()->syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

/* ---- descriptors and options ---- */

/* A function that returns a new descriptor or -1; `noted` records the descriptor. */
#define MAKES(name, functions, parameters, arguments, noted)                                                 \
    int name parameters                                                                                      \
    {                                                                                                        \
        int made = (functions)->name arguments;                                                              \
        noted;                                                                                               \
        return made;                                                                                         \
    }

MAKES(accept, waits(COUNTED_accept), (int fd, struct sockaddr *address, socklen_t *size), (fd, address, size),
      slot_open(made, ROLE_ACCEPTED, NULL, 0))
MAKES(accept4, waits(COUNTED_accept), (int fd, struct sockaddr *address, socklen_t *size, int flags),
      (fd, address, size, flags), slot_open(made, ROLE_ACCEPTED, NULL, 0))
MAKES(socket, next(), (int family, int type, int protocol), (family, type, protocol), slot_forget(made))
MAKES(dup, next(), (int fd), (fd), slot_copy(fd, made))
MAKES(dup2, next(), (int fd, int copy), (fd, copy), slot_copy(fd, made))
MAKES(dup3, next(), (int fd, int copy, int flags), (fd, copy, flags), slot_copy(fd, made))

int socketpair(int family, int type, int protocol, int fds[2])
{
    int result = next()->socketpair(family, type, protocol, fds);
    for (int i = 0; i < 2 && result == 0; i++)
        slot_forget(fds[i]);
    return result;
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    const struct next *functions = waits(COUNTED_connect);
    options_change(fd);
    int result = functions->connect(fd, address, size);
    if (result == 0 || errno == EINPROGRESS)
        slot_open(fd, ROLE_CONNECTED, address, size);
    return result;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    const struct next *functions = counts(COUNTED_setsockopt);
    if (value && size >= sizeof(int) && !slot_set_option(fd, level, name, *(const int *)value))
        return 0;
    return functions->setsockopt(fd, level, name, value, size);
}

int close(int fd)
{
    const struct next *functions = counts(COUNTED_close);
    slot_forget(fd);
    return functions->close(fd);
}

/* ---- GnuTLS ---- */

/* A plugin may have loaded GnuTLS for itself only: then RTLD_NEXT does not find it. With
 * CHANGE_NOCORK the later uncork has no effect, because the session is not corked. */
void gnutls_record_cork(struct gnutls_session *session)
{
    static void (*cork)(struct gnutls_session * session);

    next();
    if (changes(CHANGE_NOCORK)) {
        preload_shared->tls_corks++;
        return;
    }
    if (!cork) {
        void *found = dlsym(RTLD_NEXT, "gnutls_record_cork");
        void *library = found ? NULL : dlopen("libgnutls.so.30", RTLD_LAZY | RTLD_NOLOAD);
        *(void **)&cork = library ? dlsym(library, "gnutls_record_cork") : found;
    }
    cork(session);
}

#pragma GCC visibility pop
