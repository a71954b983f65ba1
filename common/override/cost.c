/* SPDX-License-Identifier: MIT */
/* Measures what a counted call costs. Not in override.c: a static program can load no library. */
#include "base/clock.h"
#include "override/override.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 40
#define PAIRS 250

/* The time of PAIRS sends and receives of one byte by these functions, in ns. */
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

/* The fastest round with the library minus the fastest round without it. Rounds of both alternate,
 * so that other load on the machine affects both. */
double override_call_ns(void)
{
    __attribute__((cleanup(override_close))) struct override override;
    double with = HUGE_VAL, without = HUGE_VAL;
    __typeof__(send) *sends;
    __typeof__(recv) *receives;
    int pair[2];

    if (override_open(&override, &(struct change){0}, true, false, &(struct problem){0}) < 0)
        return 0;
    putenv(override.environment[1]);
    void *library = dlopen(override.library, RTLD_NOW | RTLD_LOCAL);
    unsetenv(SHARED_VARIABLE);
    override.file = 0; /* the library has closed it */
    *(void **)&sends = library ? dlsym(library, "send") : NULL;
    *(void **)&receives = library ? dlsym(library, "recv") : NULL;
    if (!sends || !receives || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return 0;
    for (int round = 0; round < ROUNDS; round++) {
        with = fmin(with, pairs_ns(pair, sends, receives));
        without = fmin(without, pairs_ns(pair, send, recv));
    }
    close(pair[0]);
    close(pair[1]);
    return fmax(0, with - without) / (2 * PAIRS);
}
