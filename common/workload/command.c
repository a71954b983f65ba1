/* SPDX-License-Identifier: MIT */
/* A foreign program is the client of the server: neither end has connections (client/command.h). */
#include "connection/workload.h"

static const struct role none;

const struct workload workload_command = {
    .variant = {"command", "the client runs a program that asks the subject, and times the whole process"},
    .runs_command = true,
    .roles = {[ROLE_DRIVER] = &none, [ROLE_FOLLOWER] = &none},
};
