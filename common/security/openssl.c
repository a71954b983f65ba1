/* SPDX-License-Identifier: MIT */
/* TLS by OpenSSL: each SSL_write() makes a record; a buffering BIO above it is the cork. */
#include "security/tls.h"

#include "base/cleanup.h"
#include "base/keylog.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The connections of one thread with one peer share a context. */
struct context {
    struct security_terms terms;
    SSL_CTX *openssl;
    BIO_METHOD *calls;
    SSL_SESSION *ticket; /* of a client: the last one */
};

struct session {
    struct tls_wire wire;
    SSL *openssl;
    BIO *buffer; /* buffering BIO for a cork, made when first needed */
    bool holds;
    bool used_key; /* at a server: the client used the pre-shared key, not a ticket */
};

static struct session *session_of(const struct connection *connection)
{
    return connection->filter_state;
}

/* ---- the pre-shared key, as a session ---- */

static const struct {
    const char *suite;
    unsigned char id[2];
} ciphers[] = {
    [CIPHER_AES_128_GCM] = {"TLS_AES_128_GCM_SHA256", {0x13, 0x01}},
    [CIPHER_CHACHA20_POLY1305] = {"TLS_CHACHA20_POLY1305_SHA256", {0x13, 0x03}},
    [CIPHER_AES_256_GCM] = {"TLS_AES_256_GCM_SHA384", {0x13, 0x02}},
};

/* 68 years. A ticket inherits it. The default is 304 s: if the wall clock is set forward by more, a
 * server of OpenSSL 3.0 takes the ticket for expired, and then ignores the key too. */
#define SESSION_TIMEOUT_S INT32_MAX

static SSL_SESSION *make_key_session(SSL *openssl)
{
    const struct security_terms *terms = tls_terms(SSL_get_app_data(openssl));
    const SSL_CIPHER *cipher = SSL_CIPHER_find(openssl, ciphers[terms->cipher].id);
    SSL_SESSION *made = SSL_SESSION_new();
    if (made && cipher && SSL_SESSION_set1_master_key(made, terms->key, sizeof terms->key) &&
        SSL_SESSION_set_cipher(made, cipher) && SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) &&
        SSL_SESSION_set_timeout(made, SESSION_TIMEOUT_S))
        return made;
    SSL_SESSION_free(made);
    return NULL;
}

/* Only one cipher is enabled, so the digest always fits. */
static int use_key(SSL *openssl, const EVP_MD *digest, const unsigned char **identity, size_t *size,
                   SSL_SESSION **made)
{
    const struct security_terms *terms = tls_terms(SSL_get_app_data(openssl));
    *identity = terms->identity;
    *size = terms->identity_size;
    return (*made = make_key_session(openssl)) != NULL;
}

/* OpenSSL calls this for each identity that the client offers, also for tickets. */
static int find_key(SSL *openssl, const unsigned char *identity, size_t size, SSL_SESSION **made)
{
    const struct connection *connection = SSL_get_app_data(openssl);
    const struct security_terms *terms = tls_terms(connection);
    *made = NULL;
    if (size != terms->identity_size || memcmp(identity, terms->identity, size) != 0)
        return 1;
    session_of(connection)->used_key = true;
    return (*made = make_key_session(openssl)) != NULL;
}

static int keep_ticket(SSL *openssl, SSL_SESSION *ticket)
{
    const struct connection *connection = SSL_get_app_data(openssl);
    struct context *context = connection->shared->contexts[connection->peer];
    SSL_SESSION_free(context->ticket);
    context->ticket = ticket;
    return 1;
}

/* ---- the certificate ---- */

/* Accepts only the public key that belongs to the key of the run: nothing else in the certificate
 * identifies the server. With a pre-shared key, refuses every certificate. */
static int check_certificate(X509_STORE_CTX *store, void *opaque)
{
    const struct context *context = opaque;
    const X509 *shown = X509_STORE_CTX_get0_cert(store);
    EVP_PKEY *own =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, context->terms.key, sizeof context->terms.key);
    bool equal = context->terms.handshake == HANDSHAKE_CERTIFICATE && shown && own &&
                 EVP_PKEY_eq(X509_get0_pubkey(shown), own) == 1;
    EVP_PKEY_free(own);
    X509_STORE_CTX_set_error(store, equal ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
    return equal;
}

/* ---- I/O by the counted calls ---- */

static int bio_result(BIO *bio, ssize_t result, int retry)
{
    BIO_clear_retry_flags(bio);
    if (result == -EAGAIN)
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return result < 0 ? -1 : (int)result;
}

static int write_calls(BIO *bio, const char *data, int size)
{
    struct iovec vector = {.iov_base = (char *)(uintptr_t)data, .iov_len = (size_t)size};
    return bio_result(bio, tls_write(BIO_get_data(bio), &vector, 1), BIO_FLAGS_WRITE);
}

static int read_calls(BIO *bio, char *data, int size)
{
    return bio_result(bio, tls_read(BIO_get_data(bio), data, (size_t)size), BIO_FLAGS_READ);
}

/* A flush succeeds: this BIO has no buffer. */
static long control(BIO *bio, int what, long number, void *pointer)
{
    return what == BIO_CTRL_EOF ? session_of(BIO_get_data(bio))->wire.ended : what == BIO_CTRL_FLUSH;
}

/* ---- context ---- */

/* If both ends have a group in common, OpenSSL always makes a key exchange. So with handshake=psk
 * they have none in common, and the server ignores the client's key share.
 * SSL_OP_PREFER_NO_DHE_KEX exists since OpenSSL 3.3 and affects only the server. */
static bool set_up_context(struct context *context)
{
    static const unsigned char name[] = SECURITY_IDENTITY;
    const struct security_terms *terms = &context->terms;
    bool key_alone = terms->handshake == HANDSHAKE_PSK, resumes = terms->handshake == HANDSHAKE_TICKET;
    const char *groups = !key_alone ? "X25519:P-256" : terms->serves ? "P-521" : "X25519";
    SSL_CTX *openssl = context->openssl;

    if (key_alone)
        SSL_CTX_set_options(openssl, SSL_OP_ALLOW_NO_DHE_KEX);
    SSL_CTX_set_mode(openssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(openssl, resumes && !terms->serves
                                                ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL
                                                : SSL_SESS_CACHE_OFF);
    SSL_CTX_sess_set_new_cb(openssl, keep_ticket);
    if (!resumes)
        SSL_CTX_set_num_tickets(openssl, 0);
    if (resumes && terms->serves)
        SSL_CTX_set_session_id_context(openssl, name, sizeof name);
    if (!terms->serves) { /* else a server could ignore the pre-shared key and show any certificate */
        SSL_CTX_set_verify(openssl, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_cert_verify_callback(openssl, check_certificate, context);
    }
    if (terms->handshake != HANDSHAKE_CERTIFICATE) {
        SSL_CTX_set_psk_use_session_callback(openssl, use_key);
        SSL_CTX_set_psk_find_session_callback(openssl, find_key);
    }
    return SSL_CTX_set_min_proto_version(openssl, TLS1_3_VERSION) &&
           SSL_CTX_set_max_proto_version(openssl, TLS1_3_VERSION) &&
           SSL_CTX_set_ciphersuites(openssl, ciphers[terms->cipher].suite) &&
           SSL_CTX_set1_groups_list(openssl, groups);
}

static void close_context(void *opaque)
{
    struct context *context = opaque;
    SSL_SESSION_free(context->ticket);
    SSL_CTX_free(context->openssl);
    BIO_meth_free(context->calls);
}

static void write_key(const SSL *openssl, const char *line)
{
    keylog_write(line);
}

static int open_context(void *opaque)
{
    struct context *context = opaque;
    BIO_METHOD *calls = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "counted calls");
    context->calls = calls;
    context->openssl = SSL_CTX_new(TLS_method());
    if (calls && BIO_meth_set_write(calls, write_calls) && BIO_meth_set_read(calls, read_calls) &&
        BIO_meth_set_ctrl(calls, control) && context->openssl && set_up_context(context)) {
        if (keylog_descriptor() >= 0)
            SSL_CTX_set_keylog_callback(context->openssl, write_key);
        return 0;
    }
    ERR_clear_error();
    return -EINVAL;
}

/* ---- session ---- */

/* Uses a copy of the ticket: OpenSSL marks a session as used, and another connection may need the
 * ticket before the next one arrives. */
static int open_session(struct connection *connection)
{
    const struct context *context = connection->shared->contexts[connection->peer];
    SSL *openssl = SSL_new(context->openssl);
    BIO *bio = openssl ? BIO_new(context->calls) : NULL;
    SSL_SESSION *ticket = context->ticket ? SSL_SESSION_dup(context->ticket) : NULL;
    bool is_known = false; /* to the callbacks */

    session_of(connection)->openssl = openssl;
    if (bio) {
        BIO_set_data(bio, connection);
        BIO_set_init(bio, 1);
        SSL_set_bio(openssl, bio, bio);
        is_known = SSL_set_app_data(openssl, connection);
        (context->terms.serves ? SSL_set_accept_state : SSL_set_connect_state)(openssl);
    }
    bool is_set_up = is_known && (!context->ticket || (ticket && SSL_set_session(openssl, ticket)));
    SSL_SESSION_free(ticket);
    return is_set_up ? 0 : -ENOMEM;
}

/* Marks the session as shut down. Otherwise OpenSSL neither resumes it nor uses its ticket. */
static void close_session(struct connection *connection)
{
    struct session *session = session_of(connection);
    BIO_free_all(session->buffer);
    if (session->openssl)
        SSL_set_shutdown(session->openssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(session->openssl);
}

static int fail(const struct connection *connection, const char *doing)
{
    const char *details = ""; /* not set if OpenSSL knows no error: the call failed */
    unsigned long error = ERR_peek_error_data(&details, NULL); /* details: "SSL alert number 200" */
    bool differs = ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
    const char *why = differs ? CERTIFICATE_DIFFERS : ERR_reason_error_string(error);
    if (!why)
        why = *details ? details : "it failed and does not say why";
    int result = tls_fail(connection, doing, why);
    ERR_clear_error();
    return result;
}

/* The result of a call that is not done. `waits`: what it is if the library waits for bytes; 0:
 * then the call has failed. */
static int not_done(const struct connection *connection, const char *doing, int waits)
{
    int error = SSL_get_error(session_of(connection)->openssl, 0);
    if (error == SSL_ERROR_WANT_WRITE)
        return -EAGAIN;
    return error == SSL_ERROR_WANT_READ && waits ? waits : fail(connection, doing);
}

/* OpenSSL also reports a pre-shared key as a reused session. Without a key exchange there is no
 * group, or one without a name. */
static int handshake(struct connection *connection)
{
    const struct security_terms *terms = tls_terms(connection);
    SSL *openssl = session_of(connection)->openssl;

    if (SSL_do_handshake(openssl) != 1)
        return not_done(connection, "complete the TLS handshake with", -EINPROGRESS);
    bool by_ticket =
        SSL_session_reused(openssl) && (terms->serves ? !session_of(connection)->used_key
                                                      : SSL_SESSION_has_ticket(SSL_get0_session(openssl)));
    bool has_group = SSL_get_negotiated_group(openssl) & ~TLSEXT_nid_unknown;
    tls_note_handshake(connection, terms->handshake == HANDSHAKE_CERTIFICATE ? HANDSHAKE_CERTIFICATE
                                   : by_ticket                               ? HANDSHAKE_TICKET
                                   : has_group                               ? HANDSHAKE_PSK_ECDHE
                                                                             : HANDSHAKE_PSK);
    return 0;
}

/* ---- records ---- */

/* For a call that sends, to the session itself or to the buffer before it. If it waits for bytes,
 * the peer has broken off a KeyUpdate: the socket stays writable, so the engine would spin. */
static int not_sent(const struct connection *connection)
{
    return not_done(connection, "send to", 0);
}

static ssize_t send_record(struct connection *connection, const void *data, size_t size, int flags)
{
    const struct session *session = session_of(connection);
    bool sent = session->holds ? BIO_write_ex(session->buffer, data, size, &size)
                               : SSL_write_ex(session->openssl, data, size, &size);
    return sent ? (ssize_t)size : not_sent(connection);
}

/* A receive may wait for room: the answer to a KeyUpdate leaves with the next send. */
static ssize_t receive(struct connection *connection, void *data, size_t size, int flags)
{
    SSL *openssl = session_of(connection)->openssl;
    tls_save_counts(connection);
    if (SSL_read_ex(openssl, data, size, &size))
        return (ssize_t)size;
    if (SSL_get_error(openssl, 0) != SSL_ERROR_ZERO_RETURN)
        return not_done(connection, "receive from", -EAGAIN);
    tls_restore_counts(connection);
    return 0;
}

static bool pending(const struct connection *connection)
{
    return SSL_pending(session_of(connection)->openssl) > 0;
}

/* The buffer has the size of a record. The default, 4096 bytes, would split a header and a page. */
static int hold(struct connection *connection, bool on)
{
    struct session *session = session_of(connection);

    if (on && !session->buffer) {
        BIO *records = BIO_new(BIO_f_ssl()), *buffer = BIO_new(BIO_f_buffer());

        if (!records || !buffer || BIO_set_write_buffer_size(buffer, (long)TLS_RECORD_MAX) <= 0) {
            BIO_free(records);
            BIO_free(buffer);
            return -ENOMEM;
        }
        BIO_set_ssl(records, session->openssl, BIO_NOCLOSE);
        session->buffer = BIO_push(buffer, records);
    }
    if (!on && BIO_flush(session->buffer) <= 0)
        return not_sent(connection);
    session->holds = on;
    return 0;
}

static int send_close_notify(struct connection *connection)
{
    return SSL_shutdown(session_of(connection)->openssl) < 0 ? not_sent(connection) : 0;
}

static json_t *library(void)
{
    return json_sprintf("OpenSSL %s", OpenSSL_version(OPENSSL_VERSION_STRING));
}

const struct security security_openssl = {
    .variant = {"openssl", "TLS 1.3 by OpenSSL"},
    .gives = CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_RECORD_CORK,
    .withholds = "OpenSSL writes to the descriptor itself, and takes no flags and no vectors",
    .encrypts = true,
    .counts_records = true,
    .library = library,
    .context_size = sizeof(struct context),
    .context_open = open_context,
    .context_close = close_context,
    .state_size = sizeof(struct session),
    .open = open_session,
    .handshake = handshake,
    .close = close_session,
    .layer = {.send = send_record, .receive = receive, .pending = pending, .hold = hold},
    .close_notify = send_close_notify,
};
