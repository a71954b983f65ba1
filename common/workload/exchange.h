/* SPDX-License-Identifier: MIT */
/* Requests and replies: two roles (workload.h) that several workloads share. The requester sends
 * requests; the responder sends a reply to each complete request. */
#pragma once

#include "connection/workload.h"
#include "workload/schedule.h"

/* State of the client: up to `depth` requests are in flight. */
struct requester {
    struct schedule schedule; /* open loop only */
    uint64_t begun, answered; /* counters of requests */
    uint64_t mask;
    struct request_times {
        uint64_t intended_ns, sent_ns;
    } in_flight[]; /* by slot: plan_slots(), at least depth */
};

/* Returns true if a request is due and fewer than `depth` are in flight. */
bool requester_is_due(const struct connection *connection, const struct requester *requester);

/* Notes that a request begins, in this slot. */
void requester_note_begun(struct thread_shared *shared, struct requester *requester, uint64_t slot);

/* Notes that its reply is complete, at shared->now_ns. */
void requester_note_reply(struct thread_shared *shared, struct requester *requester, uint64_t slot);

/* Spins for the time of the word `spin` for each reply. */
void responder_spin(const struct thread_shared *shared, uint64_t replies);

/* Functions of the roles, with or without a protocol. */
void requester_begin(struct connection *connection);
bool requester_answered(const struct connection *connection);
uint64_t requester_next(const struct connection *connection);
uint64_t requester_missed(const struct connection *connection);
bool responder_answered(const struct connection *connection);
bool responder_is_over(const struct connection *connection);

extern const struct role requester_role, responder_role;

/* The client sends requests, the server answers. */
enum role_index exchange_role(const struct plan *plan, enum end end);
