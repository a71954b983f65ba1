/* SPDX-License-Identifier: MIT */
/* What the TLS filters share: the path from their libraries to the counted calls, and errors. The
 * state of each filter, connection->filter_state, begins with a struct tls_wire.
 *
 * Records are counted by their headers in the byte stream, whatever the library (RFC 8446, 5.1:
 * type, version, length). */
#pragma once

#include "connection/security.h"

#define TLS_HEADER_SIZE 5u
#define TLS_RECORD_MAX 16384u /* bytes of payload: RFC 8446, 5.1 */

/* The position of one direction in its records. */
struct tls_scan {
    uint32_t known; /* header bytes read so far */
    uint32_t left;  /* bytes left of the record, once its header is known */
};

struct tls_wire {
    struct tls_scan in, out;
    uint64_t reads, records, bytes; /* received; saved by tls_save_counts() */
    int error;                      /* errno of the call that broke the connection; 0: none did */
    bool blocked;                   /* the last call returned -EAGAIN */
    bool ended;                     /* the descriptor is at the end of the stream */
    bool got_close_notify;          /* set by ktls, whose library does not see it */
};

/* What both ends agreed on before, which is the beginning of the context of each filter. */
static inline const struct security_terms *tls_terms(const struct connection *connection)
{
    return connection->shared->contexts[connection->peer];
}

/* The library writes and reads by these. They are calls_sendmsg() and calls_recv(), and count
 * records. */
ssize_t tls_write(struct connection *connection, const struct iovec *vectors, int count);
ssize_t tls_read(struct connection *connection, void *data, size_t size);

/* Saves the counters before the library receives, and restores them if it finds the close_notify.
 * So that receive is not counted, like the call that finds the end of a stream. */
void tls_save_counts(struct connection *connection);
void tls_restore_counts(struct connection *connection);

/* The number of records whose headers end in these bytes, which follow those of the last call. */
uint64_t tls_scan(struct tls_scan *scan, const uint8_t *data, size_t size);

/* Counts a completed handshake, and notes its result for the record. Each filter enables one
 * version and one cipher. */
void tls_note_handshake(struct connection *connection, enum handshake handshake);

/* The library failed while `doing` ("receive from"). If a system call failed, returns its negative
 * errno value. Else sets `why` as the problem of the thread and returns -EPROTO. */
int tls_fail(const struct connection *connection, const char *doing, const char *why);

/* ---- a certificate: certificate.c ----
 *
 * It is self-signed, for a server that cannot use a pre-shared key, with an Ed25519 key (RFC 8410).
 * Its private key is the key of the run. So a client, which has this key too, accepts only the
 * right certificate. */

#define CERTIFICATE_DIFFERS "its certificate is not the one of this run"

/* Checks that this build can make a certificate. 0, or -1 with an unsupported problem. */
int certificate_check(struct problem *problem);

/* Returns the private key and the certificate as PEM text in new memory, which the caller wipes and
 * frees. NULL: it cannot be made. */
char *certificate_make(const uint8_t key[SECURITY_KEY_SIZE]);

/* Whether the certificate `der` has the public key that belongs to `key`. Only in a build with
 * GnuTLS. */
bool certificate_is_of(const void *der, size_t size, const uint8_t key[SECURITY_KEY_SIZE]);
