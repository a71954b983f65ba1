/* SPDX-License-Identifier: MIT */
/* The groups of each thread (its sends since its last wait), whether held, and their shapes. */
#include "override/preload.h"

#include "base/clock.h"

#include <string.h>
#include <sys/stat.h>

#define OPEN_GROUPS 8 /* of a thread; one more ends all of them */

struct group {
    int fd;
    struct slot *slot;
    uint32_t sends;
    bool held; /* the last send has a MSG_MORE that this library added */
    uint64_t fragments[SHARED_FRAGMENTS];
};

/* `busy`: a signal handler that sends now makes its call, but records nothing. */
static __thread struct {
    volatile bool busy, has_exit_handler;
    unsigned count;
    struct group groups[OPEN_GROUPS];
} thread;

static pthread_key_t at_thread_exit;
static bool has_exit_key;

/* Counts the group in the shape of the same key, in this part of the table. False: it is full. */
static bool shape_count(struct shared_shape *shape, const struct shared_shape *end, const struct group *group,
                        bool rounded)
{
    size_t known = group->sends < SHARED_FRAGMENTS ? group->sends : SHARED_FRAGMENTS;
    size_t size = known * sizeof group->fragments[0];
    uint64_t key = preload_hash(group->fragments, size) ^ group->sends;

    while (shape < end && !preload_claim(&shape->key, key))
        shape++;
    if (shape == end)
        return false;
    if (!shape->groups) { /* two threads may be here at once: they store the same */
        shape->sends = group->sends;
        shape->rounded = rounded;
        memcpy(shape->fragments, group->fragments, size);
    }
    shape->groups++;
    return true;
}

static void group_end(struct group *group)
{
    struct shared_kind *kind = kind_of(group->slot);
    struct shared_shape *rounded = kind->shapes + SHARED_EXACT;

    if (group->held)
        options_push(group->fd, group->slot);
    uint32_t groups = ++group->slot->groups;
    if (!(groups & (groups - 1))) /* after groups 1, 2, 4, 8, ...: a program may set options late */
        options_read(group->fd, group->slot);
    kind->groups++;
    /* By its exact sizes; if that table is full, by sizes rounded up. */
    if (!preload_shared->records_groups || shape_count(kind->shapes, rounded, group, false))
        return;
    for (uint32_t i = 0; i < group->sends && i < SHARED_FRAGMENTS; i++) {
        uint64_t bytes = FRAGMENT_BYTES(group->fragments[i]), power = 1;
        while (power < bytes)
            power *= 2;
        group->fragments[i] += power - bytes;
    }
    if (!shape_count(rounded, kind->shapes + SHARED_SHAPES, group, true))
        kind->other_groups++;
}

void groups_end(int fd)
{
    KEEPS_ERRNO;
    unsigned left = 0;

    if (!thread.count || thread.busy)
        return;
    thread.busy = true;
    for (unsigned i = 0; i < thread.count; i++) {
        if (fd < 0 || thread.groups[i].fd == fd)
            group_end(&thread.groups[i]);
        else
            thread.groups[left++] = thread.groups[i];
    }
    thread.count = left;
    thread.busy = false;
}

__attribute__((destructor)) void thread_waits(void)
{
    groups_end(-1);
}

/* The group of this thread on this descriptor; a new one if there is none. `thread.busy` is set. */
static struct group *group_of(int fd, struct slot *slot)
{
    for (unsigned i = 0; i < thread.count; i++)
        if (thread.groups[i].fd == fd)
            return &thread.groups[i];
    if (thread.count == OPEN_GROUPS) {
        for (unsigned i = 0; i < OPEN_GROUPS; i++)
            group_end(&thread.groups[i]);
        thread.count = 0;
    }
    if (!thread.has_exit_handler && has_exit_key)
        thread.has_exit_handler = pthread_setspecific(at_thread_exit, &thread) == 0;
    thread.groups[thread.count] = (struct group){.fd = fd, .slot = slot};
    return &thread.groups[thread.count++];
}

static void thread_ends(void *unused)
{
    thread_waits();
}

static void forked_child(void)
{
    thread.count = 0;
    thread.busy = false;
}

void groups_start(void)
{
    pthread_atfork(thread_waits, NULL, forked_child);
    has_exit_key = pthread_key_create(&at_thread_exit, thread_ends) == 0;
}

/* ---- sends and receives ---- */

/* A Unix socket does not support MSG_MORE. */
struct sending sending_begin(int fd, enum counted call, size_t size, int flags)
{
    KEEPS_ERRNO;
    struct slot *slot = slot_of(fd);
    struct sending sending = {slot, call, fd, .flags = flags, .made = flags};

    if (!slot || thread.busy)
        return sending;
    for (unsigned i = 0; i < thread.count; i++) {
        struct group *group = &thread.groups[i];
        if (group->fd != fd && group->held)
            options_push(group->fd, group->slot);
        group->held &= group->fd == fd;
    }
    if (!slot->is_tcp || flags & MSG_OOB || !size)
        return sending;
    if (changes(CHANGE_NOMORE))
        sending.made &= ~MSG_MORE;
    if (changes(CHANGE_JOIN) || size <= preload_shared->change.bytes[CHANGE_MORE_POSITION]) /* 0: not MORE */
        sending.made |= MSG_MORE;
    return sending;
}

ssize_t sending_end(const struct sending *sending, ssize_t moved)
{
    KEEPS_ERRNO;
    struct slot *slot = sending->slot;

    if (!slot)
        return moved;
    struct shared_kind *kind = kind_of(slot);
    kind->calls[sending->call]++;
    kind->changed += sending->flags != sending->made;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        kind->would_block++;
        thread_waits();
    }
    if (moved < 0 && errno == ENOTSOCK) /* closed by a call that the library does not see, and reused */
        slot_forget(sending->fd);
    if (moved <= 0 || thread.busy)
        return moved;
    kind->sent_bytes += (uint64_t)moved;
    thread.busy = true;
    struct group *group = group_of(sending->fd, slot);
    if (group->sends < SHARED_FRAGMENTS)
        group->fragments[group->sends] = (uint64_t)moved | (uint64_t)sending->call << FRAGMENT_CALL_SHIFT |
                                         (sending->flags & MSG_MORE ? FRAGMENT_MORE : 0) |
                                         (slot->corked ? FRAGMENT_CORKED : 0);
    group->sends++;
    group->held = sending->made & ~sending->flags & MSG_MORE;
    if (preload_shared->records_groups)
        slot->sent_ns = clock_now_ns();
    thread.busy = false;
    return moved;
}

struct slot *receiving_begin(int fd)
{
    KEEPS_ERRNO;
    struct slot *slot = slot_of(fd);
    struct stat status;
    if (thread.count && (slot || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)))
        thread_waits();
    return slot;
}

ssize_t receiving_end(struct slot *slot, enum counted call, ssize_t moved)
{
    KEEPS_ERRNO;

    if (!slot)
        return moved;
    struct shared_kind *kind = kind_of(slot);
    kind->calls[call]++;
    if (moved <= 0)
        return moved;
    kind->received_bytes += (uint64_t)moved;
    uint64_t sent_ns = atomic_exchange(&slot->sent_ns, 0);
    if (!sent_ns)
        return moved;
    uint64_t waited_ms = (clock_now_ns() - sent_ns) / NS_PER_MS;
    kind->turns++;
    kind->waits_40ms += waited_ms >= 35 && waited_ms <= 90;
    kind->waits_200ms += waited_ms >= 190 && waited_ms <= 290;
    return moved;
}
