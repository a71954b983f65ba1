/* SPDX-License-Identifier: MIT */
/*
 * Captures the packets of the connections to one endpoint, at the device by which they leave. A
 * thread of its own stores them in memory during a run. Only capture.c uses libpcap; absent.c
 * replaces it in a build without libpcap.
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
#define CAPTURE_PACKETS_MAX 500000u /* then it stops storing: at most 60 MB of memory */

struct capture;

struct capture_facts {
    char device[IF_NAMESIZE];
    int link;         /* enum frame_link */
    size_t packets;   /* stored */
    uint64_t dropped; /* by the kernel, because its buffer was full */
    bool truncated;   /* there were more than CAPTURE_PACKETS_MAX */
    const char *path; /* of the file for the packets, owned by the caller; NULL: none */
};

struct captured {
    const uint8_t *bytes;
    uint32_t size, wire_bytes; /* stored bytes; length on the wire */
};

/* Checks that this process may capture. 0, or -1 with an unsupported problem that says what would
 * permit it. */
int capture_check(struct problem *problem);

/* Stores packets from and to `server` from now on. The thread runs on `cpu`; -1: on any CPU. `path`
 * is the file for capture_write(). NULL with a problem. */
struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem);

/* Stores all packets that have passed, and ends the thread. Returns the facts of the capture, or
 * NULL with its failure. */
const struct capture_facts *capture_stop(struct capture *capture, struct problem *problem);

/* After capture_stop(): the packets one by one, from `*at` = 0 on; false after the last. */
bool capture_next(const struct capture *capture, size_t *at, struct captured *captured);

/* After capture_stop(): writes the file. 0, or -1 with a failure; then there is no file. */
int capture_write(struct capture *capture, struct problem *problem);

/* Stops the capture if it still runs, and frees it. NULL is allowed. */
void capture_free(struct capture *capture);

#endif
