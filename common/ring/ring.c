/* SPDX-License-Identifier: MIT */
#include "ring/ring.h"

#include "base/clock.h"

#include <limits.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* Not in liburing 2.3 of Debian 12; from include/uapi/linux/io_uring.h of the kernel. */
#define BUNDLE (1u << 4)          /* IORING_RECVSEND_BUNDLE, Linux 6.10 */
#define ZC_REPORT_USAGE (1u << 3) /* IORING_SEND_ZC_REPORT_USAGE, Linux 6.2 */
#define ZC_COPIED (1u << 31)      /* IORING_NOTIF_USAGE_ZC_COPIED, Linux 6.2 */

#define COMPLETIONS_LEAST (2 * RING_REQUESTS)

struct ring {
    struct io_uring uring;
    struct call_counts *counts;
    uint32_t sends;          /* sends queued since the last enter(2) */
    struct ring_slot wakeup; /* an eventfd(2), by which other threads wake this one */
};

/* ---- open and close ---- */

int ring_open(struct ring **ring, const struct ring_setup *setup, struct call_counts *counts)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL |
                 (setup->single_issuer ? IORING_SETUP_SINGLE_ISSUER : 0) |
                 (setup->defer_taskrun ? IORING_SETUP_DEFER_TASKRUN : 0),
        .cq_entries = setup->completions > COMPLETIONS_LEAST ? setup->completions : COMPLETIONS_LEAST};
    struct ring *made = *ring = calloc(1, sizeof *made);
    int result = made ? io_uring_queue_init_params(RING_REQUESTS, &made->uring, &params) : -ENOMEM;

    if (result < 0) {
        free(made);
        *ring = NULL;
        return result;
    }
    made->counts = counts;
    made->wakeup = (struct ring_slot){.ring = made, .number = UINT32_MAX, .file = eventfd(0, EFD_CLOEXEC)};
    result = made->wakeup.file < 0 ? -errno : ring_watch(&made->wakeup, RING_WAKE);
    if (result == 0 && setup->registered_ring)
        result = io_uring_register_ring_fd(&made->uring);
    if (result >= 0)
        return 0;
    ring_close(made);
    *ring = NULL;
    return result;
}

void ring_close(struct ring *ring)
{
    if (!ring)
        return;
    io_uring_queue_exit(&ring->uring);
    if (ring->wakeup.file >= 0)
        close(ring->wakeup.file);
    free(ring);
}

int ring_register_files(struct ring *ring, const int *fds, uint32_t count)
{
    return io_uring_register_files(&ring->uring, fds, count);
}

/* ---- enter ---- */

/* Counts an enter(2), which liburing makes once if it has requests to submit, or must wait for
 * completions. Returns its `result`, but 0 for a signal and a timeout. */
static int count_enter(struct ring *ring, int result)
{
    ring->counts->made[ring->sends ? CALL_ENTER_SENDING : CALL_ENTER_WAITING]++;
    ring->sends = 0;
    return result < 0 && result != -EINTR && result != -ETIME ? result : 0;
}

static int submit(struct ring *ring)
{
    return io_uring_sq_ready(&ring->uring) ? count_enter(ring, io_uring_submit(&ring->uring)) : 0;
}

int ring_enter(struct ring *ring, uint64_t due_ns)
{
    if (io_uring_cq_ready(&ring->uring))
        return submit(ring);
    if (due_ns == UINT64_MAX)
        return count_enter(ring, io_uring_submit_and_wait(&ring->uring, 1));
    uint64_t now_ns = clock_now_ns(), left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    struct __kernel_timespec timeout = {.tv_sec = (long long)(left_ns / NS_PER_S),
                                        .tv_nsec = (long long)(left_ns % NS_PER_S)};
    struct io_uring_cqe *cqe;
    return count_enter(ring, io_uring_submit_and_wait_timeout(&ring->uring, &cqe, 1, &timeout, NULL));
}

int ring_poll(struct ring *ring)
{
    return count_enter(ring, io_uring_submit_and_get_events(&ring->uring));
}

/* ---- user data: kind, token and number of a request ---- */

#define KIND_BITS 8
#define TOKEN_BITS 24

static uint64_t user_data(const struct ring_slot *slot, enum ring_kind kind, uint32_t token)
{
    return (uint64_t)slot->number << (KIND_BITS + TOKEN_BITS) | (uint64_t)token << KIND_BITS | kind;
}

void ring_wake(struct ring *ring)
{
    eventfd_write(ring->wakeup.file, 1);
}

/* The oldest completion or NULL, without the enter(2) that io_uring_peek_cqe(3) may make. */
static struct io_uring_cqe *peek(const struct ring *ring)
{
    struct io_uring_cqe *cqe;
    unsigned head;
    io_uring_for_each_cqe(&ring->uring, head, cqe)
    {
        return cqe;
    }
    return NULL;
}

/* A RING_WAKE event re-arms the wakeup. */
bool ring_next(struct ring *ring, struct ring_event *event)
{
    struct io_uring_cqe *cqe = peek(ring);
    eventfd_t times;

    if (!cqe)
        return false;
    bool is_notification = cqe->flags & IORING_CQE_F_NOTIF;
    uint64_t data = cqe->user_data;
    *event = (struct ring_event){.kind = (enum ring_kind)(data & ((1u << KIND_BITS) - 1)),
                                 .number = (uint32_t)(data >> (KIND_BITS + TOKEN_BITS)),
                                 .user_data = data,
                                 .completion = {.result = is_notification ? 0 : cqe->res,
                                                .token = (uint32_t)(data >> KIND_BITS) & REQUEST_TOKEN_MAX,
                                                .more = cqe->flags & IORING_CQE_F_MORE,
                                                .is_notification = is_notification,
                                                .copied = is_notification && (uint32_t)cqe->res & ZC_COPIED,
                                                .buffer = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT)}};
    io_uring_cqe_seen(&ring->uring, cqe);
    ring->counts->completions++;
    if (event->kind == RING_WAKE && eventfd_read(ring->wakeup.file, &times) == 0)
        ring_watch(&ring->wakeup, RING_WAKE);
    return true;
}

void ring_merge(struct ring *ring, struct ring_event *event, const struct recv_buffers *buffers)
{
    const struct pool *pool = buffers->pool;
    struct completion *completion = &event->completion;
    uint16_t buffer = completion->buffer;
    int last = completion->result; /* bytes in `buffer` */

    while (!pool->headroom && last == (int)pool->size) {
        struct io_uring_cqe *cqe = peek(ring);
        buffer = recv_buffers_after(buffers, buffer);
        if (!cqe || cqe->res <= 0 || cqe->user_data != event->user_data ||
            cqe->flags >> IORING_CQE_BUFFER_SHIFT != buffer || cqe->res > INT_MAX - completion->result)
            return;
        last = cqe->res;
        completion->result += last;
        completion->more = cqe->flags & IORING_CQE_F_MORE;
        io_uring_cqe_seen(&ring->uring, cqe);
        ring->counts->completions++;
    }
}

/* ---- requests ---- */

/* The next free entry, or NULL with errno. Submits first if fewer than `room` entries are free. */
static struct io_uring_sqe *next_entry(struct ring *ring, enum ring_kind kind, uint32_t room)
{
    int result = io_uring_sq_space_left(&ring->uring) < room ? submit(ring) : 0;
    if (result < 0) {
        errno = -result;
        return NULL;
    }
    ring->sends += kind == RING_SEND;
    ring->counts->requests++;
    errno = EAGAIN; /* if the kernel has taken nothing */
    return io_uring_get_sqe(&ring->uring);
}

/* Returns 0, or a negative errno value if there was no entry. */
static int finish_entry(struct io_uring_sqe *entry, const struct ring_slot *slot, enum ring_kind kind,
                        uint32_t token)
{
    if (!entry)
        return -errno;
    entry->flags |= slot->registered ? IOSQE_FIXED_FILE : 0;
    entry->user_data = user_data(slot, kind, token);
    return 0;
}

int ring_send(struct ring_slot *slot, const struct send_request *request)
{
    const struct msghdr *message = request->message;
    const struct iovec *vector = message ? message->msg_iov : NULL;
    unsigned options = request->options;
    int flags = request->flags | MSG_NOSIGNAL;
    struct io_uring_sqe *entry = next_entry(slot->ring, RING_SEND, request->chain ? request->chain : 1);

    if (!entry)
        return -errno;
    if (!message)
        io_uring_prep_send(entry, slot->file, request->data, request->size, flags);
    else if (!(options & SEND_ZEROCOPY))
        io_uring_prep_sendmsg(entry, slot->file, message, (unsigned)flags);
    else if (message->msg_iovlen == 1)
        io_uring_prep_send_zc(entry, slot->file, vector->iov_base, vector->iov_len, flags, 0);
    else
        io_uring_prep_sendmsg_zc(entry, slot->file, message, (unsigned)flags);
    entry->ioprio |=
        (uint16_t)((options & SEND_ZEROCOPY ? ZC_REPORT_USAGE : 0) | (options & SEND_BUNDLE ? BUNDLE : 0));
    entry->flags |= (uint8_t)((options & SEND_LINK ? IOSQE_IO_LINK : 0) |
                              (options & SEND_SILENT ? IOSQE_CQE_SKIP_SUCCESS : 0));
    if (options & SEND_PROVIDED) {
        entry->flags |= IOSQE_BUFFER_SELECT;
        entry->buf_group = slot->outgoing.group;
    }
    return finish_entry(entry, slot, RING_SEND, request->token);
}

_Static_assert(sizeof(struct io_uring_recvmsg_out) == RECEIVE_HEADER, "size of the header");

/* A single-shot receive writes no header, so it is a RECV in both cases. */
int ring_receive(struct ring_slot *slot, unsigned options)
{
    static struct msghdr no_address;
    struct io_uring_sqe *entry = next_entry(slot->ring, RING_RECEIVE, 1);

    if (!entry)
        return -errno;
    slot->receives = slot->ending ? 0 : options & RECEIVE_MESSAGE;
    if (slot->receives)
        io_uring_prep_recvmsg_multishot(entry, slot->file, &no_address, 0);
    else if (slot->ending)
        io_uring_prep_recv(entry, slot->file, NULL, slot->recv_buffers->pool->size, 0);
    else
        io_uring_prep_recv_multishot(entry, slot->file, NULL, 0, 0);
    entry->ioprio |= options & RECEIVE_BUNDLE ? BUNDLE : 0;
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = RECV_GROUP;
    return finish_entry(entry, slot, RING_RECEIVE, slot->receives);
}

int ring_watch(struct ring_slot *slot, enum ring_kind kind)
{
    static const unsigned events[] = {[RING_READABLE] = POLLIN,
                                      [RING_WRITABLE] = POLLOUT,
                                      [RING_HALF_CLOSED] = POLLRDHUP,
                                      [RING_ERROR] = POLLERR,
                                      [RING_WAKE] = POLLIN};
    struct io_uring_sqe *entry = next_entry(slot->ring, kind, 1);

    if (entry)
        io_uring_prep_poll_add(entry, slot->file, events[kind]);
    return finish_entry(entry, slot, kind, 0);
}

int ring_connect(struct ring_slot *slot, const struct sockaddr *address, socklen_t size)
{
    struct io_uring_sqe *entry = next_entry(slot->ring, RING_CONNECT, 1);
    if (entry)
        io_uring_prep_connect(entry, slot->file, address, size);
    return finish_entry(entry, slot, RING_CONNECT, 0);
}

/* On a registered file the request also has its flag, which only Linux 5.19 or later ignores in a
 * cancel. Older kernels have no receive that is cancelled there. */
int ring_cancel(struct ring_slot *slot, enum ring_kind kind)
{
    struct io_uring_sqe *entry = next_entry(slot->ring, RING_CANCEL, 1);
    if (entry)
        io_uring_prep_cancel64(entry, user_data(slot, kind, kind == RING_RECEIVE ? slot->receives : 0), 0);
    return finish_entry(entry, slot, RING_CANCEL, 0);
}

/* ---- provided buffers ---- */

_Static_assert(sizeof(struct io_uring_buf) == RING_BUFFER_BYTES, "size of an entry");

static int register_buffers(struct ring *ring, const struct ring_buffers *buffers)
{
    struct io_uring_buf_reg registration = {.ring_addr = (uint64_t)(uintptr_t)buffers->ring,
                                            .ring_entries = buffers->count,
                                            .bgid = buffers->group};
    io_uring_buf_ring_init(buffers->ring);
    return io_uring_register_buf_ring(&ring->uring, &registration, 0);
}

int ring_buffers_open(struct ring *ring, struct ring_buffers *buffers, uint16_t group, uint32_t count)
{
    void *memory = mmap(NULL, count * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE,
                        MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    *buffers = (struct ring_buffers){.ring = memory, .count = count, .group = group};
    return register_buffers(ring, buffers);
}

int ring_buffers_empty(struct ring *ring, struct ring_buffers *buffers)
{
    int result = io_uring_unregister_buf_ring(&ring->uring, buffers->group);
    return result < 0 ? result : register_buffers(ring, buffers);
}

void ring_buffers_close(struct ring_buffers *buffers)
{
    if (buffers->ring)
        munmap(buffers->ring, buffers->count * sizeof(struct io_uring_buf));
    buffers->ring = NULL;
}

void ring_buffers_add(struct ring_buffers *buffers, const void *data, uint32_t size, uint16_t number,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        io_uring_buf_ring_add(buffers->ring, (uint8_t *)(uintptr_t)data + (size_t)i * size, size,
                              (uint16_t)(number + i), io_uring_buf_ring_mask(buffers->count),
                              buffers->added++);
}

void ring_buffers_publish(struct ring_buffers *buffers)
{
    io_uring_buf_ring_advance(buffers->ring, buffers->added);
    buffers->added = 0;
}

/* ---- receive buffers of a thread ---- */

static void on_release(void *owner, uint32_t number, uint32_t count)
{
    struct recv_buffers *buffers = owner;
    const struct pool *pool = buffers->pool;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = recv_buffers_place(buffers, buffers->added++);
        buffers->order[place] = (uint16_t)(number + i);
        buffers->places[number + i] = (uint16_t)place;
    }
    ring_buffers_add(&buffers->ring, pool_buffer(pool, number) - pool->headroom,
                     (uint32_t)(pool->size + pool->headroom), (uint16_t)number, count);
}

int recv_buffers_open(struct recv_buffers *buffers, struct ring *ring, struct pool *pool)
{
    *buffers = (struct recv_buffers){.pool = pool};
    buffers->order = calloc(3 * (size_t)pool->count, sizeof *buffers->order);
    if (!buffers->order)
        return -ENOMEM;
    buffers->places = buffers->order + 2 * (size_t)pool->count;
    int result = ring_buffers_open(ring, &buffers->ring, RECV_GROUP, pool->count);
    if (result < 0)
        return result;
    pool->spare_count = 0;
    on_release(buffers, 0, pool->count);
    ring_buffers_publish(&buffers->ring);
    pool->on_release = on_release;
    pool->owner = buffers;
    return 0;
}

void recv_buffers_close(struct recv_buffers *buffers)
{
    ring_buffers_close(&buffers->ring);
    free(buffers->order);
    *buffers = (struct recv_buffers){0};
}

size_t recv_buffers_take(struct recv_buffers *buffers, uint16_t *number, size_t size, const uint8_t **data)
{
    const struct pool *pool = buffers->pool;
    uint32_t first = *number, count = 0;
    size_t taken = 0;

    *data = pool_buffer(pool, first);
    do {
        *number = recv_buffers_after(buffers, *number);
        taken += pool->size;
        count++;
    } while (taken < size && !pool->headroom && taken + pool->size <= SPAN_BYTES_MAX &&
             *number == first + count);
    buffers->taken += count;
    return size < taken ? size : taken;
}

void recv_buffers_align(struct recv_buffers *buffers, struct completion *completion)
{
    struct pool *pool = buffers->pool;
    uint16_t number = completion->buffer;
    uint8_t *bytes = pool_buffer(pool, number);
    const uint8_t *data;

    if (!pool->headroom || completion->result <= 0)
        return;
    if (completion->token != RECEIVE_MESSAGE) {
        memmove(bytes, bytes - pool->headroom, (size_t)completion->result);
    } else if ((completion->result -= (int)RECEIVE_HEADER) == 0) {
        recv_buffers_take(buffers, &number, 0, &data);
        pool_release(pool, data, 0);
    }
}
