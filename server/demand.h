/* SPDX-License-Identifier: MIT */
/* What a client demands of a server or a proxy: parsed and checked, before anything is done. Each
 * function returns 0, or -1 with a problem. */
#pragma once

#include "connection/security.h"
#include "control/channel.h"
#include "control/hello.h"
#include "options.h"
#include "plan/plan.h"

/* CONTROL_ASK or CONTROL_PLAN: the client is of the same version. */
int demand_check_version(const json_t *body, struct problem *problem);

/* CONTROL_PLAN: parses its words. It wants an end like this one, the plan has this end, and its key
 * may cross the channel. */
int demand_plan(struct plan *plan, const json_t *body, enum end own, const struct channel *channel,
                struct problem *problem);

/* The limits of a session at this end of the plan. */
int demand_check_limits(const struct plan *plan, enum end end, struct problem *problem);

/* CONTROL_PLAN, CONTROL_SINK: whether the host that they name is this one. */
bool demand_is_of_this_host(const json_t *body);

/* CONTROL_SINK: the numeric address, to which this proxy may connect. */
int demand_sink(const struct options *options, const json_t *body, struct address *sink,
                struct problem *problem);

/* CONTROL_SINK: the token of its connections, and the key of an encrypted plan. */
int demand_secrets(const json_t *body, const struct plan *plan, uint8_t token[TOKEN_SIZE],
                   uint8_t key[SECURITY_KEY_SIZE], struct problem *problem);
