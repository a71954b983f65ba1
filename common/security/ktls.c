/* SPDX-License-Identifier: MIT */
/*
 * TLS by the kernel: GnuTLS does the handshake and gives its keys to the socket. The kernel
 * encrypts and decrypts what the descriptor sends and receives.
 *
 * If the next record is no data, recv(2) fails with EIO. The record stays first until a recvmsg(2)
 * takes it that asks for the record type (Linux, Documentation/networking/tls.rst).
 */
#include "base/secret.h"
#include "connection/capability.h"
#include "security/gnutls.h"
#include "transport/transport.h"

#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* RFC 8446, 5.1, 4 and 6.1. */
enum { RECORD_ALERT = 21, RECORD_HANDSHAKE = 22 };
enum { HANDSHAKE_NEW_SESSION_TICKET = 4, HANDSHAKE_KEY_UPDATE = 24 };
enum { ALERT_WARNING = 1, ALERT_CLOSE_NOTIFY = 0 };

/* ---- the keys of a direction, in the kernel's form ---- */

union keys {
    struct tls_crypto_info info; /* the first member of all */
    struct tls12_crypto_info_aes_gcm_128 aes_gcm_128;
    struct tls12_crypto_info_chacha20_poly1305 chacha20_poly1305;
};

/* The offsets and sizes of the fields. The kernel's salt and IV, one after the other, are the nonce
 * of the library. */
struct layout {
    gnutls_cipher_algorithm_t algorithm;
    uint16_t type;
    socklen_t size;
    size_t key, key_size, salt, salt_size, iv, iv_size, sequence;
};

#define LAYOUT(gnutls, type, form)                                                                           \
    {                                                                                                        \
        gnutls, type, sizeof(struct form), offsetof(struct form, key), type##_KEY_SIZE,                      \
            offsetof(struct form, salt), type##_SALT_SIZE, offsetof(struct form, iv), type##_IV_SIZE,        \
            offsetof(struct form, rec_seq)                                                                   \
    }

static const struct layout layouts[] = {
    LAYOUT(GNUTLS_CIPHER_AES_128_GCM, TLS_CIPHER_AES_GCM_128, tls12_crypto_info_aes_gcm_128),
    LAYOUT(GNUTLS_CIPHER_CHACHA20_POLY1305, TLS_CIPHER_CHACHA20_POLY1305,
           tls12_crypto_info_chacha20_poly1305),
};

static const struct layout *layout_of(gnutls_session_t session)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].algorithm == gnutls_cipher_get(session))
            return &layouts[i];
    return NULL;
}

static int describe_keys(union keys *keys, const struct layout *layout, gnutls_session_t session,
                         bool incoming)
{
    gnutls_datum_t mac, nonce, key;
    uint8_t sequence[8], *at = (uint8_t *)keys;

    if (gnutls_record_get_state(session, incoming, &mac, &nonce, &key, sequence) < 0 ||
        nonce.size != layout->salt_size + layout->iv_size || key.size != layout->key_size)
        return -EOPNOTSUPP;
    *keys = (union keys){.info = {.version = TLS_1_3_VERSION, .cipher_type = layout->type}};
    memcpy(at + layout->key, key.data, layout->key_size);
    memcpy(at + layout->salt, nonce.data, layout->salt_size);
    memcpy(at + layout->iv, nonce.data + layout->salt_size, layout->iv_size);
    memcpy(at + layout->sequence, sequence, sizeof sequence);
    return 0;
}

/* ---- the handshake ---- */

static int set_option(int fd, int level, int name, const void *value, socklen_t size)
{
    return setsockopt(fd, level, name, value, size) < 0 ? -errno : 0;
}

static int give_keys(struct connection *connection, int direction)
{
    gnutls_session_t session = gnutls_layer_session(connection);
    const struct layout *layout = layout_of(session);
    union keys keys;
    int result = layout ? describe_keys(&keys, layout, session, direction == TLS_RX) : -EOPNOTSUPP;

    if (result < 0)
        return result;
    connection->calls.counts.made[CALL_OPTION]++;
    result = set_option(connection->calls.fd, SOL_TLS, direction, &keys, layout->size);
    secret_wipe(&keys, sizeof keys);
    return result;
}

static int hand_over(struct connection *connection)
{
    int result;

    connection->calls.counts.made[CALL_OPTION]++;
    result = set_option(connection->calls.fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls");
    if (result == 0)
        result = give_keys(connection, TLS_TX);
    return result < 0 ? result : give_keys(connection, TLS_RX);
}

/* GnuTLS reads record by record. So it has read nothing that follows the handshake. */
static int shake(struct connection *connection)
{
    int result = gnutls_layer_shake(connection);

    if (result < 0)
        return result;
    result = hand_over(connection);
    if (result < 0)
        problem_failure(&connection->bench->problem, "the kernel does not take the keys of the %s: %s",
                        end_names[connection->end], strerror(-result));
    return result < 0 ? -EPROTO : 0;
}

/* ---- records that are no data ---- */

struct other {
    uint8_t type, data[TLS_RECORD_MAX];
    size_t size;
};

union record_type {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(uint8_t))];
};

/* Not counted, like the call that finds the end of a stream. */
static int take_other(const struct connection *connection, struct other *other)
{
    union record_type control = {0};
    struct iovec vector = {other->data, sizeof other->data};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(connection->calls.fd, &message, MSG_DONTWAIT);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    if (size < 0)
        return -errno;
    if (!header || header->cmsg_level != SOL_TLS || header->cmsg_type != TLS_GET_RECORD_TYPE)
        return -EIO;
    other->type = *CMSG_DATA(header);
    other->size = (size_t)size;
    return 0;
}

static int unexpected(struct connection *connection, const char *what, const char *name)
{
    problem_failure(&connection->bench->problem, "the %s received %s%s from the %s, and could not go on",
                    end_names[connection->end], what, name, end_names[connection->peer]);
    return -EPROTO;
}

static int judge_alert(struct connection *connection, const struct other *other)
{
    const char *name = other->size == 2 ? gnutls_alert_get_name(other->data[1]) : NULL;

    if (other->size == 2 && other->data[1] == ALERT_CLOSE_NOTIFY) {
        gnutls_layer_wire(connection)->parted = true;
        return 0;
    }
    return unexpected(connection, "an alert: ", name ? name : "of no known kind");
}

/* GnuTLS takes handshake messages from outside only if its own messages go outside, too. It has
 * none any more. */
static int send_nothing(gnutls_session_t session, gnutls_record_encryption_level_t level,
                        gnutls_handshake_description_t type, const void *data, size_t size)
{
    (void)session, (void)level, (void)type, (void)data, (void)size;
    return -1;
}

static int take_ticket(const struct connection *connection, const struct other *other)
{
    gnutls_session_t session = gnutls_layer_session(connection);

    gnutls_handshake_set_read_function(session, send_nothing);
    return gnutls_handshake_write(session, GNUTLS_ENCRYPTION_LEVEL_APPLICATION, other->data, other->size);
}

/* The ticket goes to the library, which keeps it when the session is closed. */
static int judge_handshake(struct connection *connection, const struct other *other)
{
    if (other->size && other->data[0] == HANDSHAKE_NEW_SESSION_TICKET && take_ticket(connection, other) == 0)
        return 1;
    return unexpected(connection, "a message of a handshake",
                      other->size && other->data[0] == HANDSHAKE_KEY_UPDATE ? ", an update of its keys" : "");
}

/* Takes the record that is first. 0: the other end sends no more; 1: data may follow; or a negative
 * errno value. */
static int look(struct connection *connection)
{
    struct other other;
    int result = take_other(connection, &other);

    if (result < 0)
        return result;
    if (other.type == RECORD_ALERT)
        return judge_alert(connection, &other);
    if (other.type == RECORD_HANDSHAKE)
        return judge_handshake(connection, &other);
    return unexpected(connection, "a record of an unknown type", "");
}

/* ---- data ---- */

/* The errors of a receive that have a special meaning in the kernel's TLS; NULL for all others. */
static const char *why(ssize_t result)
{
    switch (-result) {
    case EBADMSG:
        return "a record cannot be decrypted";
    case EMSGSIZE:
    case EINVAL:
        return "what came is no record of TLS 1.3";
    default:
        return NULL;
    }
}

static ssize_t receive(struct connection *connection, void *data, size_t size, int flags)
{
    struct tls_wire *wire = gnutls_layer_wire(connection);
    ssize_t came = -EIO;
    int found = 1;

    tls_seek(wire);
    while (came == -EIO && found > 0 && !wire->parted)
        if ((came = below_receive(connection, data, size, flags)) == -EIO)
            found = look(connection);
    if (wire->parted) {
        tls_found_end(wire);
        return 0;
    }
    if (came == -EIO)
        return found;
    wire->ended = came == 0;
    return came == 0 || why(came) ? tls_broken(wire, "receive from", why(came)) : came;
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
    ssize_t sent;

    *CMSG_DATA(&control.header) = RECORD_ALERT;
    sent = calls_sendmsg(&connection->calls, &message, 0);
    return sent < 0 ? (int)sent : 0;
}

/* ---- what this kernel supports ---- */

#define PROBE_TEXT "uncork"
#define PROBE_RECORD_SIZE (TLS_HEADER_SIZE + sizeof PROBE_TEXT + 1 + TLS_CIPHER_AES_GCM_128_TAG_SIZE)
#define PROBE_WITHIN_MS 1000

/* Sends by keys on `fds[0]`. A record, which is longer, must arrive on `fds[1]`, not plain text: a
 * system may accept every option and encrypt nothing. Returns the reason, or NULL. */
static const char *probe(const int fds[2])
{
    union keys keys = {.info = {TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_128}}; /* all zeroes */
    struct pollfd ready = {.fd = fds[1], .events = POLLIN};
    char came[2 * PROBE_RECORD_SIZE];

    if (set_option(fds[0], IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") < 0)
        return "this kernel has no TLS (CONFIG_TLS; as a module it is loaded by modprobe tls)";
    if (set_option(fds[0], SOL_TLS, TLS_TX, &keys, sizeof keys.aes_gcm_128) < 0)
        return "the kernel takes no keys of TLS 1.3 (Linux 5.1)";
    if (send(fds[0], PROBE_TEXT, sizeof PROBE_TEXT, MSG_NOSIGNAL) != sizeof PROBE_TEXT ||
        poll(&ready, 1, PROBE_WITHIN_MS) != 1)
        return "what was sent with the keys of the kernel did not arrive";
    if (recv(fds[1], came, sizeof came, 0) != PROBE_RECORD_SIZE ||
        memmem(came, PROBE_RECORD_SIZE, PROBE_TEXT, sizeof PROBE_TEXT))
        return "the kernel takes the keys and encrypts nothing";
    return NULL;
}

static const char *probe_pair(void)
{
    extern const struct transport transport_tcp;
    const char *reason;
    int fds[2];

    if (transport_tcp.pair(fds) < 0)
        return "no pair of sockets could be made to try it";
    reason = probe(fds);
    close(fds[0]);
    close(fds[1]);
    return reason;
}

static int check(struct problem *problem)
{
    static const char *reason;
    static bool known;

    reason = known ? reason : probe_pair();
    known = true;
    return reason ? problem_unsupported(problem, "security=ktls does not work here: %s", reason) : 0;
}

const struct security security_ktls = {
    .variant = {"ktls", "TLS 1.3 by the kernel, after a handshake by GnuTLS"},
    .gives = CAPABLE_DESCRIPTOR | CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_MORE | CAPABLE_RECEIVE_AGAIN |
             CAPABLE_RECEIVE_BUNDLE | CAPABLE_SEND_BUFFERS | CAPABLE_SENDFILE,
    .withholds = "the kernel's TLS refuses memory that is lent and bundles of buffers, and discards nothing",
    .encrypts = true,
    .check = check,
    .library = gnutls_layer_library,
    .context_open = gnutls_layer_open_context,
    .context_close = gnutls_layer_close_context,
    .open = gnutls_layer_open,
    .handshake = shake,
    .close = gnutls_layer_close,
    .layer = {.send = below_send,
              .sendv = below_sendv,
              .sendfile = below_sendfile,
              .submit = below_submit,
              .receive = receive,
              .submit_receive = below_submit_receive},
    .close_notify = send_close_notify,
    .lingers = true,
};
