/* SPDX-License-Identifier: MIT */
/* Encodes and decodes the messages of the control channel. Pure: no sockets, no clock. A message is
 * a length (4 bytes, big endian) and that number of bytes of JSON: at most 256 KiB, or 128 MiB for
 * a report and for facts. The JSON is an object with a "type" and exactly the fields of that
 * type. */
#pragma once

#include "base/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CONTROL_BODY_MAX (256u << 10) /* 10000 connections have a number of 20 digits each */
#define CONTROL_LONG_MAX (128u << 20)
#define CONTROL_HEADER_SIZE 4u

enum control_type {
    /* client: version, the role of the receiving end, the words of the run, and the host id of the
     * end that connects to it */
    CONTROL_PLAN,
    CONTROL_ASK,      /* client: version; asks for the facts only */
    CONTROL_WAIT,     /* server: another session runs; wait */
    CONTROL_READY,    /* server, proxy: port or path for data connections, token, key, handshake */
    CONTROL_SINK,     /* client to proxy: address of the server's data connections, token */
    CONTROL_REFUSED,  /* server: a problem of kind usage, unsupported or failed */
    CONTROL_JOINED,   /* server: has every data connection */
    CONTROL_DRAIN,    /* driver `end`: last byte of its warm-up, of each connection */
    CONTROL_DRAINING, /* follower: knows the last byte of every connection; to driver `end`: all do */
    CONTROL_MARKED,   /* follower: has read its start figures; to a driver: all have; to the server
                         of a subject: no data is in flight, before the run and after it */
    CONTROL_FAILED,   /* either: a problem, and the phase in which it occurred */
    CONTROL_REPORT,   /* server: its report */
    CONTROL_FACTS,    /* server: its facts */
    CONTROL_PING,     /* either: keepalive */
    CONTROL_TYPE_COUNT,
};

/* Bytes in memory that grows. Zero it before use; free `data` after. */
struct bytes {
    size_t size, room;
    uint8_t *data;
};

/* 0, or -1: there is no memory. Control messages have keys and tokens, so memory that becomes free is
 * overwritten. */
int bytes_append(struct bytes *bytes, const void *data, size_t size);

/* Overwrites and frees the bytes: there are none then. */
void bytes_free(struct bytes *bytes);

/* Appends a message with `body` (an object, or NULL; not stolen). Returns 0, or -1 with a failure
 * if the body is too long or has not the fields of its type. */
int control_encode(enum control_type type, const json_t *body, struct bytes *bytes, struct problem *problem);

/* The text of a field of a body that the decoder has checked. */
static inline const char *control_text(const json_t *body, const char *key)
{
    return json_string_value(json_object_get(body, key));
}

/* Makes a value from another end safe for a terminal and a record. In all strings "?" replaces
 * any byte that is neither printable ASCII nor a tab. Returns 0, or -1 with a failure for a key
 * that is not printable. */
int control_clean(json_t *value, struct problem *problem);

/* A decoder of a byte stream, which may be cut anywhere. Zero it before use. */
struct codec {
    bool takes_long;       /* bodies of up to CONTROL_LONG_MAX */
    bool broken;           /* an invalid message has arrived */
    struct bytes received; /* not decoded yet */
};

typedef int codec_take(void *owner, enum control_type type, const json_t *body);

/* Calls `take` for each complete message. Returns 0, or -1 with a failure for an invalid message;
 * every later call fails too. A nonzero result of `take` ends the loop and is returned. */
int codec_feed(struct codec *codec, const uint8_t *bytes, size_t size, codec_take *take, void *owner,
               struct problem *problem);
