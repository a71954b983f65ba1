/* SPDX-License-Identifier: MIT */
/* The TLS layers share the path from their libraries to the counted calls, and their errors.
 *
 * Records of any library are counted by their headers in the byte stream (RFC 8446, 5.1: type,
 * version, length). */
#pragma once

#include "connection/security.h"

#define TLS_HEADER_SIZE 5u
#define TLS_RECORD_MAX 16384u /* bytes of payload: RFC 8446, 5.1 */

/* The position of one direction in its records. */
struct tls_scan {
    uint8_t header[TLS_HEADER_SIZE];
    uint32_t known; /* header bytes read so far */
    uint32_t left;  /* bytes left of the record */
};

/* State of a layer for a connection, besides the session of its library. */
struct tls_wire {
    struct connection *connection;
    struct tls_scan in, out;
    uint64_t reads, records, bytes; /* received before the last call of the library for data */
    int error;                      /* errno of the call that broke the connection; 0: none did */
    bool blocked;                   /* the last call returned -EAGAIN */
    bool ended;                     /* the descriptor is at the end of the stream */
    bool got_close_notify;          /* set by ktls, whose library does not see it */
};

/* The write and read functions of a library: as calls_sendmsg() and calls_recv(), but they count
 * records. */
ssize_t tls_write(struct tls_wire *wire, const struct iovec *vectors, int count);
ssize_t tls_read(struct tls_wire *wire, void *data, size_t size);

/* tls_seek(): saves the counters before the library looks for data. tls_found_end(): the library
 * found the close_notify, restores them. The receive that finds it is not counted, like the call
 * that finds the end of a stream. */
void tls_seek(struct tls_wire *wire);
void tls_found_end(struct tls_wire *wire);

/* Returns the number of records that begin in these bytes. They follow those of the last call. */
uint64_t tls_scan(struct tls_scan *scan, const uint8_t *data, size_t size);

/* The handshake is done: records the cipher's name and the enum handshake that was used. */
void tls_agreed(struct connection *connection, const char *cipher, int handshake);

/* The library failed while `doing` ("receive from"). Returns the errno of the call that failed, or
 * sets `why` as the problem of the thread. Returns a negative errno value, never -EAGAIN. */
int tls_broken(const struct tls_wire *wire, const char *doing, const char *why);
