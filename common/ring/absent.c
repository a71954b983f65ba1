/* SPDX-License-Identifier: MIT */
/* For builds without liburing and systems other than Linux: ring_open() fails, so nothing else is
 * called. */
#include "ring/ring.h"

#include <stdio.h>

int ring_open(struct ring **ring, const struct ring_setup *setup, struct call_counts *counts)
{
    (void)setup, (void)counts;
    *ring = NULL;
    return -ENOSYS;
}

void ring_close(struct ring *ring)
{
    (void)ring;
}

void ring_explain(int result, char *text, size_t size)
{
    (void)result;
    snprintf(text, size, "this build has no liburing");
}

int ring_register_files(struct ring *ring, const int *fds, uint32_t count)
{
    (void)ring, (void)fds, (void)count;
    return -ENOSYS;
}

void ring_wake(struct ring *ring)
{
    (void)ring;
}

int ring_enter(struct ring *ring, bool wait, uint64_t due_ns)
{
    (void)ring, (void)wait, (void)due_ns;
    return -ENOSYS;
}

int ring_poll(struct ring *ring)
{
    (void)ring;
    return -ENOSYS;
}

bool ring_next(struct ring *ring, struct ring_event *event)
{
    (void)ring, (void)event;
    return false;
}

int ring_reserve(struct ring *ring, uint32_t count)
{
    (void)ring, (void)count;
    return -ENOSYS;
}

int ring_send(struct ring_slot *slot, const void *data, size_t size, int flags, unsigned options,
              uint32_t token)
{
    (void)slot, (void)data, (void)size, (void)flags, (void)options, (void)token;
    return -ENOSYS;
}

int ring_sendmsg(struct ring_slot *slot, const struct msghdr *message, int flags, unsigned options,
                 uint32_t token)
{
    (void)slot, (void)message, (void)flags, (void)options, (void)token;
    return -ENOSYS;
}

int ring_send_zc(struct ring_slot *slot, const struct msghdr *message, int flags, uint32_t token)
{
    (void)slot, (void)message, (void)flags, (void)token;
    return -ENOSYS;
}

int ring_send_buffers(struct ring_slot *slot, bool bundle, int flags, unsigned options, uint32_t token)
{
    (void)slot, (void)bundle, (void)flags, (void)options, (void)token;
    return -ENOSYS;
}

int ring_receive(struct ring_slot *slot, uint16_t group, bool bundle)
{
    (void)slot, (void)group, (void)bundle;
    return -ENOSYS;
}

int ring_watch(struct ring_slot *slot, enum ring_kind kind)
{
    (void)slot, (void)kind;
    return -ENOSYS;
}

int ring_connect(struct ring_slot *slot, const struct sockaddr *address, socklen_t size)
{
    (void)slot, (void)address, (void)size;
    return -ENOSYS;
}

int ring_cancel(struct ring_slot *slot, enum ring_kind kind)
{
    (void)slot, (void)kind;
    return -ENOSYS;
}

int ring_buffers_open(struct ring *ring, struct ring_buffers *buffers, uint16_t group, uint32_t count)
{
    (void)ring, (void)buffers, (void)group, (void)count;
    return -ENOSYS;
}

int ring_buffers_empty(struct ring *ring, struct ring_buffers *buffers)
{
    (void)ring, (void)buffers;
    return -ENOSYS;
}

void ring_buffers_close(struct ring_buffers *buffers)
{
    (void)buffers;
}

void ring_buffers_add(struct ring_buffers *buffers, const void *data, uint32_t size, uint16_t number)
{
    (void)buffers, (void)data, (void)size, (void)number;
}

void ring_buffers_publish(struct ring_buffers *buffers)
{
    (void)buffers;
}
