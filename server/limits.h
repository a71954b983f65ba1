/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_SERVER_LIMITS_H
#define UNCORK_SERVER_LIMITS_H

#include "base/problem.h"
#include "plan/plan.h"

#include <stdint.h>

#define LIMIT_CONTROL_CONNECTIONS 64     /* sessions, the running one included */
#define LIMIT_THREADS UINT64_C(4096)     /* of a session */
#define LIMIT_MEMORY (UINT64_C(8) << 30) /* bytes of buffers of a session */
#define LIMIT_SLACK_MS UINT64_C(60000)   /* beyond twice the planned time, to drain and to report */
#define LIMIT_TIME_MS UINT64_C(7200000)
#define LIMIT_JOIN_MS 3000          /* for all data connections, plus */
#define LIMIT_JOINS_PER_MS 1        /* connections: their minimum rate */
#define LIMIT_CAPTURE_MS 3000       /* extra time if the client captures, which starts first */
#define LIMIT_PLAN_MS 3000          /* for the first message of a control connection */
#define LIMIT_LEAVE_MS 10000        /* for a client to read its report and close */
#define LIMIT_SINK_MS LIMIT_TIME_MS /* for the client to name the sink: its server may be busy */

/* Checks this end of the plan. Returns 0, or -1 with a failure that names the limit. */
int limits_check(const struct plan *plan, enum end end, struct problem *problem);

/* Maximum time of a run of this plan; then the server ends it. */
uint64_t limits_run_ms(const struct plan *plan);

#endif
