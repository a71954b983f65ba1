/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "capture/capture.h"

int capture_check(struct problem *problem)
{
    return problem_unsupported(problem, "capture=on: " ABSENT_LIBPCAP);
}

NEVER_CALLED(struct capture *capture_start(const struct address *server, int cpu, const char *path,
                                           struct problem *problem))
NEVER_CALLED(json_t *capture_stop(struct capture *capture, struct problem *problem))
NEVER_CALLED(bool capture_next(struct capture *capture, struct segment *segment))
NEVER_CALLED(int capture_write(struct capture *capture, struct problem *problem))
NEVER_CALLED(void capture_free(struct capture *capture))
