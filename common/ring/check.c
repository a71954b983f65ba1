/* SPDX-License-Identifier: MIT */
#include "ring/check.h"

#include "base/clock.h"
#include "base/pool.h"
#include "base/scan.h"
#include "ring/recv_buffers.h"

#include <stdio.h>
#include <string.h>

/* ---- availability ---- */

#define NOT_USABLE "io_uring cannot be used here: "

/* Reports why ring_open() returned `result`, as far as the system tells. */
static int refuse(int result, struct problem *problem)
{
    const char *why = strerror(-result);
    int disabled = 0;

    scan_file("/proc/sys/kernel/io_uring_disabled", 1, "%d", &disabled);
    if (result == -EPERM && disabled)
        return problem_unsupported(problem,
                                   NOT_USABLE "kernel.io_uring_disabled is %d; "
                                              "sysctl -w kernel.io_uring_disabled=0 allows it",
                                   disabled);
    if (result == -EPERM || result == -EACCES)
        return problem_unsupported(
            problem, NOT_USABLE "a policy of this system forbids it (%s), as containers often do", why);
    if (result == -ENOSYS)
        why = "this kernel was built without it";
    else if (result == -EINVAL)
        why = "this kernel rejects the setup; defer_taskrun and single_issuer need Linux 6.1";
    else if (result == -ENOMEM)
        why = "there is no memory, or the limit of locked memory is too low (ulimit -l)";
    return problem_unsupported(problem, NOT_USABLE "%s", why);
}

int ring_check(const struct ring_setup *setup, struct problem *problem)
{
    static bool known[2][2][2];
    bool *works = &known[setup->defer_taskrun][setup->single_issuer][setup->registered_ring];
    struct call_counts counts = {0};
    struct ring *ring;

    if (*works)
        return 0;
    int result = ring_open(&ring, setup, &counts);
    ring_close(ring);
    *works = result == 0;
    return *works ? 0 : refuse(result, problem);
}

/* ---- tests by effect ---- */

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
};

static bool begin_receiving(struct trial *trial, unsigned options)
{
    return pool_open(&trial->pool, PIECE, options & RECEIVE_MESSAGE ? RECEIVE_HEADER : 0, PIECES) == 0 &&
           recv_buffers_open(&trial->recv_buffers, trial->ring, &trial->pool) == 0 &&
           ring_receive(&trial->to, options) == 0 && ring_poll(trial->ring) == 0;
}

static bool await(struct trial *trial, struct ring_event *event)
{
    uint64_t until_ns = clock_now_ns() + COMPLETES_WITHIN_NS;

    while (!ring_next(trial->ring, event))
        if (clock_now_ns() >= until_ns || ring_enter(trial->ring, until_ns) < 0)
            return false;
    return true;
}

static bool send_pieces(const struct trial *trial, size_t count)
{
    return send(trial->from.file, pieces, count * PIECE, MSG_NOSIGNAL) == (ssize_t)(count * PIECE);
}

static bool receives(struct trial *trial, size_t size, bool more)
{
    struct ring_event event;

    return await(trial, &event) && event.kind == RING_RECEIVE && event.completion.result == (int)size &&
           (!more || event.completion.more);
}

static bool receives_again(struct trial *trial, unsigned options)
{
    size_t size = options & RECEIVE_MESSAGE ? RECEIVE_HEADER + PIECE : PIECE;

    return begin_receiving(trial, options) && send_pieces(trial, 1) && receives(trial, size, true) &&
           send_pieces(trial, 1) && receives(trial, size, true);
}

/* Returns true if the request sends exactly the first `count` pieces. */
static bool sends(struct trial *trial, const struct send_request *request, size_t count)
{
    uint8_t bytes[sizeof pieces + 1];
    struct ring_event event;

    return ring_send(&trial->from, request) == 0 && await(trial, &event) && event.kind == RING_SEND &&
           event.completion.result == (int)(count * PIECE) &&
           recv(trial->to.file, bytes, sizeof bytes, MSG_DONTWAIT) == (ssize_t)(count * PIECE) &&
           !memcmp(bytes, pieces, count * PIECE);
}

static bool sends_provided(struct trial *trial, unsigned options, size_t count)
{
    struct send_request request = {.flags = MSG_WAITALL, .options = SEND_PROVIDED | options};

    if (ring_buffers_open(trial->ring, &trial->from.outgoing, 1, PIECES) < 0)
        return false;
    ring_buffers_add(&trial->from.outgoing, pieces, PIECE, 0, PIECES);
    ring_buffers_publish(&trial->from.outgoing);
    return sends(trial, &request, count);
}

static bool sends_zerocopy(struct trial *trial)
{
    struct iovec vectors[2] = {{(void *)(uintptr_t)pieces[0], PIECE}, {(void *)(uintptr_t)pieces[1], PIECE}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    struct send_request request = {.message = &message, .flags = MSG_WAITALL, .options = SEND_ZEROCOPY};
    struct ring_event event;

    return sends(trial, &request, 2) && await(trial, &event) && event.completion.is_notification;
}

static bool test_ability(struct trial *trial, enum ring_ability ability)
{
    switch (ability) {
    case RING_RECEIVES_MULTISHOT:
        return receives_again(trial, 0);
    case RING_RECEIVES_MESSAGES:
        return receives_again(trial, RECEIVE_MESSAGE);
    case RING_RECEIVES_BUNDLES:
        return send_pieces(trial, PIECES - 1) && begin_receiving(trial, RECEIVE_BUNDLE) &&
               receives(trial, (PIECES - 1) * PIECE, false);
    case RING_SENDS_BUFFERS:
        return sends_provided(trial, 0, 1);
    case RING_SENDS_BUNDLES:
        return sends_provided(trial, SEND_BUNDLE, PIECES);
    default:
        return sends_zerocopy(trial);
    }
}

int ring_has(enum ring_ability ability, int from, int to)
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
    result = test_ability(&trial, ability);
    ring_close(trial.ring);
    recv_buffers_close(&trial.recv_buffers);
    ring_buffers_close(&trial.from.outgoing);
    pool_close(&trial.pool);
    return result;
}
