/* SPDX-License-Identifier: MIT */
/* Where the build found no libpcap: capture=on says so, and nothing else is called. */
#include "capture/capture.h"

int capture_check(struct problem *problem)
{
    return problem_unsupported(problem, "capture=on: this build has no libpcap; install libpcap-dev "
                                        "(libpcap-devel) and build again");
}

struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem)
{
    (void)server, (void)cpu, (void)path;
    capture_check(problem);
    return NULL;
}

const struct capture_facts *capture_stop(struct capture *capture, struct problem *problem)
{
    (void)capture;
    capture_check(problem);
    return NULL;
}

bool capture_next(const struct capture *capture, size_t *at, struct captured *captured)
{
    (void)capture, (void)at, (void)captured;
    return false;
}

int capture_write(struct capture *capture, struct problem *problem)
{
    (void)capture;
    return capture_check(problem);
}

void capture_free(struct capture *capture)
{
    (void)capture;
}
