/* SPDX-License-Identifier: MIT */
/* What a counted call costs; apart from override.c, because a static program cannot load a library. */
#include "base/clock.h"
#include "override/override.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 40
#define PAIRS 250

/* ns of PAIRS sends and receives of a byte. */
static double pairs_ns(const int pair[2], __typeof__(send) *sends, __typeof__(recv) *receives)
{
    uint64_t began = clock_now_ns();
    char byte = 0;

    for (int i = 0; i < PAIRS; i++) {
        sends(pair[0], &byte, 1, 0);
        receives(pair[1], &byte, 1, 0);
    }
    return (double)(clock_now_ns() - began);
}

/* The quickest round with the library less the quickest without it: both in turns, so that what else
 * the machine does meets both. */
static double pairs_cost(const int pair[2], __typeof__(send) *sends, __typeof__(recv) *receives)
{
    double with = HUGE_VAL, without = HUGE_VAL;

    for (int round = 0; round < ROUNDS; round++) {
        with = fmin(with, pairs_ns(pair, sends, receives));
        without = fmin(without, pairs_ns(pair, send, recv));
    }
    return fmax(0, with - without) / (2 * PAIRS);
}

double override_call_ns(void)
{
    struct change none = {0};
    struct problem ignored = {0};
    struct override override;
    __typeof__(send) *sends = NULL;
    __typeof__(recv) *receives = NULL;
    void *library = NULL;
    double cost = 0;
    int pair[2];

    if (override_open(&override, &none, true, &ignored) == 0 &&
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
        putenv(override.environment[1]);
        library = dlopen(override.library, RTLD_NOW | RTLD_LOCAL);
        unsetenv(SHARED_VARIABLE);
        *(void **)&sends = library ? dlsym(library, "send") : NULL;
        *(void **)&receives = library ? dlsym(library, "recv") : NULL;
        if (sends && receives)
            cost = pairs_cost(pair, sends, receives);
        close(pair[0]);
        close(pair[1]);
    }
    override.file = -1; /* the library has closed it, and stays loaded with its memory */
    override.shared = NULL;
    override_close(&override);
    return cost;
}
