/* SPDX-License-Identifier: MIT */
#include "security/tls.h"

#include <string.h>

uint64_t tls_scan(struct tls_scan *scan, const uint8_t *data, size_t size)
{
    uint64_t records = 0;

    while (size) {
        size_t part = scan->left;

        if (!part) {
            scan->header[scan->known++] = *data;
            part = 1;
            if (scan->known == TLS_HEADER_SIZE) {
                scan->left = (uint32_t)scan->header[3] << 8 | scan->header[4];
                scan->known = 0;
                records++;
            }
        } else {
            part = part < size ? part : size;
            scan->left -= (uint32_t)part;
        }
        data += part;
        size -= part;
    }
    return records;
}

ssize_t tls_write(struct tls_wire *wire, const struct iovec *vectors, int count)
{
    struct calls *calls = &wire->connection->calls;
    ssize_t sent = count == 1 ? below_send(wire->connection, vectors->iov_base, vectors->iov_len, 0)
                              : below_sendv(wire->connection, (struct iovec *)(uintptr_t)vectors, count, 0);

    wire->blocked = sent == -EAGAIN;
    if (sent < 0 && !wire->blocked)
        wire->error = (int)-sent;
    for (size_t left = sent > 0 ? (size_t)sent : 0, part; left; left -= part, vectors++) {
        part = vectors->iov_len < left ? vectors->iov_len : left;
        calls->counts.records_sent += tls_scan(&wire->out, vectors->iov_base, part);
        calls->counts.tls_bytes_sent += part;
    }
    return sent;
}

ssize_t tls_read(struct tls_wire *wire, void *data, size_t size)
{
    struct calls *calls = &wire->connection->calls;
    ssize_t received = below_receive(wire->connection, data, size, 0);

    wire->blocked = received == -EAGAIN;
    if (received < 0 && !wire->blocked)
        wire->error = (int)-received;
    wire->ended |= received == 0;
    if (received > 0) {
        calls->counts.records_received += tls_scan(&wire->in, data, (size_t)received);
        calls->counts.tls_bytes_received += (uint64_t)received;
    }
    return received;
}

void tls_save_counts(struct tls_wire *wire)
{
    const struct call_counts *counts = &wire->connection->calls.counts;

    wire->reads = counts->made[CALL_RECVFROM];
    wire->records = counts->records_received;
    wire->bytes = counts->tls_bytes_received;
}

void tls_restore_counts(struct tls_wire *wire)
{
    struct call_counts *counts = &wire->connection->calls.counts;

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

int tls_fail(const struct tls_wire *wire, const char *doing, const char *why)
{
    const struct connection *connection = wire->connection;
    const char *end;
    size_t length;

    if (wire->error)
        return -wire->error;
    if (wire->ended)
        why = "the connection was closed without a close_notify";
    end = strstr(why, ". "); /* the full stop of a library's first sentence, not that of "TLS 1.3" */
    length = end ? (size_t)(end - why) : strlen(why);
    length -= length && why[length - 1] == '.';
    problem_failure(&connection->shared->problem, "the %s could not %s the %s: %s: %.*s",
                    end_names[connection->end], doing, end_names[connection->peer],
                    connection->security->variant.name, (int)length, why);
    return -EPROTO;
}
