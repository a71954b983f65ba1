/* SPDX-License-Identifier: MIT */
/* Roles (connection/workload.h) that several workloads share, and the schedule of an open loop. The
 * requester sends requests, the responder replies to each. One way, the driver sends messages as
 * fast as it can, and the follower receives; `both` does both. */
#pragma once

#include "connection/workload.h"
#include "plan/plan.h"

/* When the requests of one connection are due in an open loop, independent of earlier requests. The
 * schedules of all connections together have `rate` starts a second. `even`: all starts of the run
 * are equally spaced, and the connections take them in turn. `poisson`: each connection draws
 * exponential intervals, because independent Poisson processes add up to one. The draws depend only
 * on arrival_seed and the number of the connection: the same seed gives the same arrivals. */
struct schedule {
    const struct plan *plan;
    uint64_t due_ns; /* next start, from the beginning of the phase */
    uint64_t number; /* even: number of the next start, among those of all connections */
    double at_ns;    /* poisson: next start, before rounding down */
    uint64_t random;
};

/* Begins the schedule of connection `number`. The plan must have a rate. */
void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number);

/* Call when the start at due_ns is used: moves to the next start. */
void schedule_advance(struct schedule *schedule);

/* Returns the number of starts from due_ns on that come before `deadline_ns`. */
uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns);

/* State of the requester: up to `depth` requests are in flight. */
struct requester {
    struct schedule schedule; /* open loop only */
    uint64_t begun, answered; /* counters of requests */
    uint64_t mask;
    struct request_times {
        uint64_t intended_ns, sent_ns; /* sent_ns: in an open loop */
    } in_flight[];                     /* by slot: plan_slots(), at least depth */
};

/* Returns true if a request is due and fewer than `depth` are in flight. */
bool requester_is_due(const struct connection *connection, const struct requester *requester);

/* Notes that a request begins, in this slot; that its reply is complete, at shared->now_ns. */
void requester_note_begun(struct thread_shared *shared, struct requester *requester, uint64_t slot);
void requester_note_reply(struct thread_shared *shared, struct requester *requester, uint64_t slot);

/* Spins for the time of the word `spin` for each reply. */
void responder_spin(const struct thread_shared *shared, uint64_t replies);

/* Functions of the roles, with or without a protocol. */
void requester_begin(struct connection *connection);
uint64_t requester_next(const struct connection *connection);
uint64_t requester_missed(const struct connection *connection);
bool responder_is_over(const struct connection *connection);

/* What a role with a struct requester declares. */
#define REQUESTER                                                                                            \
    .receives = true, .clocks = true, .times = true, .answers = true,                                        \
    .state_size = sizeof(struct requester), .slot_size = sizeof(struct request_times),                       \
    .begin = requester_begin, .next = requester_next, .missed = requester_missed

extern const struct role requester_role, responder_role;
extern const struct role one_way_driver, one_way_follower, one_way_both;

/* arrived() of a role that only counts messages, and of one that must not receive. */
int one_way_arrived(struct connection *connection, const uint8_t *data, size_t size);
int one_way_refuse(struct connection *connection, const uint8_t *data, size_t size);
