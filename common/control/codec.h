/* SPDX-License-Identifier: MIT */
/*
 * The messages of the control channel, as bytes and back. Pure: no sockets, no clock.
 *
 * A message is a length (4 bytes, big endian, at most 64 KiB) and so many bytes of JSON: an object with a
 * "type" and the fields of that type, no more and no less. Longer things (reports, lists) go in several
 * messages.
 */
#ifndef UNCORK_CONTROL_CODEC_H
#define UNCORK_CONTROL_CODEC_H

#include "base/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_BODY_MAX 65536u
#define CONTROL_HEADER_SIZE 4u

enum control_type {
    CONTROL_PLAN, /* client: version, the end that the receiver is to be, host id of the machine that this end
                     shares with another, and the words of a run */
    CONTROL_ASK,  /* client: version; wants the server's facts and nothing else */
    CONTROL_WAIT, /* server: another session is running; this one comes next */
    CONTROL_READY,   /* server, proxy: the port of data connections, or of a Unix socket the path, and the
                        token that joins */
    CONTROL_SINK,    /* client, to a proxy: the address of the server's data connections, and their token */
    CONTROL_REFUSED, /* server: the plan is wrong (usage), not possible here (unsupported) or went wrong
                        (failed) */
    CONTROL_JOINED,  /* server: every data connection is there */
    CONTROL_DRAIN, /* driver `end`: when its warm-up ends, in bytes, for some connections from number `first`
                    */
    CONTROL_DRAINING, /* follower: knows it of this driver for all connections; to the driver: all know it */
    CONTROL_MARKED,   /* follower: has received so much on all and taken its start figures; to a driver: all
                         have */
    CONTROL_FAILED,   /* either: broke off in that phase */
    CONTROL_REPORT,   /* server: a piece of its report */
    CONTROL_FACTS,    /* server: a piece of its facts */
    CONTROL_PING,     /* either: still there */
    CONTROL_TYPE_COUNT,
};

/* The bytes of a message with `body` (an object, or NULL for none; not stolen), in new memory that the caller
 * frees. 0, or -1 with a failure where it would be too long or is not of its type. */
int control_encode(enum control_type type, const json_t *body, uint8_t **bytes, size_t *size,
                   struct problem *problem);

/* Makes what another end says fit for a terminal and a record: in all strings "?" stands for what is
 * neither printable ASCII nor a tab. 0, or -1 with a failure for a key that is not printable. */
int control_clean(json_t *value, struct problem *problem);

/* A decoder of a stream of bytes that may be cut anywhere. Zero it before use. */
struct codec {
    bool broken; /* something came that is no message */
    size_t used;
    uint8_t buffer[CONTROL_HEADER_SIZE + CONTROL_BODY_MAX];
};

/* Calls `take` for each whole message; `body` is borrowed and clean. 0, or -1 with a failure for what is no
 * message, from then on for good; stops early and returns what `take` returned if that is not 0. */
int codec_feed(struct codec *codec, const uint8_t *bytes, size_t size,
               int (*take)(void *owner, enum control_type type, const json_t *body), void *owner,
               struct problem *problem);

#endif
