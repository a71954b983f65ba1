/* SPDX-License-Identifier: MIT */
/* What the connections of one data thread share: memory, clock, measurements.
 *
 * So a thread with ten thousand connections has one receive buffer and one source. A connection has
 * only its state. */
#pragma once

#include "base/calls.h"
#include "base/memory.h"
#include "base/problem.h"
#include "connection/source.h"
#include "measure/histogram.h"
#include "measure/samples.h"
#include "plan/plan.h"

/* The negotiated parameters of a handshake, in the words of the plan. */
struct security_negotiated {
    const char *version, *cipher, *key_exchange; /* "1.3", "aes-128-gcm", "psk-ecdhe"; NULL: none */
};

struct thread_shared {
    const struct plan *plan;
    enum end end;

    const struct source *content; /* of a server for foreign clients: all its threads share it, and
                                     clients store into it; NULL: `source` is this thread's own */
    struct source source;
    struct pool pool; /* receive buffers of `chunk` bytes: one, plus those of a relay; none on an
                         end that only sends */

    void *contexts[END_COUNT];             /* of the security layer, by peer, or NULL */
    struct security_negotiated negotiated; /* by the last handshake */

    uint64_t now_ns;      /* the last reading of the clock */
    uint64_t deadline_ns; /* of the phase, CLOCK_MONOTONIC; UINT64_MAX for fixed work */
    uint64_t start_ns;    /* of the phase, and of the schedule of an open loop */
    bool paced;           /* the phase is an open loop */
    bool finishing;       /* the half-close has begun: a driver waits for that of its peer */
    uint32_t unchecked;   /* messages begun since the clock was last compared with the deadline */
    uint32_t stride;      /* messages to begin between two comparisons */

    struct samples samples;
    struct histogram latency;             /* from send; in an open loop from intended start */
    struct histogram handover;            /* from posting a request to the wake-up of the sender */
    struct histogram handshake;           /* of connections that a driver makes */
    struct histogram service, late_start; /* open loop: from send; from intended start to send */
    uint64_t due;                         /* open loop: requests begun */
    struct call_counts waits;             /* system calls that belong to no connection */
    unsigned uncounted;                   /* bits of enum call_path: only libuv makes these calls */

    struct problem problem;     /* why a connection broke */
    bool handshake_failed;      /* the connection broke in its handshake */
    atomic_bool until_released; /* the phase lasts at least until control clears this */
    atomic_bool cancelled;      /* by another thread: a spin or a sleep must return */
    atomic_bool has_answered;   /* a foreign client has sent a whole request */
};

/* 0 or -ENOMEM; call thread_shared_close() in both cases. The caller sets `content` before. */
int thread_shared_open(struct thread_shared *shared, const struct plan *plan, enum end end,
                       uint64_t connections);
void thread_shared_close(struct thread_shared *shared);

/* Begins a phase of `duration_ns` (UINT64_MAX: no deadline), and its samples. `paced`: the phase
 * follows the schedule of an open loop. */
void thread_shared_begin_phase(struct thread_shared *shared, uint64_t duration_ns, bool paced);

/* Clears the measurements. */
void thread_shared_restart(struct thread_shared *shared);

static inline bool thread_shared_is_cancelled(const struct thread_shared *shared)
{
    return atomic_load_explicit(&shared->cancelled, memory_order_acquire);
}
