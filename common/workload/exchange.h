/* SPDX-License-Identifier: MIT */
/*
 * Requests and replies: the functions of two roles (workload.h) that several workloads share. One
 * role sends requests; the other answers each whole request with a reply.
 */
#ifndef UNCORK_WORKLOAD_EXCHANGE_H
#define UNCORK_WORKLOAD_EXCHANGE_H

#include "connection/workload.h"

size_t asking_size(const struct plan *plan);
void asking_begin(struct connection *connection);
void asking_fill(struct connection *connection);
size_t asking_wants(const struct connection *connection);
int asking_arrived(struct connection *connection, const uint8_t *data, size_t size);
bool asking_answered(const struct connection *connection);
uint64_t asking_next(const struct connection *connection);
uint64_t asking_missed(const struct connection *connection);

size_t answering_size(const struct plan *plan);
void answering_fill(struct connection *connection);
int answering_arrived(struct connection *connection, const uint8_t *data, size_t size);
bool answering_answered(const struct connection *connection);

/* The client sends requests, the server answers. */
enum role_index exchange_role(const struct plan *plan, enum end end);

#define ASKING                                                                                               \
    .sends = true, .receives = true, .clocks = true, .times = true, .state_size = asking_size,               \
    .begin = asking_begin, .fill = asking_fill, .wants = asking_wants, .arrived = asking_arrived,            \
    .answered = asking_answered, .next = asking_next, .missed = asking_missed

#define ANSWERING                                                                                            \
    .sends = true, .receives = true, .state_size = answering_size, .fill = answering_fill,                   \
    .wants = role_wants_all, .arrived = answering_arrived, .answered = answering_answered

#endif
