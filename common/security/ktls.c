/* SPDX-License-Identifier: MIT */
/* TLS by the kernel: GnuTLS makes the handshake, then the socket gets the keys. From then on the
 * kernel encrypts and decrypts.
 *
 * If the next record has no data, recv(2) fails with EIO. Only recvmsg(2) with a control buffer
 * takes the record and its type (Linux, Documentation/networking/tls.rst). */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "security/gnutls.h"
#include "transport/transport.h"

#include <linux/tls.h>
#include <netinet/tcp.h>
#include <poll.h>

/* RFC 8446, 5.1, 4 and 6.1. */
enum { RECORD_ALERT = 21, RECORD_HANDSHAKE = 22 };
enum { HANDSHAKE_NEW_SESSION_TICKET = 4, HANDSHAKE_KEY_UPDATE = 24 };
enum { ALERT_WARNING = 1, ALERT_CLOSE_NOTIFY = 0 };

/* ---- the handshake ---- */

/* The keys of a direction, in the kernel's format. */
union keys {
    struct tls_crypto_info info; /* the first member of all */
    struct tls12_crypto_info_aes_gcm_128 aes_gcm_128;
    struct tls12_crypto_info_chacha20_poly1305 chacha20_poly1305;
};

/* All of `union keys` have the same fields in this order: info, IV, key, salt, sequence number. */
static const struct layout {
    gnutls_cipher_algorithm_t algorithm;
    uint16_t type;
    size_t iv_size, key_size, salt_size;
} layouts[] = {
    {GNUTLS_CIPHER_AES_128_GCM, TLS_CIPHER_AES_GCM_128, 8, 16, 4},
    {GNUTLS_CIPHER_CHACHA20_POLY1305, TLS_CIPHER_CHACHA20_POLY1305, 12, 32, 0},
};

static int set_option(struct connection *connection, int level, int name, const void *value, socklen_t size)
{
    connection->calls.counts.made[CALL_OPTION]++;
    return setsockopt(connection->calls.fd, level, name, value, size) < 0 ? -errno : 0;
}

/* GnuTLS has one nonce: the kernel's salt, then its IV. */
static int install_key(struct connection *connection, int direction)
{
    gnutls_session_t session = gnutls_layer_of(connection)->gnutls;
    const struct layout *layout = layouts, *end = layouts + sizeof layouts / sizeof *layouts;
    union keys keys;
    uint8_t sequence[8], *at = (uint8_t *)&keys + sizeof keys.info;
    gnutls_datum_t mac, nonce, key;

    if (gnutls_record_get_state(session, direction == TLS_RX, &mac, &nonce, &key, sequence) < 0)
        return -EOPNOTSUPP;
    while (layout < end && (layout->algorithm != gnutls_cipher_get(session) || layout->key_size != key.size ||
                            layout->salt_size + layout->iv_size != nonce.size))
        layout++;
    if (layout == end) /* this file does not know the cipher */
        return -EOPNOTSUPP;
    keys.info = (struct tls_crypto_info){.version = TLS_1_3_VERSION, .cipher_type = layout->type};
    at = mempcpy(at, nonce.data + layout->salt_size, layout->iv_size);
    at = mempcpy(at, key.data, layout->key_size);
    at = mempcpy(at, nonce.data, layout->salt_size);
    at = mempcpy(at, sequence, sizeof sequence);
    int result = set_option(connection, SOL_TLS, direction, &keys, (socklen_t)(at - (uint8_t *)&keys));
    secret_wipe(&keys, sizeof keys);
    return result;
}

/* GnuTLS reads record by record, so it has not read beyond the handshake. */
static int handshake(struct connection *connection)
{
    int result = gnutls_layer_handshake(connection);
    if (result < 0)
        return result;
    if ((result = set_option(connection, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls")) == 0 &&
        (result = install_key(connection, TLS_TX)) == 0 && (result = install_key(connection, TLS_RX)) == 0)
        return 0;
    problem_failure(&connection->shared->problem, "the kernel does not take the keys of the %s: %s",
                    end_names[connection->end], strerror(-result));
    return -EPROTO;
}

/* ---- records without data ---- */

union record_type {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(uint8_t))];
};

static int unexpected(struct connection *connection, const char *what, const char *name)
{
    problem_failure(&connection->shared->problem, "the %s received %s%s from the %s, which it cannot handle",
                    end_names[connection->end], what, name, end_names[connection->peer]);
    return -EPROTO;
}

/* gnutls_handshake_write() requires a function that sends messages. GnuTLS sends none here. */
static int send_nothing(gnutls_session_t session, gnutls_record_encryption_level_t level,
                        gnutls_handshake_description_t type, const void *data, size_t size)
{
    return -1;
}

/* Takes the next record, which has no data. 0 or a negative errno value. This call is not counted,
 * like the call that finds the end of a stream. A ticket goes to GnuTLS: gnutls_layer_close() keeps
 * it. */
static int take_control_record(struct connection *connection)
{
    struct gnutls_layer *layer = gnutls_layer_of(connection);
    uint8_t record[TLS_RECORD_MAX];
    union record_type control = {0};
    struct iovec vector = {record, sizeof record};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(connection->calls.fd, &message, MSG_DONTWAIT);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    if (size < 0)
        return -errno;
    if (!header || header->cmsg_level != SOL_TLS || header->cmsg_type != TLS_GET_RECORD_TYPE)
        return -EIO;
    if (*CMSG_DATA(header) == RECORD_ALERT) {
        const char *name = size == 2 ? gnutls_alert_get_name(record[1]) : NULL;

        if (size != 2 || record[1] != ALERT_CLOSE_NOTIFY)
            return unexpected(connection, "an alert: ", name ? name : "of an unknown kind");
        layer->wire.got_close_notify = true;
        return 0;
    }
    if (*CMSG_DATA(header) != RECORD_HANDSHAKE)
        return unexpected(connection, "a record of an unknown type", "");
    uint8_t type = size ? *record : 0;
    gnutls_handshake_set_read_function(layer->gnutls, send_nothing);
    if (type == HANDSHAKE_NEW_SESSION_TICKET &&
        gnutls_handshake_write(layer->gnutls, GNUTLS_ENCRYPTION_LEVEL_APPLICATION, record, (size_t)size) == 0)
        return 0;
    return unexpected(connection, "a handshake message", type == HANDSHAKE_KEY_UPDATE ? " (KeyUpdate)" : "");
}

/* ---- data ---- */

static ssize_t receive(struct connection *connection, void *data, size_t size, int flags)
{
    struct tls_wire *wire = connection->filter_state;
    ssize_t received = 0;
    int result = 0;

    tls_save_counts(connection);
    while (result == 0 && !wire->got_close_notify &&
           (received = socket_receive(connection, data, size, flags)) == -EIO)
        result = take_control_record(connection);
    if (result < 0)
        return result;
    if (wire->got_close_notify) {
        tls_restore_counts(connection);
        return 0;
    }
    wire->ended = received == 0;
    /* these errors come from the kernel's TLS only */
    bool is_no_record = received == -EMSGSIZE || received == -EINVAL;
    if (!wire->ended && !is_no_record && received != -EBADMSG)
        return received;
    return tls_fail(connection, "receive from",
                    is_no_record ? "the received bytes are not a TLS 1.3 record"
                                 : "a record cannot be decrypted");
}

static int send_close_notify(struct connection *connection)
{
    uint8_t alert[2] = {ALERT_WARNING, ALERT_CLOSE_NOTIFY};
    union record_type control = {.header = {.cmsg_len = CMSG_LEN(sizeof(uint8_t)),
                                            .cmsg_level = SOL_TLS,
                                            .cmsg_type = TLS_SET_RECORD_TYPE}};
    struct iovec vector = {alert, sizeof alert};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *CMSG_DATA(&control.header) = RECORD_ALERT;
    ssize_t sent = calls_sendmsg(&connection->calls, &message, 0);
    return sent < 0 ? (int)sent : 0;
}

/* ---- support of this kernel ---- */

#define PROBE_TEXT "uncork"
#define PROBE_RECORD_SIZE (TLS_HEADER_SIZE + sizeof PROBE_TEXT + 1 + TLS_CIPHER_AES_GCM_128_TAG_SIZE)
#define PROBE_WITHIN_MS 1000

/* Sends with keys. A longer record must arrive, and not the plain text: a system may accept every
 * option and encrypt nothing. Returns what is wrong, or NULL. */
static const char *probe(void)
{
    union keys keys = {.info = {TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_128}}; /* all zeroes */
    char arrived[2 * PROBE_RECORD_SIZE];
    int fds[2];

    if (tcp_make_pair(0, fds) < 0)
        return "no pair of sockets could be made to test it";
    CLEANUP_CLOSE int to = fds[1], from = fds[0]; /* closed in the other order */
    struct pollfd ready = {.fd = to, .events = POLLIN};
    if (setsockopt(from, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") < 0)
        return "this kernel has no TLS (CONFIG_TLS; as a module it is loaded by modprobe tls)";
    if (setsockopt(from, SOL_TLS, TLS_TX, &keys, sizeof keys.aes_gcm_128) < 0)
        return "the kernel does not take keys of TLS 1.3 (Linux 5.1)";
    if (send(from, PROBE_TEXT, sizeof PROBE_TEXT, MSG_NOSIGNAL) != sizeof PROBE_TEXT ||
        poll(&ready, 1, PROBE_WITHIN_MS) != 1)
        return "a record that the kernel encrypted did not arrive";
    if (recv(to, arrived, sizeof arrived, 0) != PROBE_RECORD_SIZE ||
        memmem(arrived, PROBE_RECORD_SIZE, PROBE_TEXT, sizeof PROBE_TEXT))
        return "the kernel takes the keys but encrypts nothing";
    return NULL;
}

static int check(struct problem *problem)
{
    static const char *reason;
    static bool is_known;
    if (!is_known)
        reason = probe();
    is_known = true;
    return reason ? problem_unsupported(problem, "security=ktls does not work here: %s", reason) : 0;
}

const struct security security_ktls = {
    .variant = {"ktls", "TLS 1.3 by the kernel, after a handshake by GnuTLS"},
    .gives = CAPABLE_DESCRIPTOR | CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_MORE | CAPABLE_RECV_MULTISHOT |
             CAPABLE_RECV_BUNDLE | CAPABLE_SEND_BUFFERS | CAPABLE_SENDFILE,
    .withholds = "the kernel's TLS has no zero-copy, no bundles of buffers, and no MSG_TRUNC that discards",
    GNUTLS_LAYER,
    .check = check,
    .handshake = handshake,
    .layer = {.send = socket_send, .sendv = socket_sendv, .receive = receive},
    .close_notify = send_close_notify,
    .lingers = true,
};
