/* SPDX-License-Identifier: MIT */
/* The phases of a run at one end: the table is phases.def. */
#ifndef UNCORK_TEAM_PHASES_H
#define UNCORK_TEAM_PHASES_H

enum part { PART_DRIVER, PART_FOLLOWER, PART_BOTH, PART_COUNT };

#define RELEASE(name, text) RELEASE_##name,
#define PHASE(name, ...)
enum release {
    RELEASE_NOTHING,
#include "team/phases.def"
    RELEASE_NEVER
};
#undef RELEASE
#undef PHASE

#define RELEASE(name, text)
#define PHASE(name, ...) PHASE_##name,
enum phase {
#include "team/phases.def"
    PHASE_COUNT
};
#undef RELEASE
#undef PHASE

struct phase_info {
    const char *name; /* in a record */
    enum release waits_for[PART_COUNT];
    unsigned reported_by; /* bits 1 << enum part */
};

extern const struct phase_info phases[PHASE_COUNT];

#endif
