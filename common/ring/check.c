/* SPDX-License-Identifier: MIT */
#include "ring/check.h"

#include "base/clock.h"
#include "base/pool.h"
#include "ring/intake.h"

#include <string.h>

const struct ring_setup ring_setup_recommended = {
    .defer_taskrun = true, .single_issuer = true, .registered_ring = true};

/* ---- availability ---- */

#define SETUPS 8 /* three switches */

static unsigned setup_number(const struct ring_setup *setup)
{
    return (unsigned)setup->defer_taskrun | (unsigned)setup->single_issuer << 1 |
           (unsigned)setup->registered_ring << 2;
}

static int try_setup(const struct ring_setup *setup)
{
    struct ring_setup small = *setup;
    struct call_counts counts = {0};
    struct ring *ring;
    int result;

    small.completions = 8;
    result = ring_open(&ring, &small, &counts);
    ring_close(ring);
    return result;
}

int ring_check(const struct ring_setup *setup, struct problem *problem)
{
    static struct {
        bool tried;
        int result;
    } known[SETUPS];
    unsigned number = setup_number(setup);
    char why[160];

    if (!known[number].tried)
        known[number].result = try_setup(setup);
    known[number].tried = true;
    if (known[number].result == 0)
        return 0;
    ring_explain(known[number].result, why, sizeof why);
    return problem_unsupported(problem, "io_uring cannot be used here: %s", why);
}

/* ---- tests by effect ---- */

#define PIECE 4u  /* bytes of a buffer */
#define PIECES 4u /* buffers */
#define COMPLETES_WITHIN_NS (150 * NS_PER_MS)

struct trial {
    struct ring *ring;
    struct call_counts counts;
    struct pool pool;
    struct ring_intake intake;
    struct ring_slot from, to;
};

static bool open_trial(struct trial *trial, int from, int to)
{
    struct ring_setup setup = {.completions = 64};

    *trial = (struct trial){0};
    if (ring_open(&trial->ring, &setup, &trial->counts) < 0)
        return false;
    trial->from = (struct ring_slot){.ring = trial->ring, .number = 0, .file = from};
    trial->to = (struct ring_slot){.ring = trial->ring, .number = 1, .file = to, .intake = &trial->intake};
    return true;
}

static void close_trial(struct trial *trial)
{
    ring_close(trial->ring);
    intake_close(&trial->intake);
    ring_buffers_close(&trial->from.outgoing);
    pool_close(&trial->pool);
}

static bool begin_receiving(struct trial *trial, unsigned options)
{
    return pool_open(&trial->pool, PIECE, options & RECEIVE_MESSAGE ? RECEIVE_HEADER : 0, PIECES) == 0 &&
           intake_open(&trial->intake, trial->ring, &trial->pool) == 0 &&
           ring_receive(&trial->to, INTAKE_GROUP, options) == 0 && ring_enter(trial->ring, false, 0) == 0;
}

/* Provides all pieces, and sends the first or all of them. */
static bool begin_sending(struct trial *trial, unsigned options)
{
    struct send_request request = {.flags = MSG_WAITALL, .options = SEND_PROVIDED | options};
    static const uint8_t bytes[PIECES][PIECE] = {"abc", "def", "ghi", "jkl"};

    if (ring_buffers_open(trial->ring, &trial->from.outgoing, 1, PIECES) < 0)
        return false;
    ring_buffers_add(&trial->from.outgoing, bytes, PIECE, 0, PIECES);
    ring_buffers_publish(&trial->from.outgoing);
    return ring_send(&trial->from, &request) == 0;
}

/* Waits for the next completion. */
static bool await(struct trial *trial, struct ring_event *event)
{
    uint64_t until_ns = clock_now_ns() + COMPLETES_WITHIN_NS;

    while (!ring_next(trial->ring, event))
        if (clock_now_ns() >= until_ns || ring_enter(trial->ring, true, until_ns) < 0)
            return false;
    return true;
}

static bool send_pieces(int from, unsigned count)
{
    static const uint8_t bytes[PIECES * PIECE];
    ssize_t size = (ssize_t)(count * PIECE);

    return send(from, bytes, (size_t)size, MSG_NOSIGNAL) == size;
}

static bool receives(struct trial *trial, int result, bool more)
{
    struct ring_event event;

    return await(trial, &event) && event.kind == RING_RECEIVE && event.completion.result == result &&
           (!more || event.completion.more);
}

bool ring_receives_again(int from, int to)
{
    struct trial trial;
    bool holds = open_trial(&trial, from, to) && begin_receiving(&trial, 0) && send_pieces(from, 1) &&
                 receives(&trial, PIECE, true) && send_pieces(from, 1) && receives(&trial, PIECE, true);

    close_trial(&trial);
    return holds;
}

bool ring_receives_messages(int from, int to)
{
    int size = (int)(RECEIVE_HEADER + PIECE);
    struct trial trial;
    bool holds = open_trial(&trial, from, to) && begin_receiving(&trial, RECEIVE_MESSAGE) &&
                 send_pieces(from, 1) && receives(&trial, size, true) && send_pieces(from, 1) &&
                 receives(&trial, size, true);

    close_trial(&trial);
    return holds;
}

bool ring_receives_bundles(int from, int to)
{
    struct trial trial;
    bool holds = open_trial(&trial, from, to) && send_pieces(from, PIECES - 1) &&
                 begin_receiving(&trial, RECEIVE_BUNDLE) && receives(&trial, (PIECES - 1) * PIECE, false);

    close_trial(&trial);
    return holds;
}

static bool sends(struct trial *trial, int result)
{
    struct ring_event event;

    return await(trial, &event) && event.kind == RING_SEND && event.completion.result == result;
}

/* Returns true if exactly the bytes of the first `pieces` buffers arrived. */
static bool arrived(int to, size_t pieces)
{
    uint8_t bytes[PIECES * PIECE + 1];

    return recv(to, bytes, sizeof bytes, MSG_DONTWAIT) == (ssize_t)(pieces * PIECE) &&
           !memcmp(bytes, "abc", 4);
}

bool ring_sends_buffers(int from, int to)
{
    struct trial trial;
    bool holds =
        open_trial(&trial, from, to) && begin_sending(&trial, 0) && sends(&trial, PIECE) && arrived(to, 1);

    close_trial(&trial);
    return holds;
}

bool ring_sends_bundles(int from, int to)
{
    struct trial trial;
    bool holds = open_trial(&trial, from, to) && begin_sending(&trial, SEND_BUNDLE) &&
                 sends(&trial, PIECES * PIECE) && arrived(to, PIECES);

    close_trial(&trial);
    return holds;
}

bool ring_lends_memory(int from, int to)
{
    static uint8_t bytes[2][PIECE] = {"abc", "def"};
    struct iovec vectors[2] = {{bytes[0], PIECE}, {bytes[1], PIECE}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    struct send_request request = {.message = &message, .flags = MSG_WAITALL, .options = SEND_LEND};
    struct ring_event event;
    struct trial trial;
    bool holds = open_trial(&trial, from, to) && ring_send(&trial.from, &request) == 0 &&
                 sends(&trial, 2 * PIECE) && arrived(to, 2) && await(&trial, &event) &&
                 event.completion.gives_back;

    close_trial(&trial);
    return holds;
}
