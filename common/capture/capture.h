/* SPDX-License-Identifier: MIT */
/* Captures the packets of all connections to one endpoint, on the device that leads to it. A
 * separate thread stores them in memory during a run. Only capture.c uses libpcap. */
#pragma once

#include "base/problem.h"
#include "net/address.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_SNAP_BYTES 96       /* stored of each packet: all headers, and little else */
#define CAPTURE_PACKETS_MAX 500000u /* packets to store: at most 60 MB of memory */

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

/* Checks that this process may capture. 0, or -1 with an unsupported problem and its remedy. */
int capture_check(struct problem *problem);

/* Starts to store packets from and to `server`. The thread runs on `cpu`; -1: on any CPU. `path` is
 * the file for capture_write(). NULL with a problem. */
struct capture *capture_start(const struct address *server, int cpu, const char *path,
                              struct problem *problem);

/* Stores all packets up to now and ends the thread. Returns facts, or NULL with its failure. */
const struct capture_facts *capture_stop(struct capture *capture, struct problem *problem);

/* After capture_stop(): returns the packets one by one, from `*at` = 0 on. False after the last. */
bool capture_next(const struct capture *capture, size_t *at, struct captured *captured);

/* After capture_stop(): writes the file. 0, or -1 with a failure; then there is no file. */
int capture_write(struct capture *capture, struct problem *problem);

/* Stops the capture if it still runs, and frees its memory. */
void capture_free(struct capture *capture);
