/* SPDX-License-Identifier: MIT */
#include "security/tls.h"

#include <string.h>

uint64_t tls_scan(struct tls_scan *scan, const uint8_t *data, size_t size)
{
    uint64_t records = 0;

    for (size_t part; size; data += part, size -= part) {
        if (scan->known < TLS_HEADER_SIZE) {
            part = 1;
            scan->left = (scan->left << 8 | *data) & 0xffff; /* the length is at the end of a header */
            records += ++scan->known == TLS_HEADER_SIZE;
        } else {
            part = scan->left < size ? scan->left : size;
            scan->left -= (uint32_t)part;
        }
        if (scan->known == TLS_HEADER_SIZE && !scan->left)
            scan->known = 0;
    }
    return records;
}

/* Notes how a call ended, which the library does not report. */
static void note_result(struct tls_wire *wire, ssize_t result)
{
    wire->blocked = result == -EAGAIN;
    if (result < 0 && !wire->blocked)
        wire->error = (int)-result;
}

ssize_t tls_write(struct connection *connection, const struct iovec *vectors, int count)
{
    struct tls_wire *wire = connection->filter_state;
    struct call_counts *counts = &connection->calls.counts;
    ssize_t sent = count == 1 ? socket_send(connection, vectors->iov_base, vectors->iov_len, 0)
                              : socket_sendv(connection, (struct iovec *)(uintptr_t)vectors, count, 0);

    note_result(wire, sent);
    for (size_t left = sent > 0 ? (size_t)sent : 0, part; left; left -= part, vectors++) {
        part = vectors->iov_len < left ? vectors->iov_len : left;
        counts->records_sent += tls_scan(&wire->out, vectors->iov_base, part);
        counts->tls_bytes_sent += part;
    }
    return sent;
}

ssize_t tls_read(struct connection *connection, void *data, size_t size)
{
    struct tls_wire *wire = connection->filter_state;
    ssize_t received = socket_receive(connection, data, size, 0);
    note_result(wire, received);
    wire->ended |= received == 0;
    if (received > 0) {
        connection->calls.counts.records_received += tls_scan(&wire->in, data, (size_t)received);
        connection->calls.counts.tls_bytes_received += (uint64_t)received;
    }
    return received;
}

void tls_save_counts(struct connection *connection)
{
    const struct call_counts *counts = &connection->calls.counts;
    struct tls_wire *wire = connection->filter_state;
    wire->reads = counts->made[CALL_RECVFROM];
    wire->records = counts->records_received;
    wire->bytes = counts->tls_bytes_received;
}

void tls_restore_counts(struct connection *connection)
{
    struct call_counts *counts = &connection->calls.counts;
    const struct tls_wire *wire = connection->filter_state;
    counts->made[CALL_RECVFROM] = wire->reads;
    counts->records_received = wire->records;
    counts->tls_bytes_received = wire->bytes;
}

void tls_note_handshake(struct connection *connection, enum handshake handshake)
{
    connection->calls.counts.handshakes++;
    connection->calls.counts.resumed += handshake == HANDSHAKE_TICKET;
    connection->shared->negotiated =
        (struct security_negotiated){.version = "1.3",
                                     .cipher = cipher_names[connection->plan->cipher],
                                     .key_exchange = handshake_names[handshake]};
}

int tls_fail(const struct connection *connection, const char *doing, const char *why)
{
    const struct tls_wire *wire = connection->filter_state;

    if (wire->error)
        return -wire->error;
    if (wire->ended)
        why = "the connection was closed without a close_notify";
    const char *end = strstr(why, ". "); /* the full stop of a first sentence, not that of "TLS 1.3" */
    size_t length = end ? (size_t)(end - why) : strlen(why);
    length -= length && why[length - 1] == '.';
    problem_of_kind(&connection->shared->problem, wire->ended ? PROBLEM_SYMPTOM : PROBLEM_FAILURE,
                    "the %s could not %s the %s: %s: %.*s", end_names[connection->end], doing,
                    end_names[connection->peer], connection->security->variant.name, (int)length, why);
    return -EPROTO;
}
