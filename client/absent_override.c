/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "command.h"

struct command *command_open(struct run *run, struct problem *problem)
{
    problem_unsupported(problem, "workload=command: " ABSENT_OVERRIDE);
    return NULL;
}

NEVER_CALLED(int command_message(struct command *command, enum control_type type))
NEVER_CALLED(void command_report(const struct command *command, json_t *parts))
NEVER_CALLED(void command_close(struct command *command))
