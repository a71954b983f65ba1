/* SPDX-License-Identifier: MIT */
/* Not an engine: plan_parse() selects one. */
#include "engine/engine.h"

const struct engine engine_auto = {
    .variant = {"auto",
                "block where a thread can carry its one connection, else poll; ring where it is needed"},
};
