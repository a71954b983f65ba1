/* SPDX-License-Identifier: MIT */
#include "base/calls.h"

#ifdef __linux__
#include <sys/sendfile.h>

static ssize_t send_file(int fd, int file, off_t offset, size_t size)
{
    return sendfile(fd, file, &offset, size);
}
#endif

#define CALL_INFO(kind, name, path) [kind] = {name, path},
const struct call_info call_infos[CALL_KIND_COUNT] = {CALL_KINDS(CALL_INFO)};

const struct call_table calls_of_sockets = {
    .send = send,
    .sendmsg = sendmsg,
    .recv = recv,
    .setsockopt = setsockopt,
#ifdef __linux__ /* elsewhere memory_open(), zerocopy_enable() and mapping_open() fail before these */
    .sendfile = send_file,
    .take_notification = zerocopy_take_notification,
    .map = mapping_receive,
#endif
};

static ssize_t nothing_send(int fd, const void *data, size_t size, int flags)
{
    return (ssize_t)size;
}

static ssize_t nothing_sendfile(int fd, int file, off_t offset, size_t size)
{
    return (ssize_t)size;
}

static ssize_t nothing_recv(int fd, void *data, size_t size, int flags)
{
    return (ssize_t)size;
}

static ssize_t nothing_sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t sum = 0;
    for (size_t i = 0; i < (size_t)message->msg_iovlen; i++)
        sum += (ssize_t)message->msg_iov[i].iov_len;
    return sum;
}

/* Reports that the kernel has released every send. */
static int nothing_take_notification(int fd, struct zerocopy_notification *notification)
{
    *notification = (struct zerocopy_notification){.first = 0, .last = UINT32_MAX};
    return 0;
}

static int nothing_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    return 0;
}

const struct call_table calls_of_nothing = {
    .send = nothing_send,
    .sendmsg = nothing_sendmsg,
    .sendfile = nothing_sendfile,
    .take_notification = nothing_take_notification,
    .recv = nothing_recv,
    .setsockopt = nothing_setsockopt,
};

uint64_t calls_count_path(const struct call_counts *counts, enum call_path path)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
        if (call_infos[kind].path == path)
            sum += counts->made[kind];
    return sum;
}

struct call_counts calls_add(const struct call_counts *a, const struct call_counts *b, int times)
{
    uint64_t factor = (uint64_t)times;
    struct call_counts sum;
    for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
        sum.made[kind] = a->made[kind] + factor * b->made[kind];
#define ADD(name) sum.name = a->name + factor * b->name;
    CALL_NOTES(ADD)
    return sum;
}
