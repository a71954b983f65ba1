/* SPDX-License-Identifier: MIT */
/*
 * Requests and replies: two roles (workload.h) that several workloads share. One sends requests; the
 * other answers each whole request with a reply.
 */
#ifndef UNCORK_WORKLOAD_EXCHANGE_H
#define UNCORK_WORKLOAD_EXCHANGE_H

#include "connection/workload.h"

extern const struct role asking_role, answering_role;

/* The client sends requests, the server answers. */
enum role_index exchange_role(const struct plan *plan, enum end end);

#endif
