/* SPDX-License-Identifier: MIT */
/*
 * Packets of the connections to one endpoint, as they pass the device by which they leave: kept in memory
 * while a run goes on, by a thread of its own. libpcap is known in one file only; where the build has none,
 * absent.c says so.
 */
#ifndef UNCORK_CAPTURE_CAPTURE_H
#define UNCORK_CAPTURE_CAPTURE_H

#include "base/problem.h"
#include "net/address.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_SNAP_BYTES 96       /* of each packet: all headers, and little else */
#define CAPTURE_PACKETS_MAX 500000u /* then it stores no more: at most 60 MB of memory */

struct capture;

struct capture_facts {
    char device[IF_NAMESIZE];
    int link;         /* enum frame_link */
    size_t packets;   /* that were stored */
    uint64_t dropped; /* by the kernel, which found no room for them */
    bool truncated;   /* there were more than it stores */
    const char *path; /* of the file that they become, the caller's; NULL: none is wanted */
};

struct captured {
    const uint8_t *bytes;
    uint32_t size, wire_bytes; /* what was stored, what there was */
};

/* Whether this process may capture. 0, or -1 with an unsupported problem that says what would let it. */
int capture_check(struct problem *problem);

/* Stores what passes from and to `server` from now on. The thread runs on `cpu`, -1: anywhere. With a `path`
 * the packets are to become a file there. NULL with a problem. */
struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem);

/* Everything that has passed is stored, and the thread has ended. 0, or -1 with a failure of the capture. */
int capture_stop(struct capture *capture, struct problem *problem);

/* After capture_stop(): what it was, and one packet after the other from `*at` = 0 on; false after the last.
 */
struct capture_facts capture_facts(const struct capture *capture);
bool capture_next(const struct capture *capture, size_t *at, struct captured *captured);

/* After capture_stop(): makes the file. 0, or -1 with a failure; then there is none. */
int capture_write(struct capture *capture, struct problem *problem);

/* Stops it where that has not been done. Harmless for NULL. */
void capture_free(struct capture *capture);

#endif
