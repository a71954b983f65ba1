/* SPDX-License-Identifier: MIT */
/* Requests and replies: two roles (workload.h) that several workloads share. One sends requests;
 * the other answers each whole request with a reply. */
#pragma once

#include "connection/workload.h"
#include "workload/schedule.h"

/* The client: up to `depth` requests in flight. */
struct requester {
    struct schedule schedule; /* open loop only */
    uint64_t begun, answered; /* counters of requests */
    uint64_t mask;
    struct request_times {
        uint64_t intended_ns, sent_ns;
    } in_flight[]; /* by slot; mask + 1 entries, at least depth */
};

/* Whether a request is due and may be in flight. */
bool requester_is_due(const struct connection *connection, const struct requester *requester);

/* A request begins, in this slot. */
void requester_note_begun(struct thread_shared *shared, struct requester *requester, uint64_t slot);

/* Its reply is whole, at the last reading of the clock. */
void requester_note_reply(struct thread_shared *shared, struct requester *requester, uint64_t slot);

/* Burns the CPU time of the word `spin`. */
void responder_spin(const struct thread_shared *shared, uint64_t replies);

/* Functions of a role that asks, by whatever frame. */
size_t requester_size(const struct plan *plan);
void requester_begin(struct connection *connection);
bool requester_answered(const struct connection *connection);
uint64_t requester_next(const struct connection *connection);
uint64_t requester_missed(const struct connection *connection);
bool responder_answered(const struct connection *connection);
bool responder_is_over(const struct connection *connection);

extern const struct role requester_role, responder_role;

/* The client sends requests, the server answers. */
enum role_index exchange_role(const struct plan *plan, enum end end);
