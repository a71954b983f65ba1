/* SPDX-License-Identifier: MIT */
/* Tests by effect what the io_uring of this kernel does. */
#include "base/clock.h"
#include "ring/ring.h"

#include <string.h>

#define PIECE 4u  /* bytes of a buffer */
#define PIECES 4u /* buffers */
#define COMPLETES_WITHIN_NS (150 * NS_PER_MS)

static const uint8_t pieces[PIECES][PIECE] = {"abc", "def", "ghi", "jkl"};

struct trial {
    struct ring *ring;
    struct call_counts counts;
    struct pool pool;
    struct recv_buffers recv_buffers;
    struct ring_slot from, to;
    struct ring_event event; /* the last completion */
};

static bool completes(struct trial *trial, enum ring_kind kind, size_t bytes)
{
    uint64_t until_ns = clock_now_ns() + COMPLETES_WITHIN_NS;
    while (!ring_next(trial->ring, &trial->event))
        if (clock_now_ns() >= until_ns || ring_enter(trial->ring, until_ns) < 0)
            return false;
    return trial->event.kind == kind && trial->event.completion.result == (int)bytes;
}

static bool send_pieces(const struct trial *trial, size_t bytes)
{
    return send(trial->from.file, pieces, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* A bundle gets what has arrived before. Another multishot receive gets two pieces one by one. */
static bool test_receive(struct trial *trial, unsigned options)
{
    size_t header = options & RECEIVE_MESSAGE ? RECEIVE_HEADER : 0, bytes = (PIECES - 1) * PIECE;
    bool bundle = options & RECEIVE_BUNDLE;
    bool holds = (!bundle || send_pieces(trial, bytes)) &&
                 pool_open(&trial->pool, PIECE, header, PIECES) == 0 &&
                 recv_buffers_open(&trial->recv_buffers, trial->ring, &trial->pool) == 0 &&
                 ring_receive(&trial->to, options) == 0 && ring_poll(trial->ring) == 0;

    if (bundle)
        return holds && completes(trial, RING_RECEIVE, bytes);
    for (int i = 0; i < 2 && holds; i++)
        holds = send_pieces(trial, PIECE) && completes(trial, RING_RECEIVE, header + PIECE) &&
                trial->event.completion.more;
    return holds;
}

/* The request sends exactly these bytes. Zero-copy is followed by a notification. */
static bool test_send(struct trial *trial, unsigned options)
{
    bool zerocopy = options & SEND_ZEROCOPY;
    size_t sent = options & SEND_BUNDLE ? sizeof pieces : zerocopy ? 2 * PIECE : PIECE;
    struct iovec vectors[2] = {{(void *)(uintptr_t)pieces[0], PIECE}, {(void *)(uintptr_t)pieces[1], PIECE}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    struct send_request request = {
        .message = zerocopy ? &message : NULL, .flags = MSG_WAITALL, .options = options};
    uint8_t bytes[sizeof pieces + 1];

    if (options & SEND_PROVIDED) {
        if (ring_buffers_open(trial->ring, &trial->from.outgoing, 1, PIECES) < 0)
            return false;
        ring_buffers_add(&trial->from.outgoing, pieces, PIECE, 0, PIECES);
        ring_buffers_publish(&trial->from.outgoing);
    }
    return ring_send(&trial->from, &request) == 0 && completes(trial, RING_SEND, sent) &&
           recv(trial->to.file, bytes, sizeof bytes, MSG_DONTWAIT) == (ssize_t)sent &&
           !memcmp(bytes, pieces, sent) &&
           (!zerocopy || (completes(trial, RING_SEND, 0) && trial->event.completion.is_notification));
}

int ring_has(bool sends, unsigned options, int from, int to)
{
    struct ring_setup setup = {.completions = 64};
    struct trial trial = {.from.file = from,
                          .to = {.number = 1, .file = to, .recv_buffers = &trial.recv_buffers}};
    int result = ring_open(&trial.ring, &setup, &trial.counts);

    if (result == -ENOMEM || result == -EAGAIN || result == -EMFILE || result == -ENFILE)
        return result;
    if (result < 0)
        return 0;
    trial.from.ring = trial.to.ring = trial.ring;
    result = (sends ? test_send : test_receive)(&trial, options);
    ring_close(trial.ring);
    recv_buffers_close(&trial.recv_buffers);
    ring_buffers_close(&trial.from.outgoing);
    pool_close(&trial.pool);
    return result;
}
