/* SPDX-License-Identifier: MIT */
/*
 * What the layers of TLS share: the way of their libraries to the counted calls, and what is said of them.
 *
 * Records are counted by their headers (RFC 8446, 5.1: type, version, length) in what goes through, whoever
 * made them.
 */
#ifndef UNCORK_SECURITY_TLS_H
#define UNCORK_SECURITY_TLS_H

#include "security/security.h"

#define TLS_IDENTITY "uncork" /* of the pre-shared key; there is one for each run */
#define TLS_HEADER_SIZE 5u
#define TLS_RECORD_MAX 16384u /* bytes of payload: RFC 8446, 5.1 */

/* Where one direction stands in its records. */
struct tls_scan {
    uint8_t header[TLS_HEADER_SIZE];
    uint32_t known; /* bytes of the header */
    uint32_t left;  /* bytes of the record */
};

/* What a layer has of a connection besides its library's session. */
struct tls_wire {
    struct connection *connection;
    struct tls_scan in, out;
    uint64_t reads, records, bytes; /* received when the library was asked for more */
    int error;                      /* errno of the call that broke the connection; 0: none did */
    bool blocked;                   /* the last call found no room, or nothing */
    bool ended;                     /* the descriptor is at its end */
    bool parted;                    /* the other end has said so: noted where no library does */
};

/* For a library to write and read by. As calls_sendmsg() and calls_recv(), and counted as records too. */
ssize_t tls_write(struct tls_wire *wire, const struct iovec *vectors, int count);
ssize_t tls_read(struct tls_wire *wire, void *data, size_t size);

/* The library is asked for what has come; and it has found the close_notify: what that took is not counted,
 * as the call that finds the end of a stream is not. */
void tls_seek(struct tls_wire *wire);
void tls_found_end(struct tls_wire *wire);

/* How many records begin in these bytes, which follow those of the calls before. */
uint64_t tls_scan(struct tls_scan *scan, const uint8_t *data, size_t size);

/* The handshake is done, and this is what came of it: the cipher's name and enum handshake. */
void tls_agreed(struct connection *connection, const char *cipher, int handshake);

/* The library could not go on `doing` ("receive from"): the errno of the call that failed, or `why` as the
 * problem of the workbench. Returns a negative errno value, never -EAGAIN. */
int tls_broken(const struct tls_wire *wire, const char *doing, const char *why);

#endif
