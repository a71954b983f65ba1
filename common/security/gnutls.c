/* SPDX-License-Identifier: MIT */
/* TLS by GnuTLS: each send makes a record, unless the session is corked. */
#include "security/gnutls.h"

#include "base/bytes.h"
#include "base/keylog_gnutls.h"

#include <stdio.h>

/* ---- context ---- */

static int find_key(gnutls_session_t session, const gnutls_datum_t *identity, gnutls_datum_t *key)
{
    const struct security_terms *terms = tls_terms(gnutls_session_get_ptr(session));
    if (identity->size != terms->identity_size ||
        memcmp(identity->data, terms->identity, terms->identity_size) != 0 ||
        !(key->data = gnutls_malloc(SECURITY_KEY_SIZE)))
        return -1;
    memcpy(key->data, terms->key, SECURITY_KEY_SIZE);
    key->size = SECURITY_KEY_SIZE;
    return 0;
}

static int check_certificate(gnutls_session_t session)
{
    const uint8_t *key = tls_terms(gnutls_session_get_ptr(session))->key;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &(unsigned){0});
    return shown && certificate_is_of(shown->data, shown->size, key) ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static void wipe(gnutls_datum_t *datum)
{
    secret_wipe(datum->data, datum->size);
    gnutls_free(datum->data);
    *datum = (gnutls_datum_t){0};
}

void gnutls_layer_close_context(void *opaque)
{
    struct gnutls_context *context = opaque;
    if (context->client)
        gnutls_psk_free_client_credentials(context->client);
    if (context->server)
        gnutls_psk_free_server_credentials(context->server);
    if (context->certificate)
        gnutls_certificate_free_credentials(context->certificate);
    gnutls_priority_deinit(context->priorities);
    wipe(&context->ticket_key);
    wipe(&context->ticket);
}

int gnutls_layer_open_context(void *opaque)
{
    struct gnutls_context *context = opaque;
    const struct security_terms *terms = &context->terms;
    bool by_certificate = terms->handshake == HANDSHAKE_CERTIFICATE;
    gnutls_datum_t identity = {context->terms.identity, (unsigned)terms->identity_size};
    gnutls_datum_t key = {context->terms.key, SECURITY_KEY_SIZE};
    char priorities[160];

    snprintf(priorities, sizeof priorities,
             "NONE:+VERS-TLS1.3:+AEAD:+COMP-NULL:+SIGN-ALL:+GROUP-X25519:+GROUP-SECP256R1:+%s:+%s",
             cipher_names[terms->cipher],
             by_certificate                      ? "ECDHE-ECDSA:+CTYPE-SRV-X509"
             : terms->handshake == HANDSHAKE_PSK ? "PSK"
                                                 : "ECDHE-PSK");
    if (gnutls_priority_init(&context->priorities, priorities, NULL) < 0)
        return -EINVAL;
    if (by_certificate)
        return gnutls_certificate_allocate_credentials(&context->certificate) < 0 ? -ENOMEM : 0;
    if (!terms->serves) {
        if (gnutls_psk_allocate_client_credentials(&context->client) < 0 ||
            gnutls_psk_set_client_credentials2(context->client, &identity, &key, GNUTLS_PSK_KEY_RAW) < 0)
            return -ENOMEM;
        return 0;
    }
    if (gnutls_psk_allocate_server_credentials(&context->server) < 0 ||
        (terms->handshake == HANDSHAKE_TICKET &&
         gnutls_session_ticket_key_generate(&context->ticket_key) < 0))
        return -ENOMEM;
    gnutls_psk_set_server_credentials_function2(context->server, find_key);
    return 0;
}

/* ---- session ---- */

/* The counted calls repeat what a signal interrupts, so GnuTLS never sees EINTR. */
static ssize_t set_errno(const struct connection *connection, ssize_t result)
{
    if (result >= 0)
        return result;
    gnutls_transport_set_errno(gnutls_layer_of(connection)->gnutls, (int)-result);
    return -1;
}

static ssize_t push(gnutls_transport_ptr_t connection, const giovec_t *vectors, int count)
{
    return set_errno(connection, tls_write(connection, vectors, count));
}

static ssize_t pull(gnutls_transport_ptr_t connection, void *data, size_t size)
{
    return set_errno(connection, tls_read(connection, data, size));
}

/* GNUTLS_NO_AUTO_REKEY disables the KeyUpdate that GnuTLS sends after 2^24 records. So all records
 * carry messages, as with OpenSSL, and the other end may be the kernel, which has no KeyUpdate. */
int gnutls_layer_open(struct connection *connection)
{
    const struct gnutls_context *context = connection->shared->contexts[connection->peer];
    const struct security_terms *terms = &context->terms;
    unsigned flags = (terms->serves ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NONBLOCK | GNUTLS_NO_AUTO_REKEY;
    gnutls_session_t session;

    if (terms->handshake != HANDSHAKE_TICKET)
        flags |= GNUTLS_NO_TICKETS;
    if (gnutls_init(&session, flags) < 0)
        return -ENOMEM;
    gnutls_layer_of(connection)->gnutls = session;
    gnutls_session_set_ptr(session, connection);
    gnutls_session_set_verify_function(session, check_certificate);
    gnutls_session_set_keylog_function(session, keylog_gnutls);
    gnutls_transport_set_ptr(session, connection);
    gnutls_transport_set_vec_push_function(session, push);
    gnutls_transport_set_pull_function(session, pull);
    int result = context->certificate
                     ? gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, context->certificate)
                     : gnutls_credentials_set(session, GNUTLS_CRD_PSK,
                                              terms->serves ? (void *)context->server : context->client);
    if (result < 0 || gnutls_priority_set(session, context->priorities) < 0)
        return -EINVAL;
    if (context->ticket_key.data && gnutls_session_ticket_enable_server(session, &context->ticket_key) < 0)
        return -EINVAL;
    if (context->ticket.data)
        gnutls_session_set_data(session, context->ticket.data, context->ticket.size);
    return 0;
}

/* A client keeps the last ticket. It is read here because it arrives after the handshake. */
void gnutls_layer_close(struct connection *connection)
{
    struct gnutls_context *context = connection->shared->contexts[connection->peer];
    gnutls_session_t session = gnutls_layer_of(connection)->gnutls;
    if (session && !context->terms.serves && context->terms.handshake == HANDSHAKE_TICKET &&
        gnutls_session_get_flags(session) & GNUTLS_SFLAGS_SESSION_TICKET) {
        wipe(&context->ticket);
        gnutls_session_get_data2(session, &context->ticket);
    }
    gnutls_deinit(session);
}

static int fail(const struct connection *connection, const char *doing, int result)
{
    gnutls_alert_description_t alert = gnutls_alert_get(gnutls_layer_of(connection)->gnutls);
    const char *name = gnutls_alert_get_name(alert);
    char number[32];
    if (result != GNUTLS_E_FATAL_ALERT_RECEIVED)
        return tls_fail(connection, doing, gnutls_strerror(result));
    snprintf(number, sizeof number, "TLS alert %d", (int)alert);
    return tls_fail(connection, doing, name ? name : number);
}

int gnutls_layer_handshake(struct connection *connection)
{
    static const char doing[] = "complete the TLS handshake with";
    gnutls_session_t session = gnutls_layer_of(connection)->gnutls;
    int result;

    do
        result = gnutls_handshake(session);
    while (result < 0 && result != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(result));
    if (result == GNUTLS_E_AGAIN)
        return gnutls_record_get_direction(session) ? -EAGAIN : -EINPROGRESS;
    if (result >= 0) {
        bool by_certificate = gnutls_auth_get_type(session) == GNUTLS_CRD_CERTIFICATE;
        tls_note_handshake(connection, by_certificate                            ? HANDSHAKE_CERTIFICATE
                                       : gnutls_session_is_resumed(session)      ? HANDSHAKE_TICKET
                                       : gnutls_kx_get(session) == GNUTLS_KX_PSK ? HANDSHAKE_PSK
                                                                                 : HANDSHAKE_PSK_ECDHE);
        return 0;
    }
    /* GnuTLS reports a wrong key as an illegal parameter. Nothing else in uncork causes that error.
     * Sends an alert with the reason, which the other end may no longer read. */
    bool rejects = tls_terms(connection)->serves && result == GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER;
    if (rejects)
        gnutls_alert_send(session, GNUTLS_AL_FATAL, GNUTLS_A_DECRYPT_ERROR);
    if (rejects ||
        (result == GNUTLS_E_FATAL_ALERT_RECEIVED && gnutls_alert_get(session) == GNUTLS_A_DECRYPT_ERROR))
        return tls_fail(connection, doing, "it has another key");
    gnutls_alert_send_appropriate(session, result);
    if (result == GNUTLS_E_CERTIFICATE_ERROR || result == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        return tls_fail(connection, doing, CERTIFICATE_DIFFERS);
    return fail(connection, doing, result);
}

/* ---- records ---- */

/* What a call has moved, or a negative errno value. */
static ssize_t moved(const struct connection *connection, ssize_t result, const char *doing)
{
    if (result >= 0)
        return result;
    return result == GNUTLS_E_AGAIN ? -EAGAIN : fail(connection, doing, (int)result);
}

static ssize_t send_record(struct connection *connection, const void *data, size_t size, int flags)
{
    return moved(connection, gnutls_record_send(gnutls_layer_of(connection)->gnutls, data, size), "send to");
}

/* GNUTLS_E_AGAIN is also the result for a record without data, such as a ticket: then reads on. */
static ssize_t receive(struct connection *connection, void *data, size_t size, int flags)
{
    const struct gnutls_layer *layer = gnutls_layer_of(connection);
    ssize_t received;
    tls_save_counts(connection);
    do
        received = gnutls_record_recv(layer->gnutls, data, size);
    while (received == GNUTLS_E_AGAIN && !layer->wire.blocked);
    if (received == 0)
        tls_restore_counts(connection);
    return moved(connection, received, "receive from");
}

static bool pending(const struct connection *connection)
{
    return gnutls_record_check_pending(gnutls_layer_of(connection)->gnutls) > 0;
}

static int hold(struct connection *connection, bool on)
{
    gnutls_session_t session = gnutls_layer_of(connection)->gnutls;
    int result = on ? 0 : gnutls_record_uncork(session, 0);
    if (on)
        gnutls_record_cork(session);
    return result < 0 ? (int)moved(connection, result, "send to") : 0;
}

static int send_close_notify(struct connection *connection)
{
    int result = gnutls_bye(gnutls_layer_of(connection)->gnutls, GNUTLS_SHUT_WR);
    return (int)moved(connection, result, "send to");
}

json_t *gnutls_layer_library(void)
{
    return json_sprintf("GnuTLS %s", gnutls_check_version(NULL));
}

const struct security security_gnutls = {
    .variant = {"gnutls", "TLS 1.3 by GnuTLS"},
    .gives = CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_RECORD_CORK,
    .withholds = "GnuTLS writes to the descriptor itself, and takes no flags and no vectors",
    GNUTLS_LAYER,
    .counts_records = true,
    .handshake = gnutls_layer_handshake,
    .layer = {.send = send_record, .receive = receive, .pending = pending, .hold = hold},
    .close_notify = send_close_notify,
};
